package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	protocolStateless = "2026-07-28" // the first in which a request says all about its client
	methodCall        = "tools/call"
	methodCancelled   = "notifications/cancelled"

	plainChunk    = 8 << 10
	withdrawLimit = 5 * time.Second
	// endLimit bounds the wait for the end of a stream whose answer is there.
	endLimit = 2 * time.Second
)

// errNotPlain means that an answer needs the whole MCP client: it asks something, or breaks off.
var errNotPlain = errors.New("the answer is no plain result")

// plain makes a call with one request, without the MCP client between. The client takes each message apart several times, and costs a
// gateway more than everything else in a short call. It is for tools that may be called again: whatever is no plain answer is left to the
// client, which then makes the call anew, and handled is false.
func (s *session) plain(ctx context.Context, name string, request CallRequest) (result *mcp.CallToolResult, handled bool, err error) {
	agreed, a := s.client.InitializeResult(), attemptOf(ctx)
	if s.wire == nil || agreed == nil || a == nil || agreed.ProtocolVersion > protocolStateless {
		return nil, false, nil
	}
	id := "p" + strconv.FormatInt(s.calls.Add(1), 10)
	post, err := s.post(ctx, agreed.ProtocolVersion, plainMessage{ID: id, Method: methodCall, Params: plainParams(agreed.ProtocolVersion, name, request)})
	if err != nil {
		return nil, false, nil //nolint:nilerr // the client says what is wrong
	}
	answer, err := s.answer(post, a, id)
	switch {
	case ctx.Err() != nil:
		if agreed.ProtocolVersion < protocolStateless { // there the end of the connection says it
			s.withdraw(agreed.ProtocolVersion, id)
		}
		return nil, true, ctx.Err()
	case errors.Is(err, errNotPlain):
		return nil, false, nil
	case err != nil:
		return nil, true, err
	case answer.Error != nil:
		return nil, true, answer.Error
	}
	if result = plainResult(answer.Result); result == nil {
		return nil, false, nil
	}
	a.setResult(answer.Result)
	return result, true, nil
}

// plainResult reads of a result what is needed here; nil: it is none, or not the last word.
func plainResult(raw json.RawMessage) *mcp.CallToolResult {
	var read struct {
		Content    *[]json.RawMessage `json:"content"`
		Structured json.RawMessage    `json:"structuredContent"`
		IsError    bool               `json:"isError"`
		Type       string             `json:"resultType"`
	}
	if json.Unmarshal(raw, &read) != nil || read.Content == nil && read.Structured == nil || read.Type == "input_required" {
		return nil
	}
	result := &mcp.CallToolResult{IsError: read.IsError}
	if read.Content != nil {
		result.Content = make([]mcp.Content, len(*read.Content))
	}
	if len(read.Structured) > 0 {
		result.StructuredContent = read.Structured
	}
	return result
}

type plainMessage struct {
	Version string `json:"jsonrpc"`
	ID      string `json:"id,omitempty"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// plainCall are the parameters of a call.
type plainCall struct {
	Meta      map[string]any  `json:"_meta,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func plainParams(protocol, name string, request CallRequest) plainCall {
	params := plainCall{Name: name, Arguments: request.Arguments}
	if len(params.Arguments) == 0 {
		params.Arguments = json.RawMessage("{}")
	}
	if protocol >= protocolStateless {
		params.Meta = map[string]any{
			mcp.MetaKeyProtocolVersion: protocol, mcp.MetaKeyClientInfo: implementation(), mcp.MetaKeyClientCapabilities: capabilities(),
		}
	}
	if request.Key != "" {
		if params.Meta == nil {
			params.Meta = map[string]any{}
		}
		params.Meta[KeyMeta] = request.Key
	}
	return params
}

// post is the HTTP request of a message.
func (s *session) post(ctx context.Context, protocol string, message plainMessage) (*http.Request, error) {
	message.Version = "2.0"
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, s.wire.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := post.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Mcp-Protocol-Version", protocol)
	if id := s.client.ID(); id != "" {
		h.Set("Mcp-Session-Id", id)
	}
	if call, ok := message.Params.(plainCall); ok && protocol >= protocolStateless {
		h.Set("Mcp-Method", message.Method)
		h.Set("Mcp-Name", call.Name)
	}
	s.wire.bear(h)
	return post, nil
}

// withdraw tells the source that nobody waits for a call any longer.
func (s *session) withdraw(protocol, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawLimit)
	defer cancel()
	post, err := s.post(ctx, protocol, plainMessage{Method: methodCancelled, Params: map[string]string{"requestId": id, "reason": "nobody waits"}})
	if err != nil {
		return
	}
	if response, err := s.wire.base.RoundTrip(post); err == nil {
		_ = response.Body.Close()
	}
}

type plainAnswer struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc.Error  `json:"error"`
}

// answer sends a call and waits for its answer.
func (s *session) answer(post *http.Request, a *attempt, id string) (plainAnswer, error) {
	response, err := s.wire.follow(post, a)
	if err != nil {
		return plainAnswer{}, err
	}
	if response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		return plainAnswer{}, s.refused(response, a)
	}
	if !a.isEvents() {
		defer func() { _ = response.Body.Close() }()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return plainAnswer{}, errNotPlain
		}
		var answer plainAnswer
		if json.Unmarshal(a.bytes(), &answer) != nil || !answer.is(id) {
			return plainAnswer{}, errNotPlain
		}
		return answer, nil
	}
	answer, ended, err := answerOfEvents(response.Body, a, id)
	if ended || err != nil {
		_ = response.Body.Close()
		return answer, err
	}
	// The connection is used again once the end of the stream was read, which comes just behind the answer.
	s.ending.Go(func() {
		late := time.AfterFunc(endLimit, func() { _ = response.Body.Close() })
		defer late.Stop()
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	})
	return answer, nil
}

// refused is what an answer means that HTTP calls no success, as the client has it: a proxy's word for a busy or absent source is none
// of the source's, and other words may be.
func (s *session) refused(response *http.Response, a *attempt) error {
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return errors.New(http.StatusText(response.StatusCode))
	}
	var answer plainAnswer
	if _, err := io.Copy(io.Discard, response.Body); err == nil && json.Unmarshal(a.bytes(), &answer) == nil && answer.Error != nil {
		return answer.Error
	}
	if response.StatusCode == http.StatusNotFound && s.stateful() {
		return mcp.ErrSessionMissing
	}
	return errors.New(http.StatusText(response.StatusCode))
}

// is reports whether this is the answer to a request.
func (p *plainAnswer) is(id string) bool {
	return p.Method == nil && string(p.ID) == strconv.Quote(id) && (p.Result != nil || p.Error != nil)
}

// answerOfEvents reads server-sent events up to the answer. Notifications may come before it; a question is not for here.
func answerOfEvents(body io.Reader, a *attempt, id string) (answer plainAnswer, ended bool, err error) {
	chunk := make([]byte, plainChunk)
	for read := 0; ; {
		n, err := body.Read(chunk)
		if stream := a.bytes(); n > 0 && endsEvent(stream) {
			for _, data := range dataOf(stream[read:]) {
				var message plainAnswer
				switch {
				case json.Unmarshal(data, &message) != nil, message.Method != nil && message.ID != nil:
					return plainAnswer{}, false, errNotPlain
				case message.is(id):
					return message, err != nil, nil
				}
			}
			read = len(stream)
		}
		if err != nil {
			return plainAnswer{}, true, errNotPlain
		}
	}
}

func endsEvent(stream []byte) bool {
	return bytes.HasSuffix(stream, []byte("\n\n")) || bytes.HasSuffix(stream, []byte("\n\r\n"))
}
