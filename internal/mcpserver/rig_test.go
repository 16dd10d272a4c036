package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const within = time.Minute

// peer is an MCP client that knows no more than HTTP.
type peer struct {
	t        *testing.T
	token    string
	url      string
	session  string
	protocol string
	client   *http.Client
}

func newPeer(t *testing.T, url string) *peer {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &peer{t: t, token: "ann", url: url, protocol: "2025-11-25", client: &http.Client{Transport: transport}}
}

func (p peer) at(url string) *peer { p.url = url; return &p }

func (p peer) as(token string) *peer { p.token = token; return &p }

// request makes a request as a client of the protocol does.
func (p *peer) request(ctx context.Context, method, body string) *http.Request {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, p.url, strings.NewReader(body))
	require.NoError(p.t, err)
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if p.token != "" {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	if p.session != "" {
		r.Header.Set("Mcp-Session-Id", p.session)
		r.Header.Set("Mcp-Protocol-Version", p.protocol)
	}
	return r
}

// answer is a response whose body was read.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

func (p *peer) do(r *http.Request) answer {
	p.t.Helper()
	response, err := p.client.Do(r)
	require.NoError(p.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return answer{t: p.t, status: response.StatusCode, header: response.Header, body: string(body)}
}

func (p *peer) post(body string) answer {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), within)
	defer cancel()
	return p.do(p.request(ctx, http.MethodPost, body))
}

func (p *peer) send(method, body string) answer {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), within)
	defer cancel()
	return p.do(p.request(ctx, method, body))
}

func initializeBody(protocol string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{"elicitation":{}},"clientInfo":{"name":"peer","version":"1"}}}`, protocol)
}

// initialize makes a session.
func (p *peer) initialize() answer {
	p.t.Helper()
	a := p.post(initializeBody(p.protocol))
	require.Equal(p.t, http.StatusOK, a.status, a.body)
	p.session = a.header.Get("Mcp-Session-Id")
	require.Len(p.t, p.session, 64)
	require.Equal(p.t, http.StatusAccepted, p.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).status)
	return a
}

func call(id any, tool string, arguments any) string {
	raw, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": arguments, "_meta": map[string]any{"progressToken": "p"}},
	})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

type object = map[string]any

func (a answer) requireError(status, code int) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, a.body)
	var body struct {
		JSONRPC string
		Error   struct {
			Code    int
			Message string
		}
		ID any
	}
	require.NoError(a.t, json.Unmarshal([]byte(a.body), &body), a.body)
	require.Equal(a.t, "2.0", body.JSONRPC)
	require.Equal(a.t, code, body.Error.Code, a.body)
	require.NotEmpty(a.t, body.Error.Message)
	require.Contains(a.t, a.body, `"id":null`)
	return a
}

// frame is one event of a stream, or a comment.
type frame struct {
	id, event, data, retry, comment string
	hasData                         bool
}

// stream is an open answer.
type stream struct {
	t        *testing.T
	response *http.Response
	frames   chan frame
	cancel   context.CancelFunc
}

// open asks for a stream and reads it until it is closed.
func (p *peer) open(method, body, last string) *stream {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	p.t.Cleanup(cancel)
	r := p.request(ctx, method, body)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	response, err := p.client.Do(r)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = response.Body.Close() })
	s := &stream{t: p.t, response: response, frames: make(chan frame, 1000), cancel: cancel}
	require.Equal(p.t, http.StatusOK, response.StatusCode)
	require.Equal(p.t, "text/event-stream", response.Header.Get("Content-Type"))
	go s.read()
	return s
}

func (s *stream) read() {
	defer close(s.frames)
	defer s.response.Body.Close()
	scanner := bufio.NewScanner(s.response.Body)
	scanner.Buffer(nil, 32<<20)
	var f frame
	filled := false
	for scanner.Scan() {
		line := scanner.Text()
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if filled {
				s.frames <- f
			}
			f, filled = frame{}, false
			continue
		case name == "":
			f.comment = value
		case name == "id":
			f.id = value
		case name == "event":
			f.event = value
		case name == "data":
			f.data, f.hasData = value, true
		case name == "retry":
			f.retry = value
		}
		filled = true
	}
}

// next is the next frame that is no keep-alive; ok is false at the end of the stream.
func (s *stream) next() (frame, bool) {
	s.t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		select {
		case f, ok := <-s.frames:
			if ok && f.comment == "keepalive" {
				continue
			}
			return f, ok
		case <-deadline.C:
			s.t.Fatal("no frame in time")
		}
	}
}

// data is the next frame with data.
func (s *stream) data() frame {
	s.t.Helper()
	for {
		f, ok := s.next()
		require.True(s.t, ok, "the stream has ended")
		if f.data != "" && f.event != "mcp-priming" {
			return f
		}
	}
}

// end requires that nothing but comments comes any more.
func (s *stream) end() []string {
	s.t.Helper()
	var comments []string
	for {
		f, ok := s.next()
		if !ok {
			return comments
		}
		require.Empty(s.t, f.data)
		comments = append(comments, f.comment)
	}
}

func (s *stream) close() { s.cancel() }

// result is the text of a tool's answer.
func result(t *testing.T, data string) string {
	t.Helper()
	var m struct {
		Result *struct {
			Content []struct{ Text string }
		}
		Error *struct {
			Code    int
			Message string
		}
	}
	decoder := json.NewDecoder(bytes.NewBufferString(data))
	require.NoError(t, decoder.Decode(&m), data)
	if m.Error != nil {
		return fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	require.NotNil(t, m.Result, data)
	require.NotEmpty(t, m.Result.Content, data)
	return m.Result.Content[0].Text
}
