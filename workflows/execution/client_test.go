package execution_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// server answers updates with an error, or not at all.
type server struct {
	client.Client

	err   error
	asked int
}

func (s *server) UpdateWorkflow(ctx context.Context, _ client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	s.asked++
	if s.err != nil {
		return nil, s.err
	}
	<-ctx.Done()
	return nil, client.NewWorkflowUpdateServiceTimeoutOrCanceledError(ctx.Err())
}

func (s *server) ExecuteWorkflow(context.Context, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	return nil, s.err
}

func resume(ctx context.Context, s *server, pauseID string, d approval.Decision) error {
	_, err := execution.NewClient(s, "q").Resume(ctx, approval.Identity{}, execution.Resume{PauseID: pauseID, Decision: d})
	return err
}

func TestADecisionThatNobodyTakesIsToldToBeSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.ErrorIs(t, resume(t.Context(), &server{}, first, decision(approval.ActionAccept)), execution.ErrUnavailable)
		require.LessOrEqual(t, time.Since(began), time.Minute)
	})
}

func TestWhatCannotBeADecisionIsNotSent(t *testing.T) {
	t.Parallel()
	s := &server{}
	for _, id := range []string{"", "exec_1", key, "exec_" + key} {
		require.ErrorIs(t, resume(t.Context(), s, id, decision(approval.ActionAccept)), execution.ErrNotFound, id)
	}
	require.ErrorIs(t, resume(t.Context(), s, first, decision("approve")), approval.ErrBadDecision)
	require.Zero(t, s.asked)
}

func TestRefusalsAreToldApart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		want error
	}{
		{"no such pause", temporal.NewApplicationError("no", execution.ErrTypeNoPause), execution.ErrNotFound},
		{"bad decision", temporal.NewApplicationError("no", execution.ErrTypeBadDecision), approval.ErrBadDecision},
		{"server down", serviceerror.NewUnavailable("down"), execution.ErrUnavailable},
		{"run cannot go on", serviceerror.NewWorkflowNotReady("stuck"), execution.ErrUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, resume(t.Context(), &server{err: tc.err}, first, decision(approval.ActionAccept)), tc.want)
		})
	}
}

func TestAnExecutionThatWasStartedBeforeIsNoError(t *testing.T) {
	t.Parallel()
	started := serviceerror.NewWorkflowExecutionAlreadyStarted("it was", "", "")
	require.NoError(t, execution.NewClient(&server{err: started}, "q").Start(t.Context(), gated()))
	require.ErrorIs(t, execution.NewClient(&server{err: serviceerror.NewUnavailable("down")}, "q").Start(t.Context(), gated()),
		execution.ErrUnavailable)
}
