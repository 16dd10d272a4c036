package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	flight := p.flights.DoChan(flightKey(want), func() (any, error) {
		// The first caller may give up; the others must not lose their answer with it.
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), mcpprobe.Bound(p.timeout)+storeMargin)
		defer cancel()
		return p.probe(shared, want)
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

func flightKey(want desired.Resolved) string {
	return want.Key.Workspace + "\x00" + want.Key.Name + "\x00" + want.Key.Directory + "\x00" + want.Revision
}

func (p *Prober) probe(ctx context.Context, want desired.Resolved) (Outcome, error) {
	kept, err := p.store.Probe(ctx, want.Key)
	var damaged *store.CorruptRowError
	if err != nil && !errors.As(err, &damaged) {
		return Outcome{}, fmt.Errorf("read probe state: %w", err)
	}
	// A canary that cannot be unsealed is no canary: a new one is made, which mends the row.
	res := mcpprobe.Probe(ctx, mcpprobe.Target{
		URL:            want.Config.URL,
		Headers:        maps.Clone(want.Config.Headers),
		RequestTimeout: p.timeout,
		Expected:       domain.ExpectedTools(want.Profile, want.Metadata),
		Canary:         canaryOf(kept, want.Revision),
		KeepSession:    true,
	})
	if err := ctx.Err(); err != nil {
		// Given up: an endpoint that was not reached by then is no miss.
		return Outcome{}, err
	}
	at := p.now()
	state := next(kept, res, want.Revision, at)
	if err := p.store.PutProbe(ctx, want.Key, state); err != nil {
		return Outcome{}, fmt.Errorf("write probe state: %w", err)
	}
	return Outcome{ProbeResult: resultOf(res, state), Forgotten: res.Forgotten}, nil
}

// canary is the form in which the session is kept. It belongs to a revision: another URL or token is another client.
type canary struct {
	Revision string            `json:"revision"`
	Session  *mcpprobe.Session `json:"session"`
}

func canaryOf(kept store.ProbeState, revision string) *mcpprobe.Session {
	if len(kept.Canary) == 0 {
		return nil
	}
	var c canary
	if json.Unmarshal(kept.Canary, &c) != nil || c.Revision != revision {
		return nil
	}
	return c.Session
}

func next(kept store.ProbeState, res mcpprobe.Result, revision string, at time.Time) store.ProbeState {
	state := store.ProbeState{LastProbeAt: at, LastOKAt: kept.LastOKAt, Misses: kept.Misses + 1, Canary: kept.Canary}
	if res.Failure == nil {
		state.LastOKAt, state.Misses = at, 0
	}
	if res.Session != nil {
		if raw, err := json.Marshal(canary{Revision: revision, Session: res.Session}); err == nil {
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
