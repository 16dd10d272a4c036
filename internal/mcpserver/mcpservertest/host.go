package mcpservertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
)

// maxHeld bounds a call that nobody lets go.
const maxHeld = 5 * time.Minute

// Host serves the same tools to everybody. Its zero value is not usable; see [NewHost].
type Host struct {
	// Resolve, when set, is asked first.
	Resolve func(ctx context.Context, meta mcpserver.Meta) (mcpserver.Meta, error)

	built atomic.Int64

	mu    sync.Mutex
	metas []mcpserver.Meta
	gates map[string]chan struct{}
	calls map[string][]string // request names of the calls of each gate
	ended map[string]int      // how many calls of a gate were cancelled
}

// NewHost makes a host.
func NewHost() *Host {
	return &Host{gates: map[string]chan struct{}{}, calls: map[string][]string{}, ended: map[string]int{}}
}

// Built counts the servers that were built.
func (h *Host) Built() int { return int(h.built.Load()) }

// Metas are for whom servers were built, and for whom calls were handled without a session.
func (h *Host) Metas() []mcpserver.Meta {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]mcpserver.Meta(nil), h.metas...)
}

// Open lets the calls of a gate go, those too that come later.
func (h *Host) Open(gate string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.gate(gate):
	default:
		close(h.gate(gate))
	}
}

// Calls are the names of the requests that have called a gate, in their order; those that run twice under one name are there twice.
func (h *Host) Calls(gate string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.calls[gate]...)
}

// Cancelled counts the calls of a gate that were cancelled.
func (h *Host) Cancelled(gate string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended[gate]
}

// gate needs the lock.
func (h *Host) gate(name string) chan struct{} {
	if h.gates[name] == nil {
		h.gates[name] = make(chan struct{})
	}
	return h.gates[name]
}

// ResolveMeta completes nothing.
func (h *Host) ResolveMeta(ctx context.Context, meta mcpserver.Meta) (mcpserver.Meta, error) {
	if h.Resolve != nil {
		return h.Resolve(ctx, meta)
	}
	return meta, nil
}

// BuildServer makes a server with the tools echo, hold, big, steps, ask, later, who and note.
func (h *Host) BuildServer(_ context.Context, meta mcpserver.Meta) (*mcp.Server, error) {
	h.built.Add(1)
	h.serves(meta)
	server := mcp.NewServer(h.ServerInfo(), &mcp.ServerOptions{SchemaCache: schemas})
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "answers at once"}, h.echo)
	mcp.AddTool(server, &mcp.Tool{Name: "hold", Description: "answers when its gate is opened, or when the gateway stops"}, h.hold)
	mcp.AddTool(server, &mcp.Tool{Name: "big", Description: "answers with so many bytes"}, h.big)
	mcp.AddTool(server, &mcp.Tool{Name: "steps", Description: "tells so many steps, then answers"}, h.steps)
	mcp.AddTool(server, &mcp.Tool{Name: "ask", Description: "asks the client, and answers with what it says"}, h.ask)
	mcp.AddTool(server, &mcp.Tool{Name: "later", Description: "closes the stream, and answers when its gate is opened"}, h.later)
	mcp.AddTool(server, &mcp.Tool{Name: "who", Description: "tells who asks, and the name of the request"}, h.who)
	mcp.AddTool(server, &mcp.Tool{Name: "note", Description: "logs, and sends a message that belongs to no request"}, h.note)
	return server, nil
}

// ServerInfo is what its servers say of themselves.
func (h *Host) ServerInfo() *mcp.Implementation {
	return &mcp.Implementation{Name: "holdfast-test", Version: "1"}
}

// Handler has echo and hold called past the server, as hosts do whose tools are called often.
func (h *Host) Handler(meta mcpserver.Meta, tool string) mcp.ToolHandler {
	handle := map[string]func(context.Context, *mcp.CallToolRequest, Input) (output, any, error){"echo": h.echo, "hold": h.hold}[tool]
	if handle == nil {
		return nil
	}
	if meta.Session == "" {
		h.serves(meta)
	}
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in Input
		if len(req.Params.Arguments) > 0 {
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, err
			}
		}
		out, _, err := handle(ctx, req, in)
		return out, err
	}
}

func (h *Host) serves(meta mcpserver.Meta) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.metas = append(h.metas, meta)
}

var schemas = mcp.NewSchemaCache()

// Input is what all tools take.
type Input struct {
	Text string `json:"text,omitempty"`
	Gate string `json:"gate,omitempty"`
	N    int    `json:"n,omitempty"`
}

type output = *mcp.CallToolResult

func text(s string) (output, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}, nil, nil
}

func (h *Host) echo(_ context.Context, _ *mcp.CallToolRequest, in Input) (output, any, error) {
	return text(in.Text)
}

func (h *Host) hold(ctx context.Context, req *mcp.CallToolRequest, in Input) (output, any, error) {
	return h.wait(ctx, req, in)
}

func (h *Host) wait(ctx context.Context, req *mcp.CallToolRequest, in Input) (output, any, error) {
	h.mu.Lock()
	gate := h.gate(in.Gate)
	h.calls[in.Gate] = append(h.calls[in.Gate], mcpserver.RequestName(req.Extra))
	h.mu.Unlock()
	limit := time.NewTimer(maxHeld)
	defer limit.Stop()
	select {
	case <-gate:
		return text("released " + in.Gate + in.Text)
	case <-mcpserver.Draining(ctx):
		return text("pending " + in.Gate)
	case <-limit.C:
		return nil, nil, errors.New("nobody has opened the gate")
	case <-ctx.Done():
		h.mu.Lock()
		h.ended[in.Gate]++
		h.mu.Unlock()
		return nil, nil, ctx.Err()
	}
}

func (h *Host) big(ctx context.Context, req *mcp.CallToolRequest, in Input) (output, any, error) {
	if in.Gate != "" {
		if _, _, err := h.wait(ctx, req, in); err != nil {
			return nil, nil, err
		}
	}
	return text(strings.Repeat("x", in.N))
}

func (h *Host) steps(ctx context.Context, req *mcp.CallToolRequest, in Input) (output, any, error) {
	for i := range in.N {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Message: in.Text,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("tell step: %w", err)
		}
	}
	if in.Gate != "" {
		return h.wait(ctx, req, in)
	}
	return text("done")
}

func (h *Host) ask(ctx context.Context, req *mcp.CallToolRequest, in Input) (output, any, error) {
	answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{
		Message: in.Text, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("ask: %w", err)
	}
	return text(fmt.Sprint(answer.Action, " ", answer.Content["name"]))
}

func (h *Host) later(ctx context.Context, req *mcp.CallToolRequest, in Input) (output, any, error) {
	req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
	return h.wait(ctx, req, in)
}

func (h *Host) who(_ context.Context, req *mcp.CallToolRequest, _ Input) (output, any, error) {
	return text(mcpserver.PrincipalOf(req.Extra).ID + " " + mcpserver.RequestName(req.Extra))
}

func (h *Host) note(ctx context.Context, req *mcp.CallToolRequest, in Input) (output, any, error) {
	say := func(ctx context.Context, text string) error {
		//nolint:staticcheck // clients of sessions are sent logs, and the modern protocol has no sessions
		return req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: text})
	}
	if err := say(ctx, in.Text); err != nil {
		return nil, nil, err
	}
	if err := say(context.Background(), "beside "+in.Text); err != nil {
		return nil, nil, err
	}
	return text("noted")
}
