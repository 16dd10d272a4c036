package gatehost

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
	"github.com/holdfast-mcp/holdfast/internal/executions"
)

// block is content of an upstream, passed on byte by byte: with whatever it has that we do not know of.
type block struct {
	mcp.Content
	raw json.RawMessage
}

// MarshalJSON implements [json.Marshaler].
func (b block) MarshalJSON() ([]byte, error) { return b.raw, nil }

// render is an answer of the engine as a tool's result: the upstream's own content where there is an answer of the upstream.
func render(who executions.Caller, report executions.Report, err error) (*mcp.CallToolResult, error) {
	rendered, ok := executions.Render(who, report, err)
	if !ok {
		return nil, err
	}
	out := result(rendered)
	if err != nil || report.Conflict != nil || report.Outcome == nil || report.Outcome.Kind != approval.OutcomeCompleted {
		return out, nil
	}
	return passed(out, executions.ToolResult(report.Result), executions.Note(report)), nil
}

func passed(out *mcp.CallToolResult, upstream payload.ToolResult, note string) *mcp.CallToolResult {
	if len(upstream.Meta) > 0 {
		_ = json.Unmarshal(upstream.Meta, &out.Meta) // whatever is no object is left away
	}
	if len(upstream.Content) == 0 {
		return out
	}
	out.Content = make([]mcp.Content, 0, len(upstream.Content)+1)
	for _, raw := range upstream.Content {
		out.Content = append(out.Content, block{Content: &mcp.TextContent{}, raw: raw})
	}
	if note != "" {
		out.Content = append(out.Content, &mcp.TextContent{Text: "Note: " + note})
	}
	return out
}
