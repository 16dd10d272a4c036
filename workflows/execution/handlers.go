package execution

import (
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// The types of errors by which updates are refused. A refusal leaves no trace in the history.
const (
	// ErrTypeNoPause means that the execution has no such pause.
	ErrTypeNoPause = "NoSuchPause"
	// ErrTypeBadDecision means that it is not a decision.
	ErrTypeBadDecision = "BadDecision"
	// ErrTypeNotCalling means that the upstream is not called now, so that no tool can ask.
	ErrTypeNotCalling = "NotCalling"
)

// asksAtMost is how many questions one call may ask.
const asksAtMost = 20

// register installs every handler before the first blocking call, so that nothing that comes with the start is lost. No handler waits
// for the run: each takes what is wanted, and answers once the store has it, where whoever asked looks next.
func (e *execution) register(ctx workflow.Context) error {
	if err := e.registerQueries(ctx); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateResume, e.onResume, workflow.UpdateHandlerOptions{
		Validator: e.admitResume, Description: "decide on a pause; the answer names the decision that counts",
	}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateAsk, e.onAsk, workflow.UpdateHandlerOptions{
		Validator: e.admitAsk, Description: "ask a person what the tool asks while it is called",
	}); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateCancel, e.onCancel, workflow.UpdateHandlerOptions{
		Description: "call the execution off; a call that has begun is not undone",
	})
}

func (e *execution) registerQueries(ctx workflow.Context) error {
	describe := func(text string) workflow.QueryHandlerOptions { return workflow.QueryHandlerOptions{Description: text} }
	if err := workflow.SetQueryHandlerWithOptions(ctx, QuerySnapshot, func() (Snapshot, error) { return e.snapshot(), nil },
		describe("where the execution is")); err != nil {
		return err
	}
	if err := workflow.SetQueryHandlerWithOptions(ctx, QueryPauses, func() ([]approval.Pause, error) {
		return e.snapshot().Pauses, nil
	}, describe("what was asked, and what was decided")); err != nil {
		return err
	}
	return workflow.SetQueryHandlerWithOptions(ctx, QueryOutcome, func() (*approval.Outcome, error) {
		return e.run.Outcome, nil
	}, describe("how the execution ended; nothing while it has not"))
}

func (e *execution) admitResume(_ workflow.Context, in Resume) error {
	if _, err := e.run.Pause(in.PauseID); err != nil {
		return temporal.NewApplicationError("there is no such pause", ErrTypeNoPause)
	}
	if err := in.Decision.Check(); err != nil {
		return temporal.NewApplicationError(strings.TrimPrefix(err.Error(), approval.ErrBadDecision.Error()+": "), ErrTypeBadDecision)
	}
	return nil
}

func (e *execution) onResume(ctx workflow.Context, in Resume) (Resumed, error) {
	wish := in.Decision
	wish.At = workflow.Now(ctx)
	waited := e.waits(in.PauseID)
	pause, verdict, err := e.run.Decide(in.PauseID, wish)
	if err != nil {
		return Resumed{}, temporal.NewApplicationError("there is no such pause", ErrTypeNoPause)
	}
	if waited {
		// It is decided now, or it has expired and the timer has not said so yet.
		e.end(ctx, pause)
	}
	e.recorded(ctx)
	return Resumed{Verdict: verdict, Pause: pause}, nil
}

func (e *execution) admitAsk(_ workflow.Context, in Ask) error {
	switch {
	case !e.calling || e.canceled != nil || e.run.Outcome != nil:
		return temporal.NewApplicationError("the tool is not called now", ErrTypeNotCalling)
	case len(e.run.Pauses) >= asksAtMost:
		return temporal.NewApplicationError("the tool has asked too often", ErrTypeNotCalling)
	case in.Request.Kind != approval.KindForm && in.Request.Kind != approval.KindURL:
		return temporal.NewApplicationError("a tool asks for a form or a URL", ErrTypeNotCalling)
	case len(in.Request.Message)+len(in.Request.Schema)+len(in.Request.URL)+len(in.Request.Elicitation) > approval.MaxContent:
		return temporal.NewApplicationError("the question is too long", ErrTypeNotCalling)
	default:
		return nil
	}
}

func (e *execution) onAsk(ctx workflow.Context, in Ask) (Asked, error) {
	if e.in.AutoApprove {
		now := workflow.Now(ctx)
		return Asked{Pause: approval.Pause{Request: in.Request, CreatedAt: now, Deadline: now, Decision: &approval.Decision{
			Action: approval.ActionAccept, By: e.in.AskedBy, Via: approval.ViaAPI, Reason: "approved beforehand", At: now,
		}}}, nil
	}
	// What belongs to the pause outlives this handler, and a cancellation of the run from outside.
	apart, _ := workflow.NewDisconnectedContext(ctx)
	pause, err := e.open(apart, in.Request)
	if err != nil {
		return Asked{}, temporal.NewApplicationError(err.Error(), ErrTypeNotCalling)
	}
	return Asked{Pause: pause}, nil
}

func (e *execution) onCancel(ctx workflow.Context, in Cancel) (Snapshot, error) {
	e.callOff(ctx, in)
	e.recorded(ctx)
	return e.snapshot(), nil
}

// callOff ends an execution that waits for its gate at once, so that whoever called it off is told so.
func (e *execution) callOff(ctx workflow.Context, in Cancel) {
	if e.run.Outcome != nil || e.canceled != nil {
		return
	}
	e.canceled = &in
	if !e.calling {
		e.finish(ctx, approval.Outcome{Kind: approval.OutcomeCancelled})
	}
}
