package session

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/session"
	"github.com/holdfast-mcp/holdfast/internal/searchattr"
)

const (
	// rolloverEvents is the history length beyond which the workflow goes on as a new run.
	rolloverEvents = 400
	endTimeout     = 30 * time.Second
)

// StateActive and StateEnded are the values of the search attribute State.
const (
	StateActive = "active"
	StateEnded  = "ended"
)

// endAttempts is 0, no limit. Only the tests set it: the SDK's test environment takes 0 for ten.
var endAttempts int32

// Workflow is one session, from its first use to its end. It ends when nobody has used the session for long enough, when the session is
// too old, or when it is told to.
func Workflow(ctx workflow.Context, in Input) (Snapshot, error) {
	s := newSession(ctx, in)
	if err := s.register(ctx); err != nil {
		return Snapshot{}, err
	}
	return s.live(ctx)
}

// keeper is a run of the workflow.
type keeper struct {
	in  Input
	log log.Logger
	*State

	terminate *Terminate
}

func newSession(ctx workflow.Context, in Input) *keeper {
	if in.State == nil {
		in.State = &State{LastUsedAt: in.CreatedAt}
	}
	return &keeper{in: in, State: in.State, log: log.With(workflow.GetLogger(ctx), "session", in.ID)}
}

func (s *keeper) live(ctx workflow.Context) (Snapshot, error) {
	s.drain(ctx)
	for !s.over(ctx) {
		if s.sleep(ctx) {
			s.drain(ctx)
			return Snapshot{}, s.goOn(ctx)
		}
	}
	return s.end(ctx)
}

// over reports whether the session is to be ended.
func (s *keeper) over(ctx workflow.Context) bool {
	return s.terminate != nil || ctx.Err() != nil || !workflow.Now(ctx).Before(s.expiresAt())
}

// sleep waits until the session may have expired, on one timer. A use does not move it: when it is over, it is looked how long the
// session may sleep on. It reports whether the run is to be replaced, since its history is no longer small.
func (s *keeper) sleep(ctx workflow.Context) (big bool) {
	timerCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	timer := workflow.NewTimerWithOptions(timerCtx, s.expiresAt().Sub(workflow.Now(ctx)),
		workflow.TimerOptions{Summary: "the session expires, unless it is used"})
	selector := workflow.NewSelector(ctx)
	selector.AddFuture(timer, func(workflow.Future) {})
	selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {})
	for _, name := range []string{SignalPaused, SignalResuming, SignalSettled, SignalTouch, SignalTerminate} {
		// Taken by the loop itself: what another coroutine had taken and not seen to yet would be lost when the run is replaced.
		selector.AddReceive(workflow.GetSignalChannel(ctx, name), func(workflow.ReceiveChannel, bool) { s.drain(ctx) })
	}
	for !timer.IsReady() && s.terminate == nil && ctx.Err() == nil {
		if rolloverDue(ctx) {
			return true
		}
		s.describe(ctx)
		selector.Select(ctx)
	}
	return false
}

func (s *keeper) expiresAt() time.Time {
	idle, absolute := s.LastUsedAt.Add(s.in.Retention), s.in.CreatedAt.Add(s.in.AbsoluteLimit)
	if absolute.Before(idle) {
		return absolute
	}
	return idle
}

func rolloverDue(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() >= rolloverEvents
}

// goOn hands the state to a new run. Nothing blocks between the drain and this.
func (s *keeper) goOn(ctx workflow.Context) error {
	next := s.in
	next.State = s.State
	if s.terminate != nil {
		next.State.Terminate = s.terminate
	}
	return workflow.NewContinueAsNewError(ctx, WorkflowName, next)
}

// end marks the session's row as over, which is what the gateways read.
func (s *keeper) end(ctx workflow.Context) (Snapshot, error) {
	apart, _ := workflow.NewDisconnectedContext(ctx)
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(apart, workflow.ActivityOptions{
		StartToCloseTimeout: endTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: endAttempts,
		},
		Summary: "mark the session as over",
	}), session.EndName, session.EndRequest{ID: s.in.ID, At: workflow.Now(ctx)}).Get(apart, nil)
	if err != nil {
		s.log.Error("session not marked as over", "error", err)
	}
	s.drain(apart)
	s.Leases, s.Ended = nil, true
	if err := workflow.UpsertTypedSearchAttributes(apart, searchattr.State.ValueSet(StateEnded)); err != nil {
		s.log.Error("search attributes not published", "error", err)
	}
	s.describe(apart)
	return s.snapshot(), nil
}

// describe writes the status card of the Temporal UI, in Markdown.
func (s *keeper) describe(ctx workflow.Context) {
	var b strings.Builder
	state := StateActive
	if s.Ended {
		state = StateEnded
	}
	fmt.Fprintf(&b, "**%s** — %s\n\n", state, s.in.Client)
	fmt.Fprintf(&b, "- last used: %s\n- expires: %s\n", s.LastUsedAt.UTC().Format(time.DateTime), s.expiresAt().UTC().Format(time.DateTime))
	for _, l := range s.Leases {
		fmt.Fprintf(&b, "- kept for %s until %s\n", l.PauseID, l.Until.UTC().Format(time.DateTime))
	}
	workflow.SetCurrentDetails(ctx, b.String())
}
