package gatehost_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
)

const (
	key    = "0123456789abcdef0123456789abcdef"
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// engine answers as it is told, and notes what it is asked.
type engine struct {
	executions.Engine
	mu      sync.Mutex
	execute func(executions.Caller, executions.Call) (executions.Report, error)
	resume  func(executions.Caller, executions.Answer) (executions.Report, error)
	lookup  func(id string) (executions.Report, error)
	calls   []executions.Call
	answers []executions.Answer
	callers []executions.Caller
}

func (e *engine) Execute(_ context.Context, who executions.Caller, call executions.Call) (executions.Report, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls, e.callers = append(e.calls, call), append(e.callers, who)
	return e.execute(who, call)
}

func (e *engine) Resume(_ context.Context, who executions.Caller, answer executions.Answer) (executions.Report, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers = append(e.answers, answer)
	return e.resume(who, answer)
}

func (e *engine) Lookup(_ context.Context, _ executions.Caller, id string) (executions.Report, error) {
	return e.lookup(id)
}

// shelf is a catalog to search in.
type shelf struct {
	catalog.Catalog
	tools   []catalog.Tool
	sources []string
}

func (s shelf) Sources() []string { return s.sources }

func (s shelf) Search(context.Context, string, int) ([]catalog.Hit, error) {
	var hits []catalog.Hit
	for _, tool := range s.tools {
		hits = append(hits, catalog.Hit{Tool: tool})
	}
	return hits, nil
}

type rig struct {
	t      *testing.T
	engine *engine
	params gatehost.Params
	meta   mcpserver.Meta
}

func newRig(t *testing.T, mode approval.Mode) *rig {
	t.Helper()
	owned, err := keys.Open(filepath.Join(t.TempDir(), "keys"))
	require.NoError(t, err)
	r := &rig{t: t, engine: &engine{}}
	r.params = gatehost.Params{
		Engine: r.engine, Catalog: shelf{sources: []string{"github", "mail"}}, AEAD: owned.AEAD(), Log: slog.New(slog.DiscardHandler),
		Policy: func(context.Context) executions.Policy { return executions.Policy{} },
	}
	r.meta = mcpserver.Meta{
		Principal: auth.Principal{ID: "token:1", Name: "Ada", Role: auth.RoleCollaborator, Identity: approval.Identity{Account: "ada", Organisation: "acme"}},
		Mode:      mode, Origin: "https://gate.example", Client: "tests 1",
	}
	return r
}

// connect gives a client of the protocol; every question put to it is answered by elicit.
func (r *rig) connect(protocol string, elicit func(*mcp.ElicitParams) *mcp.ElicitResult) *mcp.ClientSession {
	r.t.Helper()
	return r.connectWith(protocol, elicit, &mcp.ClientOptions{})
}

// connectRaw gives a client that could be asked and leaves questions to the test.
func (r *rig) connectRaw() *mcp.ClientSession {
	r.t.Helper()
	options := &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}}
	return r.connectWith(modern, func(*mcp.ElicitParams) *mcp.ElicitResult { return nil }, options)
}

func (r *rig) connectWith(protocol string, elicit func(*mcp.ElicitParams) *mcp.ElicitResult, options *mcp.ClientOptions) *mcp.ClientSession {
	r.t.Helper()
	host := gatehost.New(r.params)
	meta, err := host.ResolveMeta(r.t.Context(), r.meta)
	require.NoError(r.t, err)
	server, err := host.BuildServer(r.t.Context(), meta)
	require.NoError(r.t, err)
	ours, theirs := mcp.NewInMemoryTransports()
	served, err := server.Connect(r.t.Context(), ours, nil)
	require.NoError(r.t, err)
	if elicit != nil {
		options.ElicitationHandler = func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return elicit(req.Params), nil
		}
		options.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}}
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "tests", Version: "1"}, options).
		Connect(r.t.Context(), theirs, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	require.NoError(r.t, err)
	r.t.Cleanup(func() {
		_ = client.Close()
		_ = served.Wait()
	})
	return client
}

func (r *rig) call(client *mcp.ClientSession, name string, arguments any) *mcp.CallToolResult {
	r.t.Helper()
	result, err := client.CallTool(r.t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(r.t, err)
	return result
}

func text(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	require.NotEmpty(t, result.Content)
	first, ok := result.Content[0].(*mcp.TextContent)
	require.True(t, ok)
	return first.Text
}

func fields(t *testing.T, result *mcp.CallToolResult) map[string]any {
	t.Helper()
	out, ok := result.StructuredContent.(map[string]any)
	require.True(t, ok)
	return out
}

func completed(result string) (executions.Report, error) {
	return executions.Report{
		Status: executions.StatusCompleted, Address: "github.get", Outcome: &approval.Outcome{Kind: approval.OutcomeCompleted}, Result: json.RawMessage(result),
	}, nil
}
