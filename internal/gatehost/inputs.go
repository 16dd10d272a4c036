package gatehost

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
)

const (
	// modernProtocol is the first revision whose clients answer questions by repeating their request.
	modernProtocol = "2026-07-28"
	// stateGrace is how long a state is taken after its pause's deadline: the outcome can still be read by it.
	stateGrace = time.Hour
)

// state is what a client of the stateless protocol carries to its next request. It says where the run is and decides nothing: the pause
// takes one decision, however often a state is sent.
type state struct {
	Pause string    `json:"pause"`
	Until time.Time `json:"until"`
}

// told is an answer as a result; to a client that can be asked, a pause is a question.
func (s *serving) told(req *mcp.CallToolRequest, who executions.Caller, report executions.Report, err error) (*mcp.CallToolResult, error) {
	if err == nil && report.Status == executions.StatusPaused && !report.Refused && report.Pause != nil && report.Conflict == nil {
		asked, err := s.ask(req, who, report)
		if asked != nil || err != nil {
			return asked, err
		}
	}
	return render(who, report, err)
}

// ask puts a pause to the client as a question; nil where it cannot be asked.
func (s *serving) ask(req *mcp.CallToolRequest, who executions.Caller, report executions.Report) (*mcp.CallToolResult, error) {
	question, ok := s.question(req, who, report)
	if !ok {
		return nil, nil //nolint:nilnil // no question is no error
	}
	sealed, err := s.seal(who, req, state{Pause: report.Pause.ID, Until: report.Pause.Deadline.Add(stateGrace)})
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{report.Pause.ID: question}, RequestState: sealed}, nil
}

// question is a form where the client itself may answer, and else a link to the page.
func (s *serving) question(req *mcp.CallToolRequest, who executions.Caller, report executions.Report) (*mcp.ElicitParams, bool) {
	can := elicits(req)
	if s.meta.Session != "" || can == nil {
		return nil, false
	}
	request, message := report.Pause.Request, payload.Message(report.Address, report.Pause.Request, report.Arguments)
	switch {
	case who.Mode == approval.ModeBrowser || !report.ModelMayAnswer:
		return &mcp.ElicitParams{
			Mode: "url", Message: message, URL: payload.ApprovalURL(who.Origin, report.Pause.ID), ElicitationID: report.Pause.ID,
		}, can.URL != nil
	case request.Kind == approval.KindURL:
		return &mcp.ElicitParams{Mode: "url", Message: message, URL: request.URL, ElicitationID: report.Pause.ID}, can.URL != nil
	default:
		schema := request.Schema
		if len(schema) == 0 {
			schema = payload.EmptySchema()
		}
		return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: schema}, can.Form != nil || can.URL == nil
	}
}

// elicits is what this request says that its client can be asked; nil: nothing, or it is no client of the stateless protocol.
func elicits(req *mcp.CallToolRequest) *mcp.ElicitationCapabilities {
	if version, _ := req.Params.Meta[mcp.MetaKeyProtocolVersion].(string); version < modernProtocol {
		return nil
	}
	raw, err := json.Marshal(req.Params.Meta[mcp.MetaKeyClientCapabilities])
	if err != nil {
		return nil
	}
	var can struct {
		Elicitation *mcp.ElicitationCapabilities `json:"elicitation"`
	}
	if json.Unmarshal(raw, &can) != nil {
		return nil
	}
	return can.Elicitation
}

// answered goes on with a request that comes back with an answer.
func (s *serving) answered(ctx context.Context, req *mcp.CallToolRequest, who executions.Caller) (*mcp.CallToolResult, error) {
	carried, ok := s.unseal(who, req)
	if !ok {
		return result(payload.BadArguments(ToolExecute, "requestState is not of this call, or too old: make the call without it")), nil
	}
	answer := executions.Answer{ID: carried.Pause, Release: mcpserver.Draining(ctx)}
	if reply, _ := req.Params.InputResponses[carried.Pause].(*mcp.ElicitResult); reply != nil {
		paused, err := s.Engine.Lookup(ctx, who, carried.Pause)
		if err != nil {
			return render(who, executions.Report{}, err)
		}
		if question, asked := s.question(req, who, paused); asked && paused.Status == executions.StatusPaused {
			if answer, ok = answerOf(answer, question, paused, reply); !ok {
				return render(who, paused, nil) // nobody opens the page from here: the client is told plainly
			}
		}
	}
	report, err := s.Engine.Resume(ctx, who, answer)
	return s.told(req, who, report, err)
}

// answerOf reads a reply. Having opened the approval page is no decision; refusing to is none either, and ok is false.
func answerOf(answer executions.Answer, question *mcp.ElicitParams, paused executions.Report, reply *mcp.ElicitResult) (executions.Answer, bool) {
	if !paused.ModelMayAnswer || question.Mode == "url" && paused.Pause.Request.Kind != approval.KindURL {
		return answer, reply.Action == string(approval.ActionAccept)
	}
	answer.Action = approval.Action(reply.Action)
	if answer.Action == approval.ActionAccept && len(reply.Content) > 0 {
		if raw, err := json.Marshal(reply.Content); err == nil {
			answer.Content = raw
		}
	}
	return answer, true
}

func (s *serving) seal(who executions.Caller, req *mcp.CallToolRequest, carried state) (string, error) {
	plain, err := json.Marshal(carried)
	if err != nil {
		return "", fmt.Errorf("seal state of request: %w", err)
	}
	bound, err := binding(who, req)
	if err != nil {
		return "", fmt.Errorf("seal state of request: %w", err)
	}
	sealed, err := s.AEAD.Encrypt(plain, bound)
	if err != nil {
		return "", fmt.Errorf("seal state of request: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// unseal takes only what was sealed for this identity and this very call, and is not too old.
func (s *serving) unseal(who executions.Caller, req *mcp.CallToolRequest) (carried state, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(req.Params.RequestState)
	if err != nil {
		return state{}, false
	}
	bound, err := binding(who, req)
	if err != nil {
		return state{}, false
	}
	plain, err := s.AEAD.Decrypt(sealed, bound)
	if err != nil || json.Unmarshal(plain, &carried) != nil {
		return state{}, false
	}
	return carried, time.Now().Before(carried.Until)
}

// binding is the identity and the digest of the request that a state belongs to.
func binding(who executions.Caller, req *mcp.CallToolRequest) ([]byte, error) {
	canonical, err := policy.Canonical(req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	parts := []string{"holdfast/request-state/1", who.Identity.Account, who.Identity.Organisation, policy.Digest(req.Params.Name, canonical, "")}
	return json.Marshal(parts)
}
