package cli_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/fleet"
)

func TestFleetReconcileStartsAndEndsAndTellsHowMany(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	stray := standing(delivery.NotDesired, "").Delivery
	stray.Directory = "/srv/gone"
	key := delivery.Key{Workspace: "gone", Name: "search", Directory: stray.Directory}
	l.connections.listed = []connection.Listed{{WorkflowID: connection.ID(key), RunID: "r", Workspace: "gone", Name: "search", Snapshot: &stray}}
	l.connections.describe = func() (connection.Description, error) {
		if l.connections.keys[len(l.connections.keys)-1].Workspace == "acme" {
			return connection.Description{}, connection.ErrNotFound
		}
		return connection.Description{Running: true, Snapshot: &stray}, nil
	}
	l.connections.update = func(string) (connection.Health, error) { return connection.Health{}, nil }
	require.Zero(t, l.run("fleet", "reconcile", "-o", "json"), l.stderr)
	require.Equal(t, map[string]any{"wanted": 1.0, "started": 1.0, "closed": 1.0, "engines": 1.0}, document[map[string]any](l))
	require.Equal(t, []string{"ensure"}, l.fleet.calls, "the workflow that does it by itself runs")
	require.Equal(t, "holdfast", l.connections.filter.TaskQueue)
}

func TestFleetReconcileThatFailsNamesWhat(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.describe = func() (connection.Description, error) { return connection.Description{}, connection.ErrNotFound }
	l.connections.ensureFault = errors.New("refused")
	require.Equal(t, cli.ExitError, l.run("fleet", "reconcile"))
	require.Contains(t, l.stderr.String(), "start acme/search: refused")
}

func TestFleetStatusNeedsNoWorker(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Equal(t, cli.ExitNotFound, l.run("fleet", "status"))
	require.Contains(t, l.stderr.String(), "a worker starts it")

	l.fleet.description = fleet.Description{WorkflowID: "fleet", Running: true, Attempts: 4, Said: "in order: 3 connections", NextAt: noon}
	require.Zero(t, l.run("fleet", "status"), l.stderr)
	require.Contains(t, l.stdout.String(), "in order: 3 connections")
	require.Contains(t, l.stderr.String(), "no worker answers")

	l.fleet.passes = &fleet.Snapshot{}
	require.Zero(t, l.run("fleet", "status"), l.stderr)
	require.Contains(t, l.stdout.String(), "no pass changed anything or was asked for")
	l.fleet.passes = &fleet.Snapshot{Passes: 1, Started: 1, Engines: 2}
	require.Zero(t, l.run("fleet", "status"), l.stderr)
	require.Contains(t, l.stdout.String(), "1 connection started, 0 ended, 2 watches started, in 1 pass that changed something or was asked for")

	l.fleet.passes = &fleet.Snapshot{Passes: 1, Started: 2, Last: &fleet.Pass{At: noon.Add(time.Hour)}}
	require.Zero(t, l.run("fleet", "status", "-o", "json"), l.stderr)
	require.Empty(t, l.stderr.String())
	got := document[struct {
		WorkflowID string
		Said       string
		Passes     fleet.Snapshot
	}](l)
	require.Equal(t, "fleet", got.WorkflowID)
	require.Equal(t, 2, got.Passes.Started)
}
