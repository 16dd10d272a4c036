package fleet_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	activities "github.com/holdfast-mcp/holdfast/activities/fleet"
	"github.com/holdfast-mcp/holdfast/internal/fleet"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// passes answers as scripted.
type passes struct {
	result fleet.Result
	err    error
}

func (p passes) Pass(context.Context) (fleet.Result, error) { return p.result, p.err }

func try(t *testing.T, p passes, in activities.ReconcileRequest) (activities.ReconcileResult, error) {
	t.Helper()
	return peers.Try[activities.ReconcileResult](t, activities.NewActivities(p, 5*time.Minute), activities.ReconcileName, in)
}

func TestAFleetInOrderIsTriedAgainAfterTheInterval(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		result fleet.Result
		words  string
		wait   time.Duration
	}{
		{"nothing to do", fleet.Result{Wanted: 3}, "in order: 3 connections", 5 * time.Minute},
		{"one in use", fleet.Result{Wanted: 3, InUse: 1}, "in order: 3 connections, 1 more to end with their sessions", 30 * time.Second},
		{"one failed", fleet.Result{Wanted: 3, Failed: 1}, "not in order: 1 of 3 connections and their engines could not be mended", 30 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := try(t, passes{result: tc.result}, activities.ReconcileRequest{})
			words, wait := peers.RequireNotDue(t, err)
			require.Equal(t, tc.words, words)
			require.Equal(t, tc.wait, wait)
			got, err := try(t, passes{result: tc.result}, activities.ReconcileRequest{Report: true})
			require.NoError(t, err, "whoever asks is answered")
			require.Equal(t, 3, got.Wanted)
		})
	}
}

func TestAPassThatChangedSomethingIsTold(t *testing.T) {
	t.Parallel()
	got, err := try(t, passes{result: fleet.Result{
		Wanted: 4, Started: 1, Closed: 2, Engines: 1, Failed: 1, Failures: []fleet.Failure{{Subject: "w/n", Step: "start", Error: "refused"}},
	}}, activities.ReconcileRequest{})
	require.NoError(t, err)
	require.Equal(t, activities.ReconcileResult{
		Wanted: 4, Started: 1, Closed: 2, Engines: 1, Failed: 1, Failures: []activities.Failure{{Subject: "w/n", Step: "start", Error: "refused"}},
	}, got)
}

func TestAPassThatCannotCompareIsAnError(t *testing.T) {
	t.Parallel()
	_, err := try(t, passes{err: errors.New("database is locked")}, activities.ReconcileRequest{Report: true})
	require.ErrorContains(t, err, "database is locked")
}
