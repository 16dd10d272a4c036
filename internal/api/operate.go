package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	headerKey      = "Idempotency-Key"
	headerReplayed = "Idempotent-Replayed"
	maxKeyBytes    = 200
	maxPreferWait  = time.Minute
	// keepRequests is how long results can be read, and keys are known.
	keepRequests = 24 * time.Hour
	pruneEvery   = time.Hour
)

// job is an operation that was checked and can begin.
type job struct {
	// flight is equal for what may share one answer: connection, kind and revision. Empty: nothing may.
	flight string
	// run does it. The update id is the same whenever the same request is carried out again.
	run func(ctx context.Context, updateID string) (*reply, error)
}

// operate carries out what may take long. A request with a key is noted first: whoever sends it again, to this process or to
// another one, joins what was begun or gets the result that was kept.
func (a *API) operate(c *call) (*reply, error) {
	prefer := parsePrefer(c.Header.Values("Prefer"))
	key := c.Header.Get(headerKey)
	if len(key) > maxKeyBytes || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, failf(CodeInvalidPayload, "Idempotency-Key must be at most %d bytes of visible ASCII.", maxKeyBytes)
	}
	n, err := a.note(c, key, prefer.async)
	if err != nil {
		return nil, err
	}
	rep, err := a.carryOut(c, n, prefer)
	if err != nil {
		return nil, err
	}
	if n.replayed {
		rep = rep.withHeader(headerReplayed, "true")
	}
	return rep, nil
}

// noted is a request as it is known to the store; without an id it is not.
type noted struct {
	keeper
	replayed bool
	kept     *reply // the result, where there is one already
}

// note writes down who asks for what. A request that can neither be repeated nor be asked after needs no row.
func (a *API) note(c *call, key string, async bool) (noted, error) {
	if key == "" && !async {
		return noted{}, nil
	}
	a.pruned.now(a)
	want := store.Request{
		ID: newID(), Principal: c.principal.ID, Key: key, Kind: c.route.id, Digest: digest(c), CreatedAt: a.now(),
		Connection: delivery.Key{Workspace: c.path("id") + c.path("workspace"), Name: c.path("name"), Directory: c.query.Get("directory")},
	}
	type began struct {
		row   store.Request
		fresh bool
	}
	got, err := fromStore(c.Context(), a, func(ctx context.Context) (began, error) {
		row, fresh, err := a.Store.BeginRequest(ctx, want)
		return began{row, fresh}, err
	})
	switch {
	case err != nil:
		return noted{}, err
	case got.fresh:
		return noted{keeper: keeper{id: got.row.ID, once: key == ""}}, nil
	case subtle.ConstantTimeCompare(got.row.Digest, want.Digest) != 1 || got.row.Kind != want.Kind:
		return noted{}, fail(CodeKeyReused)
	}
	n := noted{keeper: keeper{id: got.row.ID}, replayed: true}
	if !got.row.FinishedAt.IsZero() {
		n.kept = &reply{status: got.row.Status, body: json.RawMessage(got.row.Result), header: http.Header{}}
	}
	return n, nil
}

// digest is of all that makes a request what it is.
func digest(c *call) []byte {
	sum := sha256.New()
	for _, part := range []string{c.route.method, c.URL.EscapedPath(), c.query.Encode(), string(c.body)} {
		sum.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return sum.Sum(nil)
}

func (a *API) carryOut(c *call, n noted, prefer preference) (*reply, error) {
	if n.kept != nil {
		return n.kept, nil
	}
	under := a.flights.of(n.id)
	if under == nil {
		// What cannot be told to a workflow is not written either.
		if err := a.needTemporal(c.Context()); err != nil {
			return nil, err
		}
		j, err := c.route.operate(a, c)
		if err != nil {
			return nil, err
		}
		updateID := n.id
		if updateID == "" {
			updateID = newID()
		}
		if under, err = a.flights.start(j, "api-"+updateID, n.keeper); err != nil {
			return nil, err
		}
	}
	if prefer.async && !under.over(prefer.wait) {
		return a.accepted(n.id), nil
	}
	a.waiting.Add(1)
	defer a.waiting.Add(-1)
	return under.wait(c.Context())
}

// accepted says where the result will be.
func (a *API) accepted(id string) *reply {
	rep := &reply{status: http.StatusAccepted, body: requestView{ID: id, Status: requestPending, Location: requestPath(id)}}
	return rep.withHeader("Location", requestPath(id)).withHeader("Preference-Applied", "respond-async")
}

func requestPath(id string) string { return "/api/v1/requests/" + id }

// withHeader is a copy: a reply may be shared by all who joined an operation.
func (r *reply) withHeader(name, value string) *reply {
	made := *r
	made.header = r.header.Clone()
	if made.header == nil {
		made.header = http.Header{}
	}
	made.header.Set(name, value)
	return &made
}

// keep writes the result down. What passes by itself is no result of a request that can be repeated: the repetition tries again.
func (a *API) keep(k keeper, rep *reply, err error) {
	status, body := 0, any(nil)
	if err != nil {
		ours := asError(err)
		if ours.retryAfter() > 0 && !k.once {
			return
		}
		status, body = ours.status(), ours
	} else {
		status, body = rep.status, rep.body
	}
	raw, err := encode(body)
	if err == nil {
		_, err = fromStore(context.WithoutCancel(a.base), a, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, a.Store.FinishRequest(ctx, k.id, status, raw, a.now())
		})
	}
	if err != nil {
		// Whoever asks again joins the same update, and finds its result there.
		a.log.Warn("result was not kept", "error", err, "request", k.id)
	}
}

// preference is what a caller prefers (RFC 7240).
type preference struct {
	async bool
	wait  time.Duration
}

// parsePrefer reads respond-async and wait; what is not known or not well formed is ignored, as the RFC has it.
func parsePrefer(values []string) preference {
	var p preference
	for token := range strings.SplitSeq(strings.Join(values, ","), ",") {
		token, _, _ = strings.Cut(token, ";")
		name, value, _ := strings.Cut(token, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "respond-async":
			p.async = true
		case "wait":
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 16)
			if err == nil {
				p.wait = min(time.Duration(seconds)*time.Second, maxPreferWait)
			}
		}
	}
	return p
}

// pruner forgets old requests now and then.
type pruner struct {
	mu   sync.Mutex
	last time.Time
}

func (p *pruner) now(a *API) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := a.now()
	if now.Sub(p.last) < pruneEvery {
		return
	}
	p.last = now
	a.running.Go(func() {
		ctx, cancel := context.WithTimeout(a.base, time.Minute)
		defer cancel()
		if _, err := a.Store.PruneRequests(ctx, now.Add(-keepRequests)); err != nil {
			a.log.WarnContext(ctx, "old requests were not pruned", "error", err)
		}
	})
}
