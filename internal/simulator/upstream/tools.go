package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxSlow = 10 * time.Minute
	maxBig  = 64 << 20
)

// The names of the tools.
const (
	Echo     = "echo"      // read-only: answers its arguments
	Put      = "put"       // destructive: one effect
	Save     = "save"      // idempotent, not destructive: one effect
	Add      = "add"       // neither destructive nor idempotent: one effect
	Plain    = "plain"     // no hints at all
	AskTwice = "ask_twice" // asks for a name, then for a colour; one effect when both are given
	AskURL   = "ask_url"   // sends its caller to a page
	Big      = "big"       // read-only: answers as many bytes as it is told
	Slow     = "slow"      // read-only: waits for milliseconds, or until it is released
	Fail     = "fail"      // fails in the way it is told: tool, rpc or empty
)

// arguments are of all tools: each takes what it needs.
type arguments struct {
	Text         string `json:"text"`
	Name         string `json:"name"`
	Value        string `json:"value"`
	Bytes        int    `json:"bytes"`
	Milliseconds int    `json:"milliseconds"`
	How          string `json:"how"`
}

type handler func(ctx context.Context, r *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error)

func (s *Server) addTools() {
	truth := func(value bool) *bool { return &value }
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: truth(false)}
	destructive := &mcp.ToolAnnotations{DestructiveHint: truth(true)}
	const written = `"name":{"type":"string","minLength":1},"value":{"type":"string"}`
	s.add(&mcp.Tool{Name: Echo, Title: "Echo", Description: "Answers with its text.", Annotations: readOnly},
		`"text":{"type":"string"}`, "text", s.echo)
	s.add(&mcp.Tool{Name: Put, Description: "Writes a value, and counts it.", Annotations: destructive}, written, "name", s.put)
	s.add(&mcp.Tool{
		Name: Save, Description: "Writes a value; twice is as good as once.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: truth(false), IdempotentHint: true},
	}, written, "name", s.put)
	s.add(&mcp.Tool{
		Name: Add, Description: "Adds a value to what is there.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: truth(false)},
	}, written, "name", s.put)
	s.add(&mcp.Tool{Name: Plain, Description: "Says nothing of itself."}, written, "name", s.put)
	s.add(&mcp.Tool{Name: AskTwice, Description: "Asks for a name and a colour.", Annotations: destructive}, "", "", s.askTwice)
	s.add(&mcp.Tool{Name: AskURL, Description: "Sends its caller to a page.", Annotations: destructive}, "", "", s.askURL)
	s.add(&mcp.Tool{Name: Big, Description: "Answers much.", Annotations: readOnly},
		`"bytes":{"type":"integer","minimum":0}`, "bytes", s.big)
	s.add(&mcp.Tool{Name: Slow, Description: "Takes its time.", Annotations: readOnly},
		`"milliseconds":{"type":"integer"},"name":{"type":"string"}`, "", s.slow)
	s.add(&mcp.Tool{Name: Fail, Description: "Fails.", Annotations: readOnly}, `"how":{"enum":["tool","rpc","empty"]}`, "how", s.fail)
}

func (s *Server) add(tool *mcp.Tool, properties, required string, handle handler) {
	list := "[]"
	if required != "" {
		list = `["` + required + `"]`
	}
	tool.InputSchema = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":%s}`, properties, list))
	s.mcp.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.mu.Lock()
		s.counts.Calls[tool.Name]++
		if r.Extra != nil && r.Extra.Header.Get(HeaderKey) != "" {
			s.counts.Headers++
		}
		s.mu.Unlock()
		var a arguments
		if len(r.Params.Arguments) > 0 {
			if err := json.Unmarshal(r.Params.Arguments, &a); err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "arguments do not fit"}
			}
		}
		return handle(ctx, r, a)
	})
}

func (s *Server) echo(_ context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
	return text(a.Text), nil
}

func (s *Server) put(_ context.Context, r *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
	half := time.Duration(0)
	if s.options.Takes != nil {
		half = s.options.Takes() / 2
	}
	<-time.After(half)
	defer func() { <-time.After(half) }()
	if !s.write(a.Name, a.Value, keyOf(r)) {
		return text("had " + a.Name), nil
	}
	return text("wrote " + a.Name), nil
}

func (s *Server) big(_ context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
	return text(strings.Repeat("x", min(max(a.Bytes, 0), maxBig))), nil
}

func (s *Server) slow(ctx context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
	s.mu.Lock()
	gate := s.gate(a.Name)
	s.mu.Unlock()
	limit := time.Duration(a.Milliseconds) * time.Millisecond
	if limit <= 0 || limit > maxSlow {
		limit = maxSlow
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-gate:
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return text("done"), nil
}

func (s *Server) fail(_ context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
	switch a.How {
	case "tool":
		failed := text("it failed")
		failed.IsError = true
		return failed, nil
	case "empty":
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	default:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "it failed"}
	}
}

func text(value string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: value}}}
}

// ServeHTTP lets another server host this one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes().ServeHTTP(w, r) }
