package gatehost

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
)

// MetaIdempotencyKey is the key of a call's _meta by which a client names the call: under the same name it is made once.
const MetaIdempotencyKey = "holdfast/idempotencyKey"

type executeInput struct {
	Address   string          `json:"address"`
	Arguments json.RawMessage `json:"arguments"`
}

func (s *serving) execute(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in executeInput
	if input(req, &in) != nil || in.Address == "" {
		return result(payload.BadArguments(ToolExecute, "address is a string and is needed, arguments is an object")), nil
	}
	if refused := s.mayAct(req); refused != nil {
		return refused, nil
	}
	who := s.caller(req)
	if req.Params.RequestState != "" {
		return s.answered(ctx, req, who)
	}
	report, err := s.Engine.Execute(ctx, who, executions.Call{Address: in.Address, Arguments: in.Arguments, Request: nameOf(req), Release: mcpserver.Draining(ctx)})
	return s.told(req, who, report, err)
}

// nameOf is by which name the call is made once: the client's own, or that of the request, which is the same when another replica takes
// it over.
func nameOf(req *mcp.CallToolRequest) string {
	if key, _ := req.Params.Meta[MetaIdempotencyKey].(string); key != "" {
		return "key:" + key
	}
	if name := mcpserver.RequestName(req.Extra); name != "" {
		return "mcp:" + name
	}
	return ""
}

type resumeInput struct {
	ExecutionID string          `json:"executionId"`
	Action      approval.Action `json:"action"`
	Content     json.RawMessage `json:"content"`
}

func (s *serving) resume(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in resumeInput
	if input(req, &in) != nil || in.ExecutionID == "" {
		return result(payload.BadArguments(ToolResume, "executionId is a string and is needed")), nil
	}
	answer := executions.Answer{ID: in.ExecutionID, Release: mcpserver.Draining(ctx)}
	if s.meta.Mode == approval.ModeModel {
		if in.Action != "" && !in.Action.Valid() {
			return result(payload.BadArguments(ToolResume, "action is accept, decline or cancel")), nil
		}
		answer.Action = in.Action
		if in.Action == approval.ActionAccept {
			answer.Content = content(in.Content)
		}
	}
	if refused := s.mayAct(req); refused != nil && answer.Action != "" {
		return refused, nil
	}
	who := s.caller(req)
	report, err := s.Engine.Resume(ctx, who, answer)
	return s.told(req, who, report, err)
}

// content reads what a model writes as content: a JSON object within a string, or the object itself. Whatever else it writes is no
// content and no error.
func content(raw json.RawMessage) json.RawMessage {
	text := ""
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || len(object) == 0 {
		return nil
	}
	return raw
}
