package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

const (
	// KeyMeta is the entry of a call's _meta under which an upstream gets the idempotency key.
	KeyMeta = "holdfast/idempotencyKey"
	// KeyHeader is the HTTP header under which it gets it, too.
	KeyHeader = "Idempotency-Key"

	maxMessage  = 500
	maxRounds   = 3      // of a tool that sends its caller to a page before it takes the call
	rejectCode  = -32005 // of the MCP client's own refusal to send
	rejectWords = "rejected by transport"
)

// errForgotten means that an answer came from something that no longer knows the session.
var errForgotten = errors.New("the answer is empty, and the session is lost")

// outcome is what became of one request.
type outcome struct {
	result CallResult
	err    *CallError
	// lost is the session, where it was forgotten or broke, and the call may be made again in another one.
	lost *session
	// pages are what the tool wants its caller to visit before it takes the call.
	pages []approval.Request
}

// call makes a call, again where that is safe: when it is known that nothing was done, or when it may be done twice.
func (s *source) call(ctx context.Context, tool Tool, request CallRequest) (CallResult, error) {
	ctx, clock := newBudget(ctx, s.definition.timeout)
	defer clock.stop()
	defer context.AfterFunc(s.pool.dialer.life(), clock.abandon)()
	ask := s.asker(ctx, clock, request)
	var lost *session
	for round := 0; ; {
		got := s.callOnce(ctx, tool, request, lost, ask)
		switch {
		case got.lost != nil && lost == nil:
			lost = got.lost
			continue
		case got.pages != nil && ask != nil && round < maxRounds:
			round++
			if visited(got.pages, ask) {
				continue
			}
		}
		if got.err != nil {
			return CallResult{}, got.err
		}
		return got.result, nil
	}
}

func (s *source) asker(ctx context.Context, clock *budget, request CallRequest) func(approval.Request) (approval.Decision, error) {
	if request.Elicit == nil {
		return nil
	}
	return func(question approval.Request) (approval.Decision, error) {
		clock.pause()
		defer clock.resume()
		return request.Elicit(ctx, question)
	}
}

func visited(pages []approval.Request, ask func(approval.Request) (approval.Decision, error)) bool {
	for _, page := range pages {
		if decision, err := ask(page); err != nil || decision.Action != approval.ActionAccept {
			return false
		}
	}
	return true
}

func (s *source) callOnce(
	ctx context.Context, tool Tool, request CallRequest, lost *session, ask func(approval.Request) (approval.Decision, error),
) outcome {
	repeatable := tool.Repeatable()
	session, err := s.pool.get(ctx, s.pool.laneFor(repeatable, ask != nil), lost)
	if err != nil {
		return outcome{err: classify(ctx, request.Address, err, &attempt{})}
	}
	used := session.uses.Load() > 0
	a := &attempt{done: ctx.Done(), key: request.Key, ask: ask}
	if session.lane != laneShared {
		session.current.Store(a)
	}
	before := session.questions.Load()

	result, err := s.send(withAttempt(ctx, a), session, tool, request)
	if err == nil && used && session.stateful() && isEmpty(result) && !s.remembers(ctx, session, tool.Name) {
		err = errForgotten
	}
	a.end()
	session.current.Store(nil)
	got := outcome{}
	raw := a.result()
	if err != nil && refusal(err) == nil {
		if whole := wholeResult(raw); whole != nil && !errors.Is(err, errForgotten) {
			result, err = whole, nil // the client cannot read it; whoever has called may
		}
	}
	switch {
	case err != nil:
		got.err = classify(ctx, request.Address, err, a)
		got.pages = pagesOf(err)
		broken := got.err.Unknown() && got.err.Code != CodeTimeout && a.httpStatus() < http.StatusInternalServerError
		again := forgotten(err, a, session) || !got.err.Sent || repeatable && broken
		if used && again && ctx.Err() == nil {
			got.lost = session
		}
	case raw == nil:
		got.err = &CallError{Address: request.Address, Sent: true, Code: CodeProtocol, Cause: errors.New("the result was lost on the way")}
	default:
		got.result = CallResult{
			Result: raw, ToolError: result.IsError,
			Unanswered: a.wasUnanswered() || session.lane == laneShared && session.questions.Load() > before,
		}
	}
	s.pool.put(session, got.lost == nil && (got.err == nil || got.err.Answered))
	return got
}

func (s *source) send(ctx context.Context, session *session, tool Tool, request CallRequest) (*mcp.CallToolResult, error) {
	if bytes.Contains(tool.Raw, []byte(`"x-mcp-header"`)) && !session.listed.Load() {
		// The client must know which arguments the tool wants as headers.
		if _, err := list(ctx, session, map[string]json.RawMessage{}); err != nil {
			return nil, err
		}
	}
	if tool.Repeatable() && !bytes.Contains(tool.Raw, []byte(`"x-mcp-header"`)) {
		if result, handled, err := session.plain(ctx, tool.Name, request); handled {
			return result, err
		}
	}
	params := &mcp.CallToolParams{Name: tool.Name}
	if len(request.Arguments) > 0 {
		params.Arguments = request.Arguments
	}
	if request.Key != "" {
		params.Meta = mcp.Meta{KeyMeta: request.Key}
	}
	return session.client.CallTool(ctx, params)
}

// wholeResult reads of a result what is needed here; nil: it is none, or not the last word.
func wholeResult(raw json.RawMessage) *mcp.CallToolResult {
	var result struct {
		Content    *[]json.RawMessage `json:"content"`
		Structured json.RawMessage    `json:"structuredContent"`
		IsError    bool               `json:"isError"`
		Type       string             `json:"resultType"`
	}
	if json.Unmarshal(raw, &result) != nil || result.Content == nil && result.Structured == nil || result.Type == "input_required" {
		return nil
	}
	return &mcp.CallToolResult{IsError: result.IsError}
}

func isEmpty(result *mcp.CallToolResult) bool {
	return len(result.Content) == 0 && result.StructuredContent == nil && !result.IsError
}

// remembers asks a source that has answered nothing whether it still knows the session: some answer so when they have forgotten it.
func (s *source) remembers(ctx context.Context, session *session, name string) bool {
	tools, err := list(ctx, session, map[string]json.RawMessage{})
	if err != nil {
		return false
	}
	for _, raw := range tools {
		var tool wireTool
		if json.Unmarshal(raw, &tool) == nil && tool.Name == name {
			return true
		}
	}
	return false
}

// forgotten reports whether a source has refused a call since it does not know the session. The protocol has 404 for that; others
// answer that the request is bad, or cannot be processed.
func forgotten(err error, a *attempt, session *session) bool {
	if errors.Is(err, mcp.ErrSessionMissing) {
		return true
	}
	if !session.stateful() || refusal(err) != nil {
		return false
	}
	switch a.httpStatus() {
	case http.StatusNotFound, http.StatusBadRequest, http.StatusGone, http.StatusUnprocessableEntity:
		return true
	default:
		return false
	}
}

// refusal is the error that the source answered with; nil: it did not, the error is the client's own.
func refusal(err error) *jsonrpc.Error {
	var answered *jsonrpc.Error
	if !errors.As(err, &answered) || answered.Code == rejectCode && answered.Message == rejectWords {
		return nil
	}
	return answered
}

// secondHand is the code of a refusal by which a proxy tells that it got no answer itself: what became of the call behind it is not
// known. Empty: it is none of these. The numbers and words are those of the TypeScript SDK, by which most proxies are made.
func secondHand(answered *jsonrpc.Error) string {
	words := strings.ToLower(answered.Message)
	switch {
	case answered.Code == -32001 && strings.Contains(words, "timed out"):
		return CodeTimeout
	case answered.Code == -32000 && strings.Contains(words, "connection closed"):
		return CodeUnreachable
	default:
		return ""
	}
}

func classify(ctx context.Context, address string, err error, a *attempt) *CallError {
	fault := &CallError{Address: address, Sent: a.wasSent(), Cause: err}
	status := a.httpStatus()
	answered := refusal(err)
	var opening *openError
	if errors.As(err, &opening) {
		status = opening.status
		defer func() { fault.Sent = false }()
	}
	switch {
	case errors.Is(err, errForgotten):
		fault.Code = CodeProtocol
	case answered != nil && secondHand(answered) != "":
		fault.Code, fault.Sent, fault.Message = secondHand(answered), true, clip(answered.Message, maxMessage)
	case answered != nil:
		fault.Code, fault.Sent, fault.Answered, fault.Message = CodeRefused, true, true, clip(answered.Message, maxMessage)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		fault.Code, fault.Answered = CodeUnauthorized, true
	case status >= 300 && status < 500 && status != http.StatusRequestTimeout:
		fault.Code, fault.Answered = CodeRefused, true
	case ctx.Err() != nil:
		fault.Code, fault.Cause = CodeTimeout, context.Cause(ctx)
	case status >= 500 || status == http.StatusRequestTimeout, status == 0:
		fault.Code = CodeUnreachable
	default:
		fault.Code = CodeProtocol
	}
	return fault
}

// pagesOf are the pages that a refused call wants its caller to visit first; nil: it wants none.
func pagesOf(err error) []approval.Request {
	answered := refusal(err)
	if answered == nil || answered.Code != mcp.CodeURLElicitationRequired {
		return nil
	}
	var data struct {
		Elicitations []*mcp.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(answered.Data, &data) != nil {
		return nil
	}
	var pages []approval.Request
	for _, params := range data.Elicitations {
		if params == nil || params.Mode != "url" || !ofWeb(params.URL) {
			return nil
		}
		pages = append(pages, approval.Request{
			Kind: approval.KindURL, Message: params.Message, URL: params.URL, Elicitation: params.ElicitationID,
		})
	}
	return pages
}
