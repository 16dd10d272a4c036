package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func TestTheAnswerToASwitchShowsWhatCameOfIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := snapshotOf(r.key("own"))
	r.connections.pages = func(connection.Filter, connection.Page) ([]connection.Listed, string, error) {
		return []connection.Listed{{WorkflowID: connection.ID(r.key("own")), Workspace: workspace, Name: "own", Snapshot: &before}}, "", nil
	}
	looks := 0
	r.connections.tells = func(key delivery.Key) connection.Snapshot {
		if looks++; looks < 3 {
			return before
		}
		now := snapshotOf(key)
		off := health.SwitchedOff(health.Decision{Workspace: key.Workspace, Name: key.Name})
		revision := r.revision(key.Name)
		now.State, now.Failure, now.DesiredRevision = delivery.Failed, &off, &revision
		return now
	}
	var list struct {
		Items []struct {
			Name, State string
			Enabled     bool
		}
		EngineSync struct{ Status string }
	}
	r.post("/workspace/w1/mcp/own/enabled", `{"enabled":false}`).requireOK().into(&list)
	require.False(t, list.Items[0].Enabled)
	require.Equal(t, "failed", list.Items[0].State, "as its workflow told after a while")
	require.Equal(t, "ok", list.EngineSync.Status, "what is switched off is not to be delivered")

	r.connections.tells = nil
	started := time.Now()
	r.post("/workspace/w1/mcp/own/enabled", `{"enabled":true}`).requireOK().into(&list)
	require.True(t, list.Items[0].Enabled)
	require.Equal(t, "pending", list.Items[0].State, "its workflow has told nothing of it in time")
	require.Less(t, time.Since(started), 30*time.Second)
}

func TestTheHealthOfAConnectionThatIsNowhereIsNotFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nothing := "/api/v1/connections/w1/nothing/health"
	r.get(nothing).requireOK() // its workflow still runs
	r.connections.ended[connection.ID(r.key("nothing"))] = true
	r.get(nothing).requireError(http.StatusNotFound, "connection_not_found")
	r.get("/workspace/w1/mcp/nothing/health").requireOK() // which says that nothing is wanted
	r.connections.ended[connection.ID(r.key("own"))] = true
	r.get("/api/v1/connections/w1/own/health").requireOK() // wanted, though nothing runs
}
