package engine

import (
	"context"
	"math"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// slowProbe is the wait between probes of an endpoint that refuses us: at most four an hour.
	slowProbe = 15 * time.Minute
	// engineBackoffMax is the longest wait between looks at an engine that does not answer.
	engineBackoffMax = time.Minute
)

// recover looks at a connection that failed, for its cause to be gone.
func (l *look) recover(ctx context.Context) (InspectResult, error) {
	entry, err := l.entry(ctx)
	if err != nil {
		return l.engineDown(ctx, err)
	}
	if l.status() != entry.Status || l.known(health.CodeEngineUnreachable) || statusRefused(l.in.Failure) {
		return InspectResult{Decision: decisionOf(entry), Status: entry.Status, Failure: entryFailure(entry)}, nil
	}
	if res, due := l.recoverToken(ctx); due {
		return res, nil
	}
	if l.known(health.CodeEngineConfigConflict) {
		return l.recoverConflict(ctx)
	}
	if !l.askEndpoint() && !l.in.Once {
		return l.nothing("waiting: "+l.reason(), l.poll())
	}
	return l.recoverEndpoint(ctx)
}

// status is the last known word for the entry: of one that nobody has looked at yet, that it is not there.
func (l *look) status() string {
	if l.in.Status == "" {
		return statusMissing
	}
	return l.in.Status
}

func decisionOf(entry engineapi.Status) Decision {
	switch entry.Status {
	case engineapi.StatusConnected:
		return DecisionEntryConnected
	case statusMissing:
		return DecisionEntryGone
	default:
		return DecisionEntryStatus
	}
}

func (l *look) reason() string {
	if l.in.Failure == nil {
		return "failed"
	}
	return string(l.in.Failure.Code)
}

func (l *look) engineBackoff(ctx context.Context) time.Duration {
	attempt := activity.GetInfo(ctx).Attempt
	wait := engineBackoffMax
	if attempt < 7 {
		wait = time.Second << (attempt - 1)
	}
	return spread(min(wait, max(l.settings.PollInterval, time.Second)), 0.2)
}

// recoverConflict waits for the name to leave the engine's own configuration.
func (l *look) recoverConflict(ctx context.Context) (InspectResult, error) {
	still, err := inConfiguration(ctx, l.engine, l.want)
	if err != nil {
		return l.engineDown(ctx, err)
	}
	if still {
		return l.nothing("waiting: "+l.reason(), l.poll())
	}
	return InspectResult{Decision: DecisionEntryGone, Status: statusMissing}, nil
}

// askEndpoint reports whether the endpoint can tell that the cause of a failure is gone. That a session was lost only a
// delivery mends, unless one is proven by now.
func (l *look) askEndpoint() bool {
	if l.in.Failure == nil {
		return false
	}
	if l.tokenless() && l.in.Failure.Stage == health.StageTransportAuth {
		// The endpoint refused the one token that this episode may have: without one it has nothing new to say.
		return false
	}
	switch l.in.Failure.Code {
	case health.CodeEndpointUnreachable, health.CodeToolsMissing, health.CodeInvalidToken, health.CodeMissingToken,
		health.CodeSessionRevoked, health.CodeMembershipRevoked, health.CodeInsufficientScope, health.CodeWrongResource:
		return true
	case health.CodeSessionLost:
		return l.in.Proven
	default:
		return false
	}
}

func (l *look) recoverEndpoint(ctx context.Context) (InspectResult, error) {
	kept, err := l.probeState(ctx)
	if err != nil {
		return InspectResult{}, err
	}
	if left := l.probeWait(kept) - l.now().Sub(kept.LastProbeAt); left > 0 && !l.in.Once {
		return l.nothing("waiting: "+l.reason(), min(l.poll(), left))
	}
	probe, err := l.prober.Probe(ctx, l.want)
	if err != nil {
		return InspectResult{}, err
	}
	f := ledgerFailure(probe)
	switch {
	case l.tokenless() && !probe.Unreachable && (f == nil || !l.known(f.Code)) && l.tokenPause() == 0:
		// It answers, and there is no token to ask it with: what it says is about that.
		return InspectResult{Decision: DecisionTokenDue, Status: l.in.Status}, nil
	case f == nil && probe.SessionLost:
		return InspectResult{Decision: DecisionSessionForgotten, Status: l.in.Status, Tools: toolsOf(probe)}, nil
	case f == nil:
		return InspectResult{Decision: DecisionEndpointHealthy, Status: l.in.Status, Tools: toolsOf(probe)}, nil
	case !l.known(f.Code) || l.in.Once:
		return InspectResult{Decision: DecisionEndpointFailed, Status: l.in.Status, Failure: f, Tools: toolsOf(probe)}, nil
	default:
		return l.nothing("waiting: "+l.reason(), l.poll())
	}
}

// probeWait is the wait between two probes of an endpoint that failed: doubling for what passes, a quarter of an hour for
// what needs a person.
func (l *look) probeWait(kept store.ProbeState) time.Duration {
	if l.in.Failure != nil && !l.in.Failure.Retryable {
		return spread(slowProbe, 0)
	}
	doublings := min(max(kept.Misses, 1), 10)
	wait := time.Duration(math.Min(float64(slowProbe), float64(time.Second<<doublings)))
	return spread(wait, 0.2)
}
