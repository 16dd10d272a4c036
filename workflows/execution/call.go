package execution

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// TheCall is the number of the only call that an execution of one tool makes: made again, it is the same call.
const TheCall = 1

// Codes of outcomes that the upstream did not cause.
const (
	// CodeWorkerLost means that the worker that made the call was lost again and again.
	CodeWorkerLost = "worker_lost"
	// CodeCalledOff means that the execution was called off while the call was made.
	CodeCalledOff = "called_off"
)

const (
	saidLost      = "the worker that made the call was lost; the call may have run"
	saidCalledOff = "called off while the call was made; it may have run"
	saidNotMade   = "the workers that should make the call were lost; it was not made"
)

// tries counts what was tried, and what came of it.
type tries struct {
	made, lost int
	until      time.Time // of tries that do not reach the upstream
	// mayHaveRun is set once a try was made that may have reached the tool. A later one that did not takes nothing back.
	mayHaveRun bool
}

// call calls the upstream, until it is known what came of it, or known that this cannot be known.
func (e *execution) call(ctx workflow.Context) approval.Outcome {
	t := tries{until: workflow.Now(ctx).Add(unsentFor)}
	for {
		t.made++
		result, lost := e.try(ctx, t.made)
		if lost {
			t.lost++
		}
		t.mayHaveRun = t.mayHaveRun || result.State == tool.StateClaimed
		if outcome, known := e.judge(workflow.Now(ctx), t, result); known {
			return outcome
		}
		if !e.pause(ctx, backoff(t.made)) {
			return e.calledOff(t)
		}
	}
}

// try makes one try. A call whose worker was lost is looked up in the store.
func (e *execution) try(ctx workflow.Context, n int) (result tool.CallResult, lost bool) {
	callCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	call := workflow.ExecuteActivity(callOptions(callCtx, e.in, "call "+e.in.Address), tool.CallName, tool.CallRequest{
		Key: e.in.Key, Number: TheCall, Fence: e.fence(n), Address: e.in.Address, Digest: e.in.Digest, Timeout: e.in.CallTimeout,
	})
	await(ctx, func() bool { return call.IsReady() || e.canceled != nil })
	if !call.IsReady() {
		stop()
	}
	err := call.Get(ctx, &result)
	if err == nil && (result.State != tool.StateClaimed || result.Code != "") {
		return result, false
	}
	// The worker was lost, or another try was found to have claimed the call.
	settle := tool.SettleRequest{Key: e.in.Key, Number: TheCall}
	if !e.in.Retry {
		settle.Grace = lateAnswer
	}
	err = workflow.ExecuteActivity(storeOptions(ctx, "find out what became of the call"), tool.SettleName, settle).Get(ctx, &result)
	if err != nil {
		// Nothing is known of it, so it may have run.
		result = tool.CallResult{State: tool.StateClaimed}
	}
	if result.State == tool.StateClaimed && result.Code == "" {
		result.Code, result.Message = CodeWorkerLost, saidLost
	}
	return result, true
}

// fence is that of a try. A later try of a call that may be made again takes over from an earlier one. Any other call is claimed once,
// whoever comes first, so all tries have the same: a try that was given up and wakes late finds it claimed, or is found to have claimed it.
func (e *execution) fence(n int) int64 {
	if e.in.Retry {
		return int64(n)
	}
	return 1
}

// judge says how the execution ends after a try; known is false where another try is to be made.
func (e *execution) judge(now time.Time, t tries, r tool.CallResult) (outcome approval.Outcome, known bool) {
	switch {
	case r.State == tool.StateDone:
		return approval.Outcome{
			Kind: approval.OutcomeCompleted, ToolError: r.ToolError, Calls: TheCall, Digest: r.Digest, Bytes: r.Bytes,
		}, true
	case e.canceled != nil && r.State != tool.StateRefused:
		return e.calledOff(t), true
	case e.again(now, t, r):
		return approval.Outcome{}, false
	case t.mayHaveRun:
		return approval.Outcome{Kind: approval.OutcomeUnknown, Code: r.Code, Message: r.Message, Calls: TheCall}, true
	case r.Code == "":
		return approval.Outcome{Kind: approval.OutcomeFailed, Code: CodeWorkerLost, Message: saidNotMade}, true
	default:
		return approval.Outcome{Kind: approval.OutcomeFailed, Code: r.Code, Message: r.Message}, true
	}
}

// again reports whether a call without an answer is to be made again.
func (e *execution) again(now time.Time, t tries, r tool.CallResult) bool {
	switch r.State {
	case tool.StateNone:
		return t.lost < lostTries && (r.Code == "" || now.Before(t.until))
	case tool.StateClaimed:
		return e.in.Retry && t.made < lostTries
	case tool.StateRefused, tool.StateDone:
		return false
	default:
		return false
	}
}

// calledOff is the outcome of an execution that was called off before there was an answer.
func (e *execution) calledOff(t tries) approval.Outcome {
	switch {
	case !t.mayHaveRun:
		return approval.Outcome{Kind: approval.OutcomeCancelled}
	case e.in.Retry:
		return approval.Outcome{Kind: approval.OutcomeCancelled, Code: CodeCalledOff, Message: saidCalledOff, Calls: TheCall}
	default:
		return approval.Outcome{Kind: approval.OutcomeUnknown, Code: CodeCalledOff, Message: saidCalledOff, Calls: TheCall}
	}
}

// pause waits before the next try, and reports false when the execution is called off meanwhile.
func (e *execution) pause(ctx workflow.Context, wait time.Duration) bool {
	over, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: wait, TimerOptions: workflow.TimerOptions{Summary: "before the call is tried again"},
	}, func() bool { return e.canceled != nil })
	return err == nil && !over
}
