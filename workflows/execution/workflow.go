package execution

import (
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// Workflow is one execution, from its gate to its outcome. It never fails on what happens to the call: that is told by the outcome in
// its result.
func Workflow(ctx workflow.Context, in Input) (Snapshot, error) {
	e := newExecution(ctx, in)
	// A cancellation from outside calls the execution off; it does not tear the run.
	apart, _ := workflow.NewDisconnectedContext(ctx)
	// Before any handler: the store may know the pause of a first workflow task whose worker was killed, so that the first thing that the
	// next one sees is a decision on it.
	gate := e.openGate(apart)
	if err := e.register(ctx); err != nil {
		return Snapshot{}, err
	}
	workflow.GoNamed(apart, "cancellation", func(apart workflow.Context) {
		ctx.Done().Receive(apart, nil)
		e.callOff(apart, Cancel{By: "temporal", Via: approval.ViaCLI})
	})
	workflow.GoNamed(apart, "records", e.keepRecords)
	workflow.GoNamed(apart, "hooks", e.keepTelling)
	workflow.GoNamed(apart, "publish", e.keepPublished)
	return e.live(apart, gate)
}

func (e *execution) live(ctx workflow.Context, gate string) (Snapshot, error) {
	if gate != "" {
		e.pass(ctx, gate)
	}
	if e.run.Outcome == nil {
		e.calling = true
		outcome := e.call(ctx)
		e.calling = false
		e.finish(ctx, outcome)
	}
	e.publish(ctx)
	// Whoever asks while the run ends is answered, and the session is told in order before the run is over.
	if err := workflow.Await(ctx, func() bool {
		return len(e.records) == 0 && len(e.hooks) == 0 && workflow.AllHandlersFinished(ctx)
	}); err != nil {
		return Snapshot{}, err
	}
	return e.snapshot(), nil
}

// openGate asks a person before the call, where somebody is to be asked, and gives the id of the pause.
func (e *execution) openGate(ctx workflow.Context) string {
	if e.in.Gate == nil || e.in.AutoApprove {
		return ""
	}
	pause, err := e.open(ctx, *e.in.Gate)
	if err != nil {
		return "" // only a run that has an outcome opens none
	}
	return pause.ID
}

// pass waits at the gate, and ends the execution where the answer is not yes.
func (e *execution) pass(ctx workflow.Context, gate string) {
	await(ctx, func() bool { return !e.waits(gate) })
	pause, err := e.run.Pause(gate)
	if err != nil {
		return
	}
	if kind, ended := pause.Ended(); ended {
		e.finish(ctx, approval.Outcome{Kind: kind})
		return
	}
	e.recorded(ctx) // the decision is in the store before what it allows is done
}

// keepRecords writes down what is to be written, in order, for the life of the run.
func (e *execution) keepRecords(ctx workflow.Context) {
	for await(ctx, func() bool { return len(e.records) > 0 }) {
		next := e.records[0]
		next.Key, next.AskedBy = e.in.Key, e.in.AskedBy
		if err := e.record(ctx, next, "write down: "+next.Events[len(next.Events)-1].Kind); err != nil {
			e.log.Error("not written down", "error", err)
		}
		e.records = e.records[1:]
		e.written++
	}
}

// record writes to the store: at once where it can, else for as long as it takes.
func (e *execution) record(ctx workflow.Context, step tool.RecordRequest, summary string) error {
	if e.certain(step) && workflow.ExecuteLocalActivity(recordLocally(ctx, summary), tool.RecordName, step).Get(ctx, nil) == nil {
		return nil
	}
	return workflow.ExecuteActivity(storeOptions(ctx, summary), tool.RecordName, step).Get(ctx, nil)
}

// certain reports whether a step follows from what the history holds. What follows from an update does not before the workflow task
// ends: a server that is killed until then has forgotten the update, and the store must know nothing of it. A local activity is part of
// the workflow task, any other is scheduled by its end.
func (e *execution) certain(step tool.RecordRequest) bool {
	switch {
	case step.Paused != nil:
		return step.Paused.Request.Kind == approval.KindGate
	case step.Decided != nil:
		return step.Decided.Decision == nil
	default:
		return e.canceled == nil
	}
}

// recorded waits until all that was to be written by now is written.
func (e *execution) recorded(ctx workflow.Context) {
	all := e.written + len(e.records)
	await(ctx, func() bool { return e.written >= all })
}

// keepTelling tells the session, one signal after another: those that are sent together may arrive in any order. A session that is
// over is told nothing, and that harms nobody.
func (e *execution) keepTelling(ctx workflow.Context) {
	for await(ctx, func() bool { return len(e.hooks) > 0 }) {
		next := e.hooks[0]
		if err := next.send(ctx, e.in.Session); err != nil {
			e.log.Debug("session not told", "signal", next.signal, "error", err)
		}
		e.hooks = e.hooks[1:]
	}
}
