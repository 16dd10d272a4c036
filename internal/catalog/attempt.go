package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// attempt is one request to a source. It goes with the request's context through the MCP client, down to the wire, and brings back what
// the client does not tell: whether anything was sent, what HTTP said, and the result as it came.
type attempt struct {
	key string // idempotency key; empty: none
	// done is the end of the context of whoever waits. What goes out after it, such as the news of that, is no part of the attempt.
	done <-chan struct{}
	// ask asks the caller; nil: nobody can be asked.
	ask func(approval.Request) (approval.Decision, error)

	asking sync.Mutex // one question at a time

	mu         sync.Mutex
	ended      bool
	sent       bool
	status     int // of HTTP; 0: no answer
	events     bool
	body       bytes.Buffer
	direct     json.RawMessage // the result, where it came without HTTP
	unanswered bool
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// attemptOf is the attempt that a context belongs to, while somebody waits for it.
func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	if a == nil || a.over() {
		return nil
	}
	return a
}

// over reports that nobody waits any longer.
func (a *attempt) over() bool {
	select {
	case <-a.done:
		return true
	default:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// end is called by whoever waited.
func (a *attempt) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
}

func (a *attempt) markSent() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = true
}

func (a *attempt) wasSent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent
}

func (a *attempt) httpStatus() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

func (a *attempt) markUnanswered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unanswered = true
}

func (a *attempt) wasUnanswered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unanswered
}

// answer begins an answer over HTTP. One that continues a stream is added to what came before.
func (a *attempt) answer(status int, events, continued bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if continued {
		return
	}
	a.status, a.events = status, events
	a.body.Reset()
}

func (a *attempt) add(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.body.Write(data)
}

// isEvents and bytes are of the last answer over HTTP. The bytes are valid until more is added.
func (a *attempt) isEvents() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.events
}

func (a *attempt) bytes() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.body.Bytes()
}

func (a *attempt) setResult(result json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.direct = result
}

// result is the JSON of the last result that came; nil: none.
func (a *attempt) result() json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.direct != nil:
		return a.direct
	case a.events:
		return resultOfEvents(a.body.Bytes())
	default:
		return resultOf(a.body.Bytes())
	}
}

// resultOf is the result in a message; nil: it is no answer. The MCP client has seen that the message is valid.
func resultOf(message []byte) json.RawMessage {
	var answer struct {
		Result json.RawMessage `json:"result"`
		Method *string         `json:"method"`
	}
	if len(message) == 0 || json.Unmarshal(message, &answer) != nil || answer.Method != nil {
		return nil
	}
	return answer.Result
}

// resultOfEvents looks for the result among server-sent events: requests and notifications may come before it.
func resultOfEvents(stream []byte) json.RawMessage {
	var result json.RawMessage
	for _, data := range dataOf(stream) {
		if found := resultOf(data); found != nil {
			result = found
		}
	}
	return result
}

// dataOf are the messages of server-sent events, the last one also where the stream breaks off behind it.
func dataOf(stream []byte) (found [][]byte) {
	var data []byte
	for len(stream) > 0 {
		var line []byte
		line, stream, _ = bytes.Cut(stream, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		field, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(line) == 0:
			if len(data) > 0 {
				found = append(found, data)
			}
			data = nil
		case string(field) != "data":
		case data == nil:
			data = bytes.TrimPrefix(value, []byte(" "))
		default:
			data = append(append(bytes.Clone(data), '\n'), bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
	if len(data) > 0 {
		found = append(found, data)
	}
	return found
}

// clip bounds what an upstream says.
func clip(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
