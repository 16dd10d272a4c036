package e2e_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/converter"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/searchattr"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// unhandled is what the SDK logs when a run ends with signals that nobody took.
const unhandled = "unhandled signals"

// rollOver forces a new run and waits for it.
func (s *simulated) rollOver() {
	s.TB.Helper()
	before := s.describe().RunID
	s.signal(connection.SignalForceContinueAsNew, nil)
	testkit.Eventually(s.TB, soon, func() bool { return s.describe().RunID != before }, "a new run")
}

func (s *simulated) describe() connection.Description {
	s.TB.Helper()
	d, err := s.Connections.Describe(s.TB.Context(), s.key)
	require.NoError(s.TB, err)
	return d
}

func (s *simulated) signal(name string, in any) {
	s.TB.Helper()
	require.NoError(s.TB, s.Temporal.SignalWorkflow(s.TB.Context(), connection.ID(s.key), "", name, in))
}

// events reads the history of one run; an empty run is the current one.
func (s *simulated) events(workflowID, runID string) []*historypb.HistoryEvent {
	s.TB.Helper()
	iter := s.Temporal.GetWorkflowHistory(s.TB.Context(), workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var all []*historypb.HistoryEvent
	for iter.HasNext() {
		ev, err := iter.Next()
		require.NoError(s.TB, err)
		all = append(all, ev)
	}
	return all
}

// chain reads the events of all runs from the first to the current one.
func (s *simulated) chain(firstRun string) (events []*historypb.HistoryEvent, runs int) {
	s.TB.Helper()
	for run := firstRun; run != ""; runs++ {
		some := s.events(connection.ID(s.key), run)
		events = append(events, some...)
		run = some[len(some)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return events, runs
}

func TestARolloverLosesNoSignalAndNoUpdate(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	s.apply("")
	first := s.describe().RunID

	const signals, updates = 50, 9
	var all sync.WaitGroup
	all.Go(func() {
		for i := range signals {
			s.signal(connection.SignalForceContinueAsNew, nil)
			s.signal(connection.SignalMarkStale, connection.MarkStale{Reason: fmt.Sprint("doubt ", i)})
			s.signal(connection.SignalDesiredChanged, connection.DesiredChanged{Trigger: fmt.Sprint("change ", i)})
			s.signal(connection.SignalForceContinueAsNew, nil)
		}
	})
	answers, errs := make([]connection.Health, updates), make([]error, updates)
	for i := range updates {
		all.Go(func() {
			ask := s.Connections.Probe
			if i%2 == 1 {
				ask = s.Connections.Reconcile
			}
			answers[i], errs[i] = ask(t.Context(), s.key, fmt.Sprint("request-", i), connection.Request{Trigger: "test"})
		})
	}
	all.Wait()
	for i, answer := range answers {
		require.NoError(t, errs[i])
		require.NotEmpty(t, answer.Phase)
		require.Equal(t, s.key.Workspace, answer.Workspace)
	}

	// The last doubt is never joined to an earlier one that was taken up before it: its words are in the history.
	s.Await(s.key, late, "ready after the last doubt", func(got connection.Snapshot) bool {
		return got.State == delivery.Ready && s.reasons()[fmt.Sprint("doubt ", signals-1)]
	})
	s.rollOver()
	events, runs := s.chain(first)
	require.Greater(t, runs, 2, "runs were replaced while requests were in flight")
	// Delivery is at least once: a client that repeats a signal whose answer came late may be heard twice, by two runs.
	signaled := map[string]bool{}
	accepted, completed := 0, 0
	for _, ev := range events {
		signal := ev.GetWorkflowExecutionSignaledEventAttributes()
		switch name := signal.GetSignalName(); name {
		case connection.SignalMarkStale, connection.SignalDesiredChanged:
			signaled[name+" "+signal.GetInput().String()] = true
		}
		if ev.GetWorkflowExecutionUpdateAcceptedEventAttributes() != nil {
			accepted++
		}
		if ev.GetWorkflowExecutionUpdateCompletedEventAttributes() != nil {
			completed++
		}
	}
	require.Len(t, signaled, 2*signals+1, "and the one that came with the start")
	require.Equal(t, updates, completed)
	require.Equal(t, updates, accepted, "no run ended with a request that it had taken and not answered")
	require.NotContains(t, s.Logs(), unhandled)
	require.Empty(t, s.leftovers(), "the state holds nothing that was asked for and not done")

	// Repeated in a later run, each request is answered from the account of the first time and not done again.
	pushes := len(s.engine.Registrations(s.key.Directory))
	for i := range updates {
		ask := s.Connections.Probe
		if i%2 == 1 {
			ask = s.Connections.Reconcile
		}
		again, err := ask(t.Context(), s.key, fmt.Sprint("request-", i), connection.Request{})
		require.NoError(t, err)
		require.NotNil(t, again.Earlier, "request %d", i)
		require.Equal(t, fmt.Sprint("request-", i), again.Earlier.Key)
	}
	require.Len(t, s.engine.Registrations(s.key.Directory), pushes)
}

// reasons are those of all transitions that the current run knows.
func (s *simulated) reasons() map[string]bool {
	transitions, err := s.Connections.Transitions(s.TB.Context(), connection.ID(s.key))
	if err != nil {
		return nil
	}
	found := map[string]bool{}
	for _, t := range transitions {
		found[t.Reason] = true
	}
	return found
}

// leftovers are the intents with which the current run was started.
func (s *simulated) leftovers() connection.Intents {
	s.TB.Helper()
	input := s.events(connection.ID(s.key), "")[0].GetWorkflowExecutionStartedEventAttributes().GetInput()
	var state connection.State
	require.NoError(s.TB, temporalclient.DataConverter(s.Keys.AEAD()).FromPayloads(input, &state))
	return state.Intents
}

func TestADoubtSentAlongWithARolloverIsActedOn(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	before := s.apply("")
	for i := range 5 {
		reason := fmt.Sprint("doubt ", i)
		s.signal(connection.SignalForceContinueAsNew, nil)
		s.signal(connection.SignalMarkStale, connection.MarkStale{Reason: reason})
		before = s.AwaitRepaired(s.key, before, soon)
		require.True(t, s.reasons()[reason], reason)
	}
	require.NotContains(t, s.Logs(), unhandled)
}

func TestWhatReadersSeeSurvivesARollover(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	s.apply("")
	before := s.shown()
	s.rollOver()
	s.AwaitState(s.key, delivery.Ready, soon)
	testkit.Eventually(t, soon, func() bool { return s.shown().details != "" }, "current details")
	after := s.shown()
	require.Equal(t, "ready", before.attributes[searchattr.State.GetName()])
	require.Equal(t, s.key.Workspace, before.attributes[searchattr.Workspace.GetName()])
	require.Equal(t, before.attributes, after.attributes)
	require.Equal(t, before.memo, after.memo)
	require.Equal(t, before.details, after.details)

	// Servers before 1.30 start the next run without the static summary and details, and no SDK can send them along. So
	// the card says all that they say.
	require.Contains(t, before.summary, s.key.Workspace)
	require.Contains(t, before.staticDetails, s.key.Directory)
	for _, said := range []string{s.key.Workspace, s.key.Name, s.key.Directory} {
		require.Contains(t, after.details, said)
	}
}

// shown is what the Temporal UI and lists show of a workflow.
type shown struct {
	attributes                      map[string]any
	memo                            connection.Snapshot
	summary, staticDetails, details string
}

func (s *simulated) shown() shown {
	s.TB.Helper()
	ctx, dc := s.TB.Context(), temporalclient.DataConverter(s.Keys.AEAD())
	d, err := s.Temporal.DescribeWorkflow(ctx, connection.ID(s.key), "")
	require.NoError(s.TB, err)
	got := shown{attributes: map[string]any{}}
	for name, payload := range d.RawResponse.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields() {
		var value any
		require.NoError(s.TB, converter.GetDefaultDataConverter().FromPayload(payload, &value))
		got.attributes[name] = value
	}
	require.NoError(s.TB, dc.FromPayload(d.Memo.GetFields()[connection.MemoSnapshot], &got.memo))
	got.summary, err = d.GetStaticSummary()
	require.NoError(s.TB, err)
	got.staticDetails, err = d.GetStaticDetails()
	require.NoError(s.TB, err)
	metadata, err := s.Temporal.QueryWorkflow(ctx, connection.ID(s.key), "", "__temporal_workflow_metadata")
	if err == nil {
		var about sdkpb.WorkflowMetadata
		require.NoError(s.TB, metadata.Get(&about))
		got.details = about.GetCurrentDetails()
	}
	return got
}
