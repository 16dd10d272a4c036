package connection_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

var key = delivery.Key{Workspace: "w1", Name: "cloud", Directory: "/srv/w1"}

// pollInterval is the wait between two looks that find nothing to decide.
const pollInterval = 30 * time.Second

// tester is a test, or one check of a property.
type tester interface {
	require.TestingT
	Helper()
}

// world is the world around one workflow under skipped time: a store, an engine and an endpoint that a test scripts. It
// speaks the activities' contract; the workflow is the real one.
type world struct {
	t   tester
	env *testsuite.TestWorkflowEnvironment

	mu        sync.Mutex
	wanted    desired.LoadResult
	loadErr   error
	registers []engine.RegisterRequest
	probes    int
	looks     []engine.InspectRequest
	drops     []engine.DisconnectRequest
	mints     []endpoint.MintRequest
	// onRegister, onProbe, onInspect answer; nil is the answer of a world where all is well.
	onRegister   func(engine.RegisterRequest) (engine.RegisterResult, error)
	onProbe      func() endpoint.ProbeResult
	onInspect    func(engine.InspectRequest) (engine.InspectResult, error)
	onDisconnect func(engine.DisconnectRequest) (engine.DisconnectResult, error)
	onMint       func(endpoint.MintRequest) (endpoint.MintResult, error)
	answered     int
	asked        int
	// last is what a test wrote down of the end.
	last string
}

func newWorld(t tester) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	w := &world{t: t, env: suite.NewTestWorkflowEnvironment()}
	w.wanted = desired.LoadResult{
		Present: true, Revision: "r1", EngineID: "engine-1", Profile: "generic", TimeoutMillis: 5000,
	}
	w.env.SetTestTimeout(30 * time.Second)
	w.env.RegisterWorkflowWithOptions(connection.Workflow, workflow.RegisterOptions{Name: connection.WorkflowName})
	w.env.SetStartWorkflowOptions(startOptions())
	w.env.RegisterActivityWithOptions(w.load, activity.RegisterOptions{Name: desired.LoadName})
	w.env.RegisterActivityWithOptions(w.register, activity.RegisterOptions{Name: engine.RegisterName})
	w.env.RegisterActivityWithOptions(w.probe, activity.RegisterOptions{Name: endpoint.ProbeName})
	w.env.RegisterActivityWithOptions(w.mint, activity.RegisterOptions{Name: endpoint.MintName})
	w.env.RegisterActivityWithOptions(w.inspect, activity.RegisterOptions{Name: engine.InspectName})
	w.env.RegisterActivityWithOptions(w.disconnect, activity.RegisterOptions{Name: engine.DisconnectName})
	return w
}

func (w *world) load(context.Context, desired.LoadRequest) (desired.LoadResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wanted, w.loadErr
}

func (w *world) register(_ context.Context, in engine.RegisterRequest) (engine.RegisterResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.registers = append(w.registers, in)
	if w.onRegister != nil {
		return w.onRegister(in)
	}
	return delivered(), nil
}

func (w *world) probe(context.Context, endpoint.ProbeRequest) (endpoint.ProbeResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.probes++
	if w.onProbe != nil {
		return w.onProbe(), nil
	}
	return well(), nil
}

func (w *world) inspect(_ context.Context, in engine.InspectRequest) (engine.InspectResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = append(w.looks, in)
	if w.onInspect != nil {
		return w.onInspect(in)
	}
	return inSync(in)
}

func (w *world) disconnect(_ context.Context, in engine.DisconnectRequest) (engine.DisconnectResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drops = append(w.drops, in)
	if w.onDisconnect != nil {
		return w.onDisconnect(in)
	}
	return engine.DisconnectResult{OK: true, LatencyMillis: 2}, nil
}

// mint gives a new token whenever the last one is not good enough any more.
func (w *world) mint(_ context.Context, in endpoint.MintRequest) (endpoint.MintResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mints = append(w.mints, in)
	if w.onMint != nil {
		return w.onMint(in)
	}
	return endpoint.MintResult{Sequence: 1}, nil
}

func delivered() engine.RegisterResult {
	return engine.RegisterResult{Outcome: engine.RegisterDelivered, Status: "connected"}
}

func well() endpoint.ProbeResult {
	return endpoint.ProbeResult{Expected: []string{}, Present: []string{"echo"}, Missing: []string{}, Count: 1}
}

func unreachable() endpoint.ProbeResult {
	f := health.ProbeUnreachable("connection refused", nil)
	return endpoint.ProbeResult{Failure: &f, Unreachable: true, Missing: []string{}}
}

func refused() endpoint.ProbeResult {
	f := health.InvalidToken(health.StageTransportAuth, health.AliasAuthInvalid, "http 401")
	return endpoint.ProbeResult{Failure: &f}
}

// inSync answers like a look that finds nothing to decide.
func inSync(in engine.InspectRequest) (engine.InspectResult, error) {
	if in.Once {
		return engine.InspectResult{Decision: engine.DecisionInSync, Status: "connected"}, nil
	}
	return engine.InspectResult{}, apperr.NotDue("in sync: connected", pollInterval)
}

// once makes an inspection decide one thing the first time, and then find nothing.
func (w *world) once(decision engine.InspectResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onInspect = func(in engine.InspectRequest) (engine.InspectResult, error) {
		w.onInspect = nil
		return decision, nil
	}
}

// set changes the world under its lock.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// at does something at a virtual time after the start.
func (w *world) at(after time.Duration, do func()) { w.env.RegisterDelayedCallback(do, after) }

// update sends an update at a virtual time and requires its answer.
func (w *world) update(after time.Duration, name, id string, got func(any)) {
	w.asked++
	w.at(after, func() { w.updateNow(name, id, got) })
}

// updateNow sends an update and requires its answer.
func (w *world) updateNow(name, id string, got func(any)) {
	w.env.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { require.NoError(w.t, err) },
		OnComplete: func(answer any, err error) {
			require.NoError(w.t, err)
			w.answered++
			if got != nil {
				got(answer)
			}
		},
	}, connection.Request{})
}

// rollsOver runs the workflow until it goes on as a new run, and returns the state that it hands over.
func (w *world) rollsOver(in *connection.State) connection.State {
	w.t.Helper()
	w.env.ExecuteWorkflow(connection.WorkflowName, in)
	require.True(w.t, w.env.IsWorkflowCompleted())
	var next *workflow.ContinueAsNewError
	require.ErrorAs(w.t, w.env.GetWorkflowError(), &next)
	require.Equal(w.t, connection.WorkflowName, next.WorkflowType.Name)
	var state connection.State
	require.NoError(w.t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &state))
	require.Equal(w.t, w.asked, w.answered, "an update was not answered")
	return state
}

// run lets the workflow live until the virtual time is over, and requires that it was canceled then, not failed.
func (w *world) run(span time.Duration) {
	w.t.Helper()
	w.runFrom(&connection.State{Key: key}, span)
}

// runFrom is run for a workflow that starts from a state.
func (w *world) runFrom(in *connection.State, span time.Duration) {
	w.t.Helper()
	w.at(span, w.env.CancelWorkflow)
	w.env.ExecuteWorkflow(connection.WorkflowName, in)
	require.True(w.t, w.env.IsWorkflowCompleted())
	var canceled interface{ Error() string } = w.env.GetWorkflowError()
	require.ErrorContains(w.t, errors.Unwrap(w.env.GetWorkflowError()), "canceled", canceled)
	require.Equal(w.t, w.asked, w.answered, "an update was not answered")
}

func (w *world) snapshot() connection.Snapshot {
	w.t.Helper()
	value, err := w.env.QueryWorkflow(connection.QuerySnapshot)
	require.NoError(w.t, err)
	var s connection.Snapshot
	require.NoError(w.t, value.Get(&s))
	return s
}

func (w *world) health() connection.Health {
	w.t.Helper()
	value, err := w.env.QueryWorkflow(connection.QueryHealth)
	require.NoError(w.t, err)
	var h connection.Health
	require.NoError(w.t, value.Get(&h))
	return h
}

// states is the way that the connection took, as "from>to".
func (w *world) states() []string {
	w.t.Helper()
	all := w.transitions()
	way := make([]string, 0, len(all))
	for i, tr := range all {
		require.Equal(w.t, int64(i+1), tr.Sequence)
		way = append(way, string(tr.To))
	}
	return way
}

func (w *world) transitions() []connection.Transition {
	w.t.Helper()
	value, err := w.env.QueryWorkflow(connection.QueryTransitions)
	require.NoError(w.t, err)
	var all []connection.Transition
	require.NoError(w.t, value.Get(&all))
	return all
}
