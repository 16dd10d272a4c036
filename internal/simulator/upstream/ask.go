package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// PageURL is where ask_url sends its caller.
const PageURL = "https://upstream.example/authorize"

const (
	actionAccept = "accept"
	askName      = "name"
	askColour    = "colour"
)

func (s *Server) askTwice(ctx context.Context, r *mcp.CallToolRequest, _ arguments) (*mcp.CallToolResult, error) {
	given := map[string]string{}
	for _, what := range []string{askName, askColour} {
		answer, question, err := s.ask(ctx, r, what, given)
		if question != nil || err != nil {
			return question, err
		}
		if answer.Action != actionAccept {
			return text(fmt.Sprintf("%s: %s", what, answer.Action)), nil
		}
		given[what] = fmt.Sprint(answer.Content["value"])
	}
	s.write(given[askName], given[askColour], keyOf(r))
	return text(fmt.Sprintf("%s likes %s", given[askName], given[askColour])), nil
}

// ask gives the answer to one question. Where the protocol has it that way, it gives the result that puts the question instead, with
// what is known so far as the state to come back with.
func (s *Server) ask(ctx context.Context, r *mcp.CallToolRequest, what string, given map[string]string) (
	*mcp.ElicitResult, *mcp.CallToolResult, error,
) {
	question := &mcp.ElicitParams{
		Mode: "form", Message: "What " + what + "?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}`),
	}
	if !s.options.Stateless {
		answer, err := s.elicit(ctx, r, question)
		if err != nil {
			return nil, nil, fmt.Errorf("ask for %s: %w", what, err)
		}
		s.answered(answer.Action)
		return answer, nil, nil
	}
	known := map[string]string{}
	_ = json.Unmarshal([]byte(r.Params.RequestState), &known) // what is no state is a first call
	if value, has := known[what]; has {
		return &mcp.ElicitResult{Action: actionAccept, Content: map[string]any{"value": value}}, nil, nil
	}
	if answer, has := r.Params.InputResponses[what].(*mcp.ElicitResult); has {
		s.answered(answer.Action)
		return answer, nil, nil
	}
	state, err := json.Marshal(given)
	if err != nil {
		return nil, nil, fmt.Errorf("keep answers: %w", err)
	}
	return nil, &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{what: question}, RequestState: string(state)}, nil
}

// elicit waits for an answer until the server closes: a caller that has gone is not noticed.
func (s *Server) elicit(ctx context.Context, r *mcp.CallToolRequest, question *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ending, cancel)()
	return r.Session.Elicit(ctx, question)
}

func (s *Server) askURL(ctx context.Context, r *mcp.CallToolRequest, _ arguments) (*mcp.CallToolResult, error) {
	question := &mcp.ElicitParams{Mode: "url", Message: "Authorize the upstream.", URL: PageURL, ElicitationID: "authorize-1"}
	if s.options.Stateless {
		answer, has := r.Params.InputResponses["page"].(*mcp.ElicitResult)
		if !has {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"page": question}}, nil
		}
		s.answered(answer.Action)
		return text("page: " + answer.Action), nil
	}
	answer, err := s.elicit(ctx, r, question)
	if err != nil {
		return nil, fmt.Errorf("send to a page: %w", err)
	}
	s.answered(answer.Action)
	return text("page: " + answer.Action), nil
}
