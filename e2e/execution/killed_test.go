package execution_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

func TestAWorkerKilledWhileItCallsNeverMakesACallRunTwiceThatMayNot(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		retry bool
		want  approval.OutcomeKind
		runs  int
	}{
		{"a call that may not be made again", false, approval.OutcomeUnknown, 1},
		{"a call that may be made again", true, approval.OutcomeCompleted, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			first := r.startWorker()
			release := r.upstream.holds()
			defer release()
			key := r.start(func(in *execution.Input) { in.Retry = tc.retry })
			r.paused(key, 1)
			r.decide(key, 1, approval.ActionAccept)
			testkit.Eventually(t, late, func() bool { return r.upstream.runs(key) == 1 }, "the call is under way")
			first.Kill()
			release()
			r.startWorker()
			got := r.settled(key)
			require.Equal(t, tc.want, got.Kind)
			require.Equal(t, tc.runs, r.upstream.runs(key), "under the same idempotency key")
			if tc.want == approval.OutcomeUnknown {
				require.Equal(t, execution.CodeWorkerLost, got.Code)
			}
		})
	}
}

func TestAPauseOutlivesTheWorker(t *testing.T) {
	t.Parallel()
	// A15
	r := newRig(t)
	worker := r.startWorker()
	key := r.start(asIs)
	pause := r.paused(key, 1)
	worker.Kill()
	row, err := r.Store.Pause(t.Context(), pause.ID)
	require.NoError(t, err)
	require.True(t, row.Open(), "it is still listed")
	r.startWorker()
	require.Equal(t, pause.ID, r.decide(key, 1, approval.ActionAccept).Pause.ID)
	require.Equal(t, approval.OutcomeCompleted, r.settled(key).Kind)
	require.Equal(t, 1, r.upstream.runs(key))
}
