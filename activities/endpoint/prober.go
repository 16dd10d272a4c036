package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Store is what this package keeps between probes.
type Store interface {
	Probe(ctx context.Context, key store.Key) (store.ProbeState, error)
	PutProbe(ctx context.Context, key store.Key, state store.ProbeState) error
	LastPush(ctx context.Context, key store.Key) (store.Push, error)
}

// storeMargin is what a probe's two store calls may take beside the probe itself.
const storeMargin = 5 * time.Second

// Prober asks endpoints and keeps what has to outlive a probe: the clock, the misses in a row, and the canary, an MCP
// session of our own. When the endpoint has forgotten the canary, it has forgotten the engine's session as well.
type Prober struct {
	store   Store
	timeout time.Duration
	now     func() time.Time
	flights singleflight.Group
}

// NewProber makes a prober whose every request to an endpoint is bound by timeout.
func NewProber(s Store, timeout time.Duration) *Prober {
	return &Prober{store: s, timeout: timeout, now: time.Now}
}

// WithClock makes the prober date its probes by another clock, for tests that skip time.
func (p *Prober) WithClock(now func() time.Time) *Prober {
	p.now = now
	return p
}

// Outcome is a probe's result with what it says about the canary.
type Outcome struct {
	ProbeResult

	// Forgotten is the HTTP status with which the endpoint refused the canary, 0 when it did not.
	Forgotten int
}

// Probe asks the endpoint with the headers and the URL that the engine uses. Callers who ask for the same revision at the
// same time share one probe.
func (p *Prober) Probe(ctx context.Context, want desired.Resolved) (Outcome, error) {
	push, err := p.store.LastPush(ctx, want.Key)
	if err != nil {
		return Outcome{}, fmt.Errorf("read last push: %w", err)
	}
	since := push.StartedAt.UnixMicro()
	flight := p.flights.DoChan(flightKey(want, since), func() (any, error) {
		// The first caller may give up; the others must not lose their answer with it.
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), mcpprobe.Bound(p.timeout)+storeMargin)
		defer cancel()
		return p.probe(shared, want, since)
	})
	select {
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	case res := <-flight:
		if res.Err != nil {
			return Outcome{}, res.Err
		}
		return res.Val.(Outcome), nil //nolint:forcetypeassert // the flight above returns nothing else
	}
}

func flightKey(want desired.Resolved, push int64) string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%d", want.Key.Workspace, want.Key.Name, want.Key.Directory, want.Revision, push)
}

func (p *Prober) probe(ctx context.Context, want desired.Resolved, push int64) (Outcome, error) {
	kept, err := p.store.Probe(ctx, want.Key)
	var damaged *store.CorruptRowError
	if err != nil && !errors.As(err, &damaged) {
		return Outcome{}, fmt.Errorf("read probe state: %w", err)
	}
	// A canary that cannot be unsealed is no canary: a new one is made, which mends the row.
	was := canaryOf(kept, want.Revision)
	res := mcpprobe.Probe(ctx, mcpprobe.Target{
		URL:            want.Config.URL,
		Headers:        maps.Clone(want.Config.Headers),
		RequestTimeout: p.timeout,
		Expected:       domain.ExpectedTools(want.Profile, want.Metadata),
		Canary:         was.Session,
		KeepSession:    true,
	})
	if err := ctx.Err(); err != nil {
		// Given up: an endpoint that was not reached by then is no miss.
		return Outcome{}, err
	}
	at := p.now()
	lost := was.Push == push && lostForTheEngine(res.Forgotten)
	if lost {
		// The forgotten canary stays: whoever comes before the next push must find the loss again.
		res.Session = nil
	}
	state := next(kept, res, canary{Revision: want.Revision, Push: push, Session: res.Session}, at)
	if err := p.store.PutProbe(ctx, want.Key, state); err != nil {
		return Outcome{}, fmt.Errorf("write probe state: %w", err)
	}
	out := resultOf(res, state)
	out.SessionLost = lost
	return Outcome{ProbeResult: out, Forgotten: res.Forgotten}, nil
}

// lostForTheEngine reports whether a refused canary means that the engine's session is lost as well and that the engine
// does not notice: only a 404 makes it open a new one by itself.
func lostForTheEngine(refusedWith int) bool {
	return refusedWith != 0 && refusedWith != http.StatusNotFound
}

// canary is the form in which the session is kept. It belongs to a revision: another URL or token is another client. It
// stands for the engine's session only since the push that was the last one when it was used: that of an earlier push
// tells nothing of the engine's new one.
type canary struct {
	Revision string            `json:"revision"`
	Push     int64             `json:"push,omitempty"` // when that push started, in microseconds
	Session  *mcpprobe.Session `json:"session"`
}

func canaryOf(kept store.ProbeState, revision string) canary {
	var c canary
	if len(kept.Canary) == 0 || json.Unmarshal(kept.Canary, &c) != nil || c.Revision != revision {
		return canary{}
	}
	return c
}

func next(kept store.ProbeState, res mcpprobe.Result, session canary, at time.Time) store.ProbeState {
	state := store.ProbeState{LastProbeAt: at, LastOKAt: kept.LastOKAt, Misses: kept.Misses + 1, Canary: kept.Canary}
	if res.Failure == nil {
		state.LastOKAt, state.Misses = at, 0
	}
	if res.Session != nil {
		if raw, err := json.Marshal(session); err == nil {
			state.Canary = raw
		}
	}
	return state
}

func resultOf(res mcpprobe.Result, state store.ProbeState) ProbeResult {
	out := ProbeResult{
		Expected: res.Expected, Present: res.Present, Missing: res.Missing, Count: res.ToolCount,
		Failure: res.Failure, Unreachable: res.Unreachable, LatencyMillis: res.Trace.LatencyMillis,
		CheckedAt: state.LastProbeAt, Steps: make([]Step, 0, len(res.Trace.Steps)),
	}
	if !state.LastOKAt.IsZero() {
		out.LastOKAt = &state.LastOKAt
	}
	for _, s := range res.Trace.Steps {
		out.Steps = append(out.Steps, Step(s))
	}
	return out
}
