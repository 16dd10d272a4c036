package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
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
	if !legibleKey(key) {
		return nil, badKey()
	}
	if key == "" && !prefer.async {
		// It can neither be repeated nor be asked after: it needs no row.
		under, err := a.takeOff(c, keeper{})
		if err != nil {
			return nil, err
		}
		return a.await(c, under, "")
	}
	n, err := a.note(c, key)
	if err != nil {
		return nil, err
	}
	rep, err := a.answerTo(c, n, prefer)
	if err == nil && n.replayed {
		rep = rep.withHeader(headerReplayed, "true")
	}
	return rep, err
}

func legibleKey(key string) bool {
	return len(key) <= maxKeyBytes && !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
}

func badKey() *Error {
	return failf(CodeInvalidPayload, "Idempotency-Key must be at most %d bytes of visible ASCII.", maxKeyBytes)
}

func (a *API) answerTo(c *call, n *noted, prefer preference) (*reply, error) {
	under, rep, err := a.takePart(c, n, prefer)
	switch {
	case err != nil || rep != nil:
		return rep, err
	case under == nil, prefer.async && !under.over(prefer.wait):
		return a.accepted(n.row), nil
	default:
		return a.await(c, under, n.row.ID)
	}
}

// await waits for the result of a flight.
func (a *API) await(c *call, under *flight, id string) (*reply, error) {
	a.waiting.Add(1)
	defer a.waiting.Add(-1)
	return under.wait(c.Context(), id)
}

// note writes down who asks for what. Who notes it first is its holder.
func (a *API) note(c *call, key string) (*noted, error) {
	a.pruned.now(a)
	now := a.now()
	want := store.Request{
		ID: newID(), Principal: c.principal.ID, Key: key, Kind: c.route.id, Digest: digest(c), CreatedAt: now,
		Connection: delivery.Key{Workspace: c.path("id") + c.path("workspace"), Name: c.path("name"), Directory: c.query.Get("directory")},
		Holder:     newID(), Until: now.Add(claimFor),
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
		return nil, err
	case !got.fresh && (subtle.ConstantTimeCompare(got.row.Digest, want.Digest) != 1 || got.row.Kind != want.Kind):
		return nil, fail(CodeKeyReused)
	default:
		return &noted{row: got.row, holder: want.Holder, held: got.fresh, replayed: !got.fresh}, nil
	}
}

// digest is of all that makes a request what it is.
func digest(c *call) []byte {
	sum := sha256.New()
	for _, part := range []string{c.route.method, c.URL.EscapedPath(), c.query.Encode(), string(c.body)} {
		sum.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return sum.Sum(nil)
}

// takeOff begins the operation that a call asks for, or joins one that does the same.
func (a *API) takeOff(c *call, k keeper) (*flight, error) {
	// What cannot be told to a workflow is not written either.
	if err := a.needTemporal(c.Context()); err != nil {
		return nil, err
	}
	j, err := c.route.operate(a, c)
	if err != nil {
		return nil, err
	}
	updateID := k.id
	if updateID == "" {
		updateID = newID()
	}
	return a.flights.start(j, "api-"+updateID, k)
}

// accepted says where the result will be.
func (a *API) accepted(row store.Request) *reply {
	rep := &reply{status: http.StatusAccepted, body: requestView{
		ID: row.ID, Status: requestPending, Location: requestPath(row.ID), CreatedAt: views.Moment(row.CreatedAt), StartedAt: views.Moment(row.StartedAt),
	}}
	return rep.withHeader("Location", requestPath(row.ID)).withHeader("Preference-Applied", "respond-async")
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
