package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"pgregory.net/rapid"

	activity "github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// interleavings is how many random worlds the consumers are held against.
const interleavings = 1000

// started is when a workflow can surely be asked.
const started = 100 * time.Millisecond

// TestConsumersNeverSeeAConnectionThatIsNotReadyReceiptedAndVerified plays random worlds and reads the connection in the
// three ways in which model execution does: the query, the route, and the fragment of an engine's configuration. They are
// read at any time, and right after everything that happens: what marks the connection stale takes it from all three
// within its own transition.
func TestConsumersNeverSeeAConnectionThatIsNotReadyReceiptedAndVerified(t *testing.T) {
	t.Parallel()
	consumers := newConsumers(t)
	worlds, shown := 0, 0
	for worlds < interleavings {
		rapid.Check(t, func(t *rapid.T) {
			worlds++
			w := newWorld(t)
			w.wanted.Revision = consumers.revision
			witness := &witness{}
			script(t, w, witness)
			for _, act := range play(t, w) {
				w.at(max(act+time.Millisecond, started), func() { shown += consumers.read(t, w, witness) })
			}
			for range 12 {
				when := rapid.IntRange(0, 115_000).Draw(t, "read")
				w.at(max(time.Duration(when)*time.Millisecond, started), func() { shown += consumers.read(t, w, witness) })
			}
			w.at(2*time.Minute, w.env.CancelWorkflow)
			w.env.ExecuteWorkflow(connection.WorkflowName, &connection.State{Key: key})
			require.ErrorContains(t, errors.Unwrap(w.env.GetWorkflowError()), "canceled")
		})
	}
	require.Positive(t, shown, "the worlds are so bad that nothing is ever shown")
}

// consumers are the routes of a gateway whose store wants the connection, over one world at a time.
type consumers struct {
	api.Connections

	handler  http.Handler
	revision string
	env      *testsuite.TestWorkflowEnvironment
}

func newConsumers(t *testing.T) *consumers {
	t.Helper()
	on := true
	c := &consumers{revision: "r1"}
	wanted := theOne{effective: store.Effective{
		Desired: store.Desired{
			Key: key, EngineID: "engine-1", Profile: desired.ProfileGeneric, Metadata: desired.DefaultMetadata(),
			Config: desired.Config{Type: "remote", URL: "http://127.0.0.1:2/mcp", Enabled: &on},
		},
		Account: store.DefaultAccount,
	}, revision: c.revision}
	gateway, err := api.New(api.Params{
		Store: wanted, Tokens: auth.NewTokens(nil, nil), Connections: c, Resolver: wanted,
		TemporalHealth: func(context.Context) error { return nil }, StoreHealth: func(context.Context) error { return nil },
		Settings: api.Settings{Open: true},
	})
	require.NoError(t, err)
	t.Cleanup(gateway.Close)
	c.handler = gateway.Handler()
	return c
}

// theOne is a store that wants one connection.
type theOne struct {
	api.Store

	effective store.Effective
	revision  string
}

func (s theOne) Workspaces(context.Context, store.WorkspaceFilter) ([]store.Workspace, error) {
	return []store.Workspace{{
		ID: key.Workspace, Directory: key.Directory, EngineID: s.effective.EngineID, Account: s.effective.Account,
	}}, nil
}

func (s theOne) ListDesired(context.Context, store.Filter) ([]store.Desired, error) {
	return []store.Desired{s.effective.Desired}, nil
}

func (theOne) ListAccountDesired(context.Context, string) ([]store.AccountDesired, error) {
	return nil, nil
}

func (theOne) Intents(context.Context, store.IntentFilter) ([]store.Intent, error) { return nil, nil }

func (s theOne) Effective(context.Context, store.Key) (store.Effective, error) {
	return s.effective, nil
}

func (s theOne) Resolve(context.Context, delivery.Key) (activity.Resolved, error) {
	return activity.Resolved{Effective: s.effective, Revision: s.revision}, nil
}

// Projection asks the workflow of the world.
func (c *consumers) Projection(context.Context, delivery.Key) (connection.Projection, error) {
	value, err := c.env.QueryWorkflow(connection.QueryProjection)
	if err != nil {
		return connection.Projection{}, err
	}
	var p connection.Projection
	return p, value.Get(&p)
}

// read reads in all three ways, holds what it gets against what the activities proved, and returns 1 where the connection
// was shown.
func (c *consumers) read(t *rapid.T, w *world, p *witness) int {
	c.env = w.env
	queried, err := c.Projection(context.Background(), key)
	require.NoError(t, err)

	var routed connection.Projection
	c.get(t, "/api/v1/connections/"+key.Workspace+"/"+key.Name+"/projection", &routed)
	require.Equal(t, queried, routed)

	var fragment struct {
		MCP map[string]json.RawMessage `json:"mcp"`
	}
	c.get(t, "/api/v1/workspaces/"+key.Workspace+"/projection/opencode", &fragment)
	require.Equal(t, queried.Usable && queried.Revision == c.revision, len(fragment.MCP) > 0)
	p.check(t, w)
	if queried.Usable {
		return 1
	}
	return 0
}

func (c *consumers) get(t *rapid.T, path string, out any) {
	request := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://127.0.0.1"+path, nil)
	answer := httptest.NewRecorder()
	c.handler.ServeHTTP(answer, request)
	require.Equal(t, http.StatusOK, answer.Code, answer.Body.String())
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), out))
}
