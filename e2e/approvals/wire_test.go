package approvals_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// wire is an MCP client that is nothing but HTTP: it does what a client that has lost everything but its session id can do.
type wire struct {
	u       *user
	base    string
	session string
	last    int
}

// wire makes a session.
func (u *user) wire(base, mode string) *wire {
	u.t.Helper()
	w := &wire{u: u, base: base}
	response := w.do(u.t.Context(), http.MethodPost, "/mcp?elicitation_mode="+mode, w.message("initialize", map[string]any{
		"protocolVersion": legacy, "capabilities": map[string]any{}, "clientInfo": map[string]string{"name": "wire", "version": "1"},
	}))
	defer func() { _ = response.Body.Close() }()
	require.Equal(u.t, http.StatusOK, response.StatusCode)
	w.session = response.Header.Get("Mcp-Session-Id")
	require.Len(u.t, w.session, 64)
	require.Contains(u.t, strings.ToLower(response.Header.Get("Access-Control-Expose-Headers")), "mcp-session-id")
	noted := w.do(u.t.Context(), http.MethodPost, "/mcp", map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	defer func() { _ = noted.Body.Close() }()
	require.Equal(u.t, http.StatusAccepted, noted.StatusCode)
	return w
}

// at is the same client at another gateway: it knows its session id and nothing else.
func (w *wire) at(base string) *wire {
	return &wire{u: w.u, base: base, session: w.session, last: 1000}
}

func (w *wire) message(method string, params any) map[string]any {
	w.last++
	return map[string]any{"jsonrpc": "2.0", "id": w.last, "method": method, "params": params}
}

func (w *wire) do(ctx context.Context, method, path string, body any, header ...string) *http.Response {
	w.u.t.Helper()
	response, err := w.try(ctx, method, path, body, header...)
	require.NoError(w.u.t, err)
	return response
}

func (w *wire) try(ctx context.Context, method, path string, body any, header ...string) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, w.base+path, content)
	if err != nil {
		return nil, err
	}
	set := []string{"Authorization", "Bearer " + w.u.token, "Accept", "application/json, text/event-stream", "Content-Type", "application/json"}
	if w.session != "" {
		set = append(set, "Mcp-Session-Id", w.session, "Mcp-Protocol-Version", legacy)
	}
	for i := 0; i+1 < len(set); i += 2 {
		request.Header.Set(set[i], set[i+1])
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	return (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}).Do(request)
}

// status is how a request of the session is answered.
func (w *wire) status(method string, params any) (status, code int) {
	w.u.t.Helper()
	ctx, cancel := context.WithTimeout(w.u.t.Context(), late)
	defer cancel()
	response := w.do(ctx, http.MethodPost, "/mcp", w.message(method, params))
	defer func() { _ = response.Body.Close() }()
	var answer rpcAnswer
	if response.StatusCode != http.StatusOK {
		require.NoError(w.u.t, json.NewDecoder(response.Body).Decode(&answer))
	}
	return response.StatusCode, answer.Error.Code
}

type rpcAnswer struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  struct {
		Code    int
		Message string
	}
}

// call calls a tool and reads the answer, whichever form it has.
func (w *wire) call(name string, arguments map[string]any, meta map[string]any) told {
	w.u.t.Helper()
	ctx, cancel := context.WithTimeout(w.u.t.Context(), late)
	defer cancel()
	var got told
	testkit.Eventually(w.u.t, late, func() bool {
		s := w.begin(ctx, name, arguments, meta)
		defer s.close()
		got = s.result()
		return got.Reason != unavailable
	}, "an answer")
	return got
}

// begin sends a call and gives the answer's stream, or its one document.
func (w *wire) begin(ctx context.Context, name string, arguments, meta map[string]any) *sse {
	w.u.t.Helper()
	params := map[string]any{"name": name, "arguments": arguments}
	if meta != nil {
		params["_meta"] = meta
	}
	response := w.do(ctx, http.MethodPost, "/mcp", w.message("tools/call", params)) //nolint:bodyclose // by whoever reads the stream
	require.Equal(w.u.t, http.StatusOK, response.StatusCode)
	return newSSE(w.u, response)
}

// listen opens a GET stream, after an event where one is given.
func (w *wire) listen(ctx context.Context, after string) *sse {
	w.u.t.Helper()
	var header []string
	if after != "" {
		header = []string{"Last-Event-Id", after}
	}
	response := w.do(ctx, http.MethodGet, "/mcp", nil, append(header, "Accept", "text/event-stream")...) //nolint:bodyclose // by whoever reads the stream
	require.Equal(w.u.t, http.StatusOK, response.StatusCode)
	return newSSE(w.u, response)
}

// event is one event of a stream, or a comment.
type event struct{ id, name, data, comment string }

// sse reads a stream of events.
type sse struct {
	u        *user
	response *http.Response
	lines    *bufio.Reader
}

func newSSE(u *user, response *http.Response) *sse {
	return &sse{u: u, response: response, lines: bufio.NewReader(response.Body)}
}

func (s *sse) close() { _ = s.response.Body.Close() }

func (s *sse) streams() bool {
	return strings.HasPrefix(s.response.Header.Get("Content-Type"), "text/event-stream")
}

// next reads one event; io.EOF at the end.
func (s *sse) next() (event, error) {
	var e event
	read := false
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" && read {
			return e, nil
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		read = read || line != ""
		switch field {
		case "":
			e.comment = value
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data += value
		}
	}
}

func (s *sse) event() event {
	s.u.t.Helper()
	e, err := s.next()
	require.NoError(s.u.t, err)
	return e
}

// answer reads on until there is the answer to a request.
func (s *sse) answer() (rpcAnswer, event) {
	s.u.t.Helper()
	for {
		e, err := s.next()
		require.NoError(s.u.t, err, "the stream ended without an answer")
		var answer rpcAnswer
		if e.data != "" && json.Unmarshal([]byte(e.data), &answer) == nil && (answer.Result != nil || answer.Error.Code != 0) {
			return answer, e
		}
	}
}

func (s *sse) result() told {
	s.u.t.Helper()
	var answer rpcAnswer
	if s.streams() {
		answer, _ = s.answer()
	} else {
		require.NoError(s.u.t, json.NewDecoder(s.response.Body).Decode(&answer))
	}
	return s.u.toldIn(answer)
}

func (u *user) toldIn(answer rpcAnswer) told {
	u.t.Helper()
	require.Zero(u.t, answer.Error.Code, answer.Error.Message)
	var result mcp.CallToolResult
	require.NoError(u.t, json.Unmarshal(answer.Result, &result))
	return toldBy(u.t, result.StructuredContent, result.Content, result.IsError)
}

func decode(t *testing.T, response *http.Response, into any) {
	t.Helper()
	defer func() { _ = response.Body.Close() }()
	require.NoError(t, json.NewDecoder(response.Body).Decode(into))
}
