package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// secondLook is the wait before an engine that did not answer is asked again, over a new connection.
	secondLook = 250 * time.Millisecond
	// degradedProbe is the wait before an endpoint that was missed is asked again.
	degradedProbe = 5 * time.Second
	// minimumWait is the grain of the server's retry timers.
	minimumWait = time.Second
)

// Inspect looks at a connection until a decision is due. "Nothing to decide" is a benign error: the server tries again
// after the wait that it names, at no cost in history. One try is one read of the store, one call of the engine and,
// when it is due, one probe of the endpoint.
func (a *Activities) Inspect(ctx context.Context, in InspectRequest) (InspectResult, error) {
	l := look{Activities: a, in: in}
	res, err := l.run(ctx)
	if err != nil {
		return InspectResult{}, err
	}
	res.CheckedAt = a.now()
	return res, nil
}

// look is one try of an inspection.
type look struct {
	*Activities

	in     InspectRequest
	want   desired.Resolved
	engine *engineapi.Client
}

func (l *look) run(ctx context.Context) (InspectResult, error) {
	want, same, err := l.resolver.Is(ctx, l.in.Key, l.in.Revision)
	if err != nil {
		return l.unreadable(err)
	}
	if !same || moved(l.in.EngineID, want) || l.known(health.CodeDesiredUnreadable) {
		return InspectResult{Decision: DecisionDesiredChanged}, nil
	}
	l.want = want
	if want.Failure != nil {
		return l.nothing("not delivered: the desired config is not valid", l.settings.PollInterval)
	}
	if l.engine, err = l.clients.of(ctx, want.EngineID); err != nil {
		return l.engineDown(ctx, err)
	}
	if l.known(health.CodeEngineUnconfigured) {
		// The engine is named by now; what was loaded still says that it is not.
		return InspectResult{Decision: DecisionDesiredChanged}, nil
	}
	switch l.in.Mode {
	case ModeWatch:
		return l.watch(ctx)
	case ModeRecover:
		return l.recover(ctx)
	case ModeIdle:
		return l.idle(ctx)
	default:
		return InspectResult{}, apperr.Failed(health.SyncFailed(false, "unknown mode of inspection"), nil)
	}
}

// moved reports whether the connection has another engine by now than the caller means.
func moved(engineID string, want desired.Resolved) bool {
	return engineID != "" && engineID != want.EngineID
}

// unreadable decides once that the desired config cannot be read, and then waits until it can.
func (l *look) unreadable(err error) (InspectResult, error) {
	if f, ok := apperr.FailureOf(err); ok && l.known(f.Code) && !l.in.Once {
		return InspectResult{}, apperr.NotDue("waiting: "+string(f.Code), l.poll())
	}
	if f, ok := apperr.FailureOf(err); ok {
		return InspectResult{Decision: DecisionEndpointFailed, Failure: &f}, nil
	}
	return InspectResult{}, err
}

// known reports whether the workflow knows already that this is wrong.
func (l *look) known(code health.Code) bool { return l.in.Failure != nil && l.in.Failure.Code == code }

// nothing says that no decision is due.
func (l *look) nothing(reason string, wait time.Duration) (InspectResult, error) {
	if l.in.Once {
		return InspectResult{Decision: DecisionInSync}, nil
	}
	return InspectResult{}, apperr.NotDue(reason, max(wait, minimumWait))
}

// poll is the wait until the next look, spread so that connections which started together do not look together.
func (l *look) poll() time.Duration { return spread(l.settings.PollInterval, l.settings.Jitter) }

func spread(d time.Duration, part float64) time.Duration {
	if part <= 0 {
		return d
	}
	return time.Duration(float64(d) * (1 + part*(2*rand.Float64()-1))) //nolint:gosec // a spread, not a secret
}

// entry reads the engine's entry, twice when the first read fails.
func (l *look) entry(ctx context.Context) (engineapi.Status, error) {
	entry, err := entryOf(ctx, l.engine, l.want)
	if err == nil || ctx.Err() != nil {
		return entry, err
	}
	if err := sleep(ctx, secondLook); err != nil {
		return engineapi.Status{}, err
	}
	return entryOf(ctx, l.engine, l.want)
}

// watch looks at a connection that is ready.
func (l *look) watch(ctx context.Context) (InspectResult, error) {
	entry, err := l.entry(ctx)
	if err != nil {
		return l.engineDown(ctx, err)
	}
	switch entry.Status {
	case engineapi.StatusConnected:
		res, due, err := l.token(ctx)
		if err != nil {
			return l.engineDown(ctx, err)
		}
		if due {
			return res, nil
		}
		return l.watchEndpoint(ctx)
	case statusMissing:
		return InspectResult{Decision: DecisionEntryGone, Status: entry.Status, Failure: entryFailure(entry)}, nil
	default:
		return InspectResult{Decision: DecisionEntryStatus, Status: entry.Status, Failure: entryFailure(entry)}, nil
	}
}

// engineDown decides that the engine cannot be asked, once: a connection that failed for this very reason waits.
func (l *look) engineDown(ctx context.Context, err error) (InspectResult, error) {
	if ctx.Err() != nil {
		return InspectResult{}, ctx.Err()
	}
	f, ok := apperr.FailureOf(err)
	if !ok {
		f = engineFailure(err)
	}
	if l.in.Mode == ModeRecover && l.known(f.Code) && l.in.Failure.Retryable == f.Retryable && !l.in.Once {
		return l.nothing("waiting: "+waitingFor(f), l.engineBackoff(ctx))
	}
	return InspectResult{Decision: DecisionEngineDown, Failure: &f}, nil
}

func waitingFor(f health.Failure) string {
	switch f.Code {
	case health.CodeEngineUnreachable:
		return "the engine does not answer"
	case health.CodeEngineUnconfigured:
		return "no engine is configured"
	default:
		return "the engine refuses to answer"
	}
}

// watchEndpoint asks the endpoint of a ready connection, when it is time: the engine says connected for ever.
func (l *look) watchEndpoint(ctx context.Context) (InspectResult, error) {
	kept, err := l.probeState(ctx)
	if err != nil {
		return InspectResult{}, err
	}
	interval := spread(l.settings.ProbeInterval, l.settings.Jitter)
	if l.in.Degraded {
		interval = min(degradedProbe, interval)
	}
	if left := interval - l.now().Sub(kept.LastProbeAt); left > 0 && !l.in.Once {
		return l.nothing("in sync: "+engineapi.StatusConnected, l.tokenWait(min(l.poll(), left)))
	}
	probe, err := l.prober.Probe(ctx, l.want)
	if err != nil {
		return InspectResult{}, err
	}
	res := InspectResult{Status: engineapi.StatusConnected, Tools: toolsOf(probe), Failure: ledgerFailure(probe)}
	switch {
	case probe.Unreachable && !l.in.Degraded:
		res.Decision = DecisionEndpointMissed
	case probe.Failure != nil:
		res.Decision = DecisionEndpointFailed
	case probe.SessionLost:
		res.Decision = DecisionSessionForgotten
	case l.in.Degraded:
		res.Decision = DecisionEndpointHealthy
	case l.in.Once:
		res.Decision = DecisionInSync
	default:
		return l.nothing("in sync: "+engineapi.StatusConnected, l.tokenWait(l.poll()))
	}
	return res, nil
}

// idle waits until no session uses the client that a push would replace, or there is no such client any more.
func (l *look) idle(ctx context.Context) (InspectResult, error) {
	entry, err := l.entry(ctx)
	if err != nil {
		return l.engineDown(ctx, err)
	}
	if entry.Status != engineapi.StatusConnected {
		return InspectResult{Decision: DecisionEngineIdle, Status: entry.Status}, nil
	}
	most := l.untilForced(l.settings.RestSpan)
	if most <= 0 {
		// It is not spared for a token with which every call fails.
		return InspectResult{Decision: DecisionEngineIdle, Status: entry.Status}, nil
	}
	began := time.Now()
	rested, err := l.rested(ctx, most)
	if err != nil {
		return l.engineDown(ctx, err)
	}
	waited := time.Since(began) >= restPoll
	if !rested {
		pause := min(l.poll(), degradedProbe)
		if waited {
			pause = minimumWait
		}
		return l.nothing("waiting: a session uses the client", l.untilForced(pause))
	}
	if waited {
		// What ended the sessions may have ended the client too.
		if entry, err = l.entry(ctx); err != nil {
			return l.engineDown(ctx, err)
		}
	}
	return InspectResult{Decision: DecisionEngineIdle, Status: entry.Status}, nil
}

func (l *look) probeState(ctx context.Context) (store.ProbeState, error) {
	kept, err := l.store.Probe(ctx, l.in.Key)
	var damaged *store.CorruptRowError
	if err != nil && !errors.As(err, &damaged) {
		return store.ProbeState{}, fmt.Errorf("read probe state: %w", err)
	}
	return kept, nil
}

func toolsOf(probe endpoint.Outcome) *Tools {
	return &Tools{
		Expected: probe.Expected, Present: probe.Present, Missing: probe.Missing, Count: probe.Count,
		CheckedAt: probe.CheckedAt, LastOKAt: probe.LastOKAt,
	}
}

// ledgerFailure turns an unreachable endpoint, which is no failure of a single read, into the failure that it is for a
// connection.
func ledgerFailure(probe endpoint.Outcome) *health.Failure {
	if !probe.Unreachable || probe.Failure == nil {
		return probe.Failure
	}
	f := health.EndpointUnreachable(probe.Failure.Cause(), probe.Failure.Details["causes"])
	return &f
}
