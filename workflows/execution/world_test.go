package execution_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

const (
	key    = "0123456789abcdef0123456789abcdef"
	window = 4 * time.Minute
)

var first, second = approval.PauseID(key, 1), approval.PauseID(key, 2)

// tester is a test, or one check of a property.
type tester interface {
	require.TestingT
	Helper()
}

// world is the world around one execution under skipped time: a store, an upstream and a session that a test scripts. It speaks the
// activities' contract; the workflow is the real one.
type world struct {
	t   tester
	env *testsuite.TestWorkflowEnvironment

	mu      sync.Mutex
	calls   []tool.CallRequest
	settles []tool.SettleRequest
	records []tool.RecordRequest
	inTask  []bool // of each record: written by a local activity
	hooks   []string
	token   []byte // of the call that is under way
	// onCall answers the n-th try of the call, onSettle what is in the store afterwards; nil is a call that succeeds.
	onCall   func(n int) (tool.CallResult, error)
	onSettle func(n int) (tool.CallResult, error)
	// storeDown is how many writes fail from now on; sessionGone has signals to the session fail.
	storeDown   int
	sessionGone bool

	timers, fired, stopped int
	asked, answered        int
}

func newWorld(t tester) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	w := &world{t: t, env: suite.NewTestWorkflowEnvironment()}
	w.env.SetTestTimeout(time.Minute)
	// A busy machine may give a test no time for longer than the usual second.
	w.env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	w.env.RegisterWorkflowWithOptions(execution.Workflow, workflow.RegisterOptions{Name: execution.WorkflowName})
	w.env.RegisterActivityWithOptions(w.call, activity.RegisterOptions{Name: tool.CallName})
	w.env.RegisterActivityWithOptions(w.settle, activity.RegisterOptions{Name: tool.SettleName})
	w.env.RegisterActivityWithOptions(w.record, activity.RegisterOptions{Name: tool.RecordName})
	w.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(
		func(_, workflowID, _, name string, arg any) error { return w.hook(workflowID, name, arg) })
	w.env.SetOnTimerScheduledListener(func(string, time.Duration) { w.timers++ })
	w.env.SetOnTimerFiredListener(func(string) { w.fired++ })
	w.env.SetOnTimerCanceledListener(func(string) { w.stopped++ })
	return w
}

func gated() execution.Input {
	return execution.Input{
		Key: key, Identity: approval.Identity{Account: "ann", Organisation: "default"}, Session: "s1", Mode: approval.ModeModel,
		Address: "mail.send", Digest: "d1", Policy: "p1", Window: window, CallTimeout: time.Minute, AskedBy: "token:1",
		Gate: &approval.Request{Kind: approval.KindGate, Message: "Approve mail.send?", Reason: "rule 1: mail.*"},
	}
}

func ungated() execution.Input {
	in := gated()
	in.Gate = nil
	return in
}

func answered() tool.CallResult {
	return tool.CallResult{State: tool.StateDone, Digest: "r1", Bytes: 12}
}

func (w *world) call(ctx context.Context, in tool.CallRequest) (tool.CallResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, in)
	w.token = activity.GetInfo(ctx).TaskToken
	if w.onCall != nil {
		return w.onCall(len(w.calls))
	}
	return answered(), nil
}

// goesOn is the answer of a call that is under way until a test ends it.
func goesOn(int) (tool.CallResult, error) { return tool.CallResult{}, activity.ErrResultPending }

// ends ends the call that is under way.
func (w *world) ends(result tool.CallResult, err error) {
	w.mu.Lock()
	token := w.token
	w.mu.Unlock()
	require.NoError(w.t, w.env.CompleteActivity(token, result, err))
}

func (w *world) settle(_ context.Context, in tool.SettleRequest) (tool.CallResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settles = append(w.settles, in)
	if w.onSettle != nil {
		return w.onSettle(len(w.settles))
	}
	return tool.CallResult{State: tool.StateClaimed}, nil
}

func (w *world) record(ctx context.Context, in tool.RecordRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.storeDown > 0 {
		w.storeDown--
		return errors.New("database is locked")
	}
	w.records = append(w.records, in)
	w.inTask = append(w.inTask, activity.GetInfo(ctx).IsLocalActivity)
	return nil
}

func (w *world) hook(workflowID, name string, arg any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	hook, ok := arg.(session.Hook)
	require.True(w.t, ok, "%T", arg)
	require.Equal(w.t, session.ID("s1"), workflowID)
	w.hooks = append(w.hooks, strings.TrimPrefix(name, "execution-")+" "+hook.PauseID)
	if w.sessionGone {
		return errors.New("unknown external workflow")
	}
	return nil
}

// events are the steps as they were written down.
func (w *world) events() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	seq := int64(0)
	for _, r := range w.records {
		for _, e := range r.Events {
			seq++
			require.Equal(w.t, seq, e.Seq)
			require.Equal(w.t, key, r.Key)
			line := e.Kind
			if e.Pause > 0 {
				line += " " + string(rune('0'+e.Pause))
			}
			all = append(all, line)
		}
	}
	return all
}

// at does something at a virtual time after the start.
func (w *world) at(after time.Duration, do func()) { w.env.RegisterDelayedCallback(do, after) }

func decision(action approval.Action) approval.Decision {
	return approval.Decision{Action: action, By: "ann", Via: approval.ViaPage}
}

// decides sends a decision at a virtual time; got is told the answer.
func (w *world) decides(after time.Duration, pauseID, by string, d approval.Decision, got func(execution.Resumed)) {
	w.at(after, func() { w.decideNow(pauseID, by, d, got) })
}

func (w *world) decideNow(pauseID, by string, d approval.Decision, got func(execution.Resumed)) {
	id := execution.ResumeUpdateID(pauseID, approval.Identity{Account: by, Organisation: "default"})
	w.update(execution.UpdateResume, id, execution.Resume{PauseID: pauseID, Decision: d}, func(answer any) {
		if got != nil {
			got(*answer.(*execution.Resumed))
		}
	})
}

// asks has the tool ask at a virtual time.
func (w *world) asks(after time.Duration, id string, question approval.Request, got func(approval.Pause)) {
	w.at(after, func() {
		w.update(execution.UpdateAsk, id, execution.Ask{Call: 1, Request: question}, func(answer any) {
			if got != nil {
				got(answer.(*execution.Asked).Pause)
			}
		})
	})
}

func form() approval.Request { return approval.Request{Kind: approval.KindForm, Message: "Which?"} }

// update sends an update and requires that it is answered.
func (w *world) update(name, id string, in any, got func(any)) {
	w.asked++
	w.env.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { require.NoError(w.t, err) },
		OnComplete: func(answer any, err error) {
			require.NoError(w.t, err)
			w.answered++
			got(pointer(answer))
		},
	}, in)
}

// pointer gives an answer of the environment as a pointer to it.
func pointer(answer any) any {
	switch v := answer.(type) {
	case execution.Resumed:
		return &v
	case execution.Asked:
		return &v
	case execution.Snapshot:
		return &v
	default:
		return answer
	}
}

// refused sends an update and requires that it is refused, with an error of a type.
func (w *world) refused(name, id string, in any, errType string) {
	w.asked++
	w.env.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
		OnAccept:   func() { require.Fail(w.t, "accepted") },
		OnComplete: func(any, error) {},
		OnReject: func(err error) {
			w.answered++
			require.ErrorContains(w.t, err, "type: "+errType)
		},
	}, in)
}

func (w *world) cancels(after time.Duration) {
	w.at(after, func() {
		w.update(execution.UpdateCancel, "cancel", execution.Cancel{By: "ann", Via: approval.ViaPage}, func(any) {})
	})
}

// run runs the execution to its end. It never fails.
func (w *world) run(in execution.Input) execution.Snapshot {
	w.t.Helper()
	w.env.ExecuteWorkflow(execution.WorkflowName, in)
	require.True(w.t, w.env.IsWorkflowCompleted())
	require.NoError(w.t, w.env.GetWorkflowError())
	require.Equal(w.t, w.asked, w.answered, "an update was not answered")
	var s execution.Snapshot
	require.NoError(w.t, w.env.GetWorkflowResult(&s))
	require.NotNil(w.t, s.Outcome)
	require.Equal(w.t, execution.PhaseSettled, s.Phase)
	for _, p := range s.Pauses {
		require.False(w.t, p.Open())
	}
	events := w.events()
	require.Equal(w.t, tool.EventOutcome, events[len(events)-1])
	return s
}

func (w *world) snapshot() execution.Snapshot {
	w.t.Helper()
	value, err := w.env.QueryWorkflow(execution.QuerySnapshot)
	require.NoError(w.t, err)
	return read[execution.Snapshot](w.t, value)
}

func read[T any](t tester, value converter.EncodedValue) T {
	t.Helper()
	var out T
	require.NoError(t, value.Get(&out))
	return out
}
