package cli_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func failing(f health.Failure) connection.Health {
	h := standing(delivery.Failed, "r1")
	h.FirstFailure, h.Delivery.Failure = &f, &f
	return h
}

func TestProbeAndReconcileTellHowTheCycleEnded(t *testing.T) {
	t.Parallel()
	unreachable := failing(health.EndpointUnreachable("refused", nil))
	for _, tc := range []struct {
		name   string
		health connection.Health
		err    error
		code   int
		says   string
	}{
		{"ready", standing(delivery.Ready, "r1"), nil, cli.ExitOK, ""},
		{"a failure that passes", unreachable, nil, cli.ExitNotReady, "It is tried again."},
		{"a failure for a person", failing(health.ConfigConflict("search")), nil, cli.ExitNotReady, "Next: Remove the server"},
		{"not over yet", standing(delivery.Registering, "r1"), nil, cli.ExitNotReady, "registering"},
		{"unknown", connection.Health{}, fmt.Errorf("probe: %w", connection.ErrNotFound), cli.ExitNotFound, "holdfast fleet reconcile"},
		{"no worker", connection.Health{}, fmt.Errorf("probe: %w", connection.ErrNoWorker), cli.ExitError, "holdfast-worker"},
	} {
		for _, verb := range []string{"probe", "reconcile", "refresh"} {
			t.Run(verb+" "+tc.name, func(t *testing.T) {
				t.Parallel()
				l := prepared(t)
				l.want("/srv/acme")
				l.connections.update = func(got string) (connection.Health, error) {
					require.Equal(t, verb, got)
					return tc.health, tc.err
				}
				require.Equal(t, tc.code, l.run("connection", verb, "acme/search", "-o", "json"), l.stderr)
				require.Contains(t, l.stderr.String(), tc.says)
				if tc.err != nil {
					require.Empty(t, l.stdout.String())
					return
				}
				got := document[struct {
					Health   *connection.Health
					Snapshot *connection.Snapshot
				}](l)
				require.Equal(t, tc.health.Delivery.State, got.Snapshot.State)
				require.Equal(t, tc.health.Usable, got.Health.Usable)
			})
		}
	}
}

func TestAWaitGoesOnThroughFailuresThatPass(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	looks := 0
	l.connections.update = func(string) (connection.Health, error) {
		return failing(health.EndpointUnreachable("refused", nil)), nil
	}
	l.connections.health = func() (connection.Health, error) {
		switch looks++; {
		case looks < 3:
			return failing(health.EndpointUnreachable("refused", nil)), nil
		case looks < 6:
			return connection.Health{}, connection.ErrBusy
		default:
			return standing(delivery.Ready, "r1"), nil
		}
	}
	require.Zero(t, l.run("connection", "probe", "acme/search", "--wait", "ready"), l.stderr)
	require.Contains(t, l.stdout.String(), "ready")
}

func TestABusyWorkflowIsAskedAgainUnderTheSameID(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.update = func(string) (connection.Health, error) {
		if len(l.connections.asked()) < 3 {
			return connection.Health{}, connection.ErrBusy
		}
		return standing(delivery.Ready, "r1"), nil
	}
	require.Zero(t, l.run("connection", "reconcile", "acme/search", "--wait", "ready"), l.stderr)
	require.Len(t, l.connections.ids, 3)
	require.Len(t, l.connections.ids[0], 32, "128 bits in hex")
	require.Equal(t, l.connections.ids[0], l.connections.ids[2])

	require.Zero(t, l.run("connection", "reconcile", "acme/search", "--idempotency-key", "mine"), l.stderr)
	require.Equal(t, "mine", l.connections.ids[3])
}

func TestAWaitThatIsOverSaysHowItStands(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	h := standing(delivery.Pending, "r1")
	h.WaitingFor, h.Delivery.WaitingFor = connection.WaitingEngineIdle, connection.WaitingEngineIdle
	l.connections.update = func(string) (connection.Health, error) { return h, nil }
	l.connections.health = func() (connection.Health, error) { return h, nil }
	require.Equal(t, cli.ExitNotReady, l.run("connection", "probe", "acme/search", "--wait", "ready", "--wait-timeout", "20ms", "-o", "json"))
	require.Contains(t, l.stderr.String(), "waiting for engine_idle")
	require.Equal(t, "pending", document[struct{ Snapshot struct{ State string } }](l).Snapshot.State)
}

func TestAWaitWithNoWorkerShowsWhatWasPublished(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.update = func(string) (connection.Health, error) { return connection.Health{}, connection.ErrNoWorker }
	l.connections.describe = running(standing(delivery.Stale, "r1").Delivery)
	require.Equal(t, cli.ExitNotReady, l.run("connection", "probe", "acme/search", "--wait", "ready", "--wait-timeout", "20ms", "-o", "json"))
	require.Contains(t, l.stderr.String(), "no worker answers")
	require.Equal(t, "stale", document[struct{ Snapshot struct{ State string } }](l).Snapshot.State)
}

func TestACycleThatOutlastsTheWaitIsNoMissingWorker(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.update = func(string) (connection.Health, error) { return connection.Health{}, connection.ErrNoWorker }
	l.connections.health = func() (connection.Health, error) { return standing(delivery.Registering, "r1"), nil }
	require.Equal(t, cli.ExitNotReady, l.run("connection", "probe", "acme/search", "--wait", "ready", "--wait-timeout", "20ms"))
	require.Contains(t, l.stderr.String(), "registering")
	require.NotContains(t, l.stderr.String(), "no worker")
}

func TestRefreshTellsItsSteps(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.update = func(string) (connection.Health, error) { return standing(delivery.Ready, "r1"), nil }
	require.Zero(t, l.run("connection", "refresh", "acme/search", "--trigger", "by hand", "-o", "json"), l.stderr)
	got := document[connection.RefreshResult](l)
	require.Equal(t, "by hand", got.Refresh.Trigger)
	require.Len(t, got.Refresh.Steps, 2)
	require.Zero(t, l.run("connection", "refresh", "acme/search"), l.stderr)
	require.Contains(t, l.stdout.String(), "engine_disconnect   yes    3\n")
}
