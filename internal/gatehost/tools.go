package gatehost

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
)

// The names of the tools.
const (
	ToolSearch  = "search_capabilities"
	ToolExecute = "execute_capability"
	ToolResume  = "resume"
	ToolSkills  = "skills"
)

const maxSources = 50

type handler func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)

type served struct {
	tool   *mcp.Tool
	handle handler
}

func (s *serving) tools() []served {
	no, yes := false, true
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
	acts := &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}
	return []served{
		{&mcp.Tool{
			Name: ToolSearch, Title: "Search capabilities", Annotations: reads, InputSchema: searchSchema,
			Description: "Find tools of the connected sources by words. Gives addresses, descriptions and input schemas for " + ToolExecute + "." + s.inventory(),
		}, s.search},
		{&mcp.Tool{
			Name: ToolExecute, Title: "Execute capability", Annotations: acts, InputSchema: executeSchema,
			Description: "Call a tool of a connected source by its address. Some calls wait for a person's approval: the result then says how to go on. " +
				"Read " + ToolSkills + " with name \"" + ToolExecute + "\" for the details." + s.inventory(),
		}, s.execute},
		{&mcp.Tool{
			Name: ToolResume, Title: "Resume execution", Annotations: acts, InputSchema: s.resumeSchema(), Description: s.resumeDescription(),
		}, s.resume},
		{&mcp.Tool{
			Name: ToolSkills, Title: "Skills", Annotations: reads, InputSchema: skillsSchema,
			Description: "Guides for this server. Without a name: the list of guides.",
		}, s.skills},
	}
}

var (
	searchSchema = json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string","description":"Words of what the tool should do; empty: all tools in order"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"default":12}},"additionalProperties":false}`)
	executeSchema = json.RawMessage(`{"type":"object","properties":{` +
		`"address":{"type":"string","minLength":1,"description":"<source>.<tool>, as search_capabilities gives it"},` +
		`"arguments":{"type":"object","description":"Arguments of the tool, by its input schema","default":{}}},` +
		`"required":["address"],"additionalProperties":false}`)
	skillsSchema = json.RawMessage(`{"type":"object","properties":{` +
		`"name":{"type":"string","description":"Name of a guide; exact"}},"additionalProperties":false}`)
	resumeModelSchema = json.RawMessage(`{"type":"object","properties":{` +
		`"executionId":{"type":"string","minLength":1},` +
		`"action":{"type":"string","enum":["accept","decline","cancel"],"description":"What the user decided; leave it out to wait only"},` +
		`"content":{"type":"string","default":"{}","description":"Values that were asked for, as a JSON object"}},` +
		`"required":["executionId"],"additionalProperties":false}`)
	resumeBrowserSchema = json.RawMessage(`{"type":"object","properties":{` +
		`"executionId":{"type":"string","minLength":1}},"required":["executionId"],"additionalProperties":false}`)
)

func (s *serving) resumeSchema() json.RawMessage {
	if s.meta.Mode == approval.ModeBrowser {
		return resumeBrowserSchema
	}
	return resumeModelSchema
}

func (s *serving) resumeDescription() string {
	if s.meta.Mode == approval.ModeBrowser {
		return "Go on with a paused execution: waits for the user's decision on the approval page, and gives the result. Call it again while it says that the decision or the result is pending."
	}
	return "Go on with a paused execution: hand over the user's answer (action), or only wait for a decision or a result (no action). Never decide for the user."
}

// inventory lists the sources for the model.
func (s *serving) inventory() string {
	sources := s.Catalog.Sources()
	if len(sources) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("\n\n## Available sources\n")
	for _, each := range sources[:min(len(sources), maxSources)] {
		out.WriteString("\n- " + each)
	}
	if more := len(sources) - maxSources; more > 0 {
		fmt.Fprintf(&out, "\n... %d more", more)
	}
	return out.String()
}

// guarded answers a defect by a number under which the log has its cause.
func (s *serving) guarded(name string, handle handler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if defect := recover(); defect != nil {
				result, err = s.internal(ctx, name, fmt.Errorf("panic: %v\n%s", defect, debug.Stack())), nil
			}
		}()
		result, err = handle(ctx, req)
		if err != nil {
			return s.internal(ctx, name, err), nil
		}
		return result, nil
	}
}

func (s *serving) internal(ctx context.Context, name string, cause error) *mcp.CallToolResult {
	raw := make([]byte, 4)
	_, _ = rand.Read(raw) // never fails: it would have ended the process
	number := hex.EncodeToString(raw)
	s.Log.ErrorContext(ctx, "a tool failed inside", "tool", name, "number", number, "session", s.meta.Session, "error", cause)
	return result(payload.Internal(number))
}

// result is a rendering as a tool's result.
func result(r payload.Rendered) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Text}}, StructuredContent: r.Structured, IsError: r.IsError}
}

// input reads a call's arguments.
func input(req *mcp.CallToolRequest, into any) error {
	if len(req.Params.Arguments) == 0 {
		return nil
	}
	return json.Unmarshal(req.Params.Arguments, into)
}
