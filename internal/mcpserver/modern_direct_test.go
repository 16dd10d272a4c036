package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
)

// statelessBody is a call of the stateless protocol.
func statelessBody(tool string, arguments, meta object) string {
	about := object{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": object{},
		"io.modelcontextprotocol/clientInfo": object{"name": "modern", "version": "2"},
	}
	for key, value := range meta {
		about[key] = value
		if value == nil {
			delete(about, key)
		}
	}
	raw, err := json.Marshal(object{
		"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": object{"name": tool, "arguments": arguments, "_meta": about},
	})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// stateless sends a request of the stateless protocol whose headers say what a call of the tool says, but for those that are changed.
func (p *peer) stateless(tool, body string, headers map[string]string) answer {
	p.t.Helper()
	r := p.request(p.t.Context(), http.MethodPost, body)
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", tool)
	for key, value := range headers {
		r.Header.Set(key, value)
	}
	return p.do(r)
}

// message is the one message of an answer, whether it is a stream or not.
func (a answer) message() string {
	a.t.Helper()
	body := a.body
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		_, body, _ = strings.Cut(body, "data: ")
		body, _, _ = strings.Cut(body, "\n")
	}
	require.True(a.t, json.Valid([]byte(body)), a.body)
	return body
}

// plainHost is a host whose tools are only called by the SDK's server.
type plainHost struct{ mcpserver.Host }

func TestCallsPastTheStatelessServerAreAnsweredAsItAnswers(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	direct := newPeer(t, g.Start().URL)
	own := mcpservertest.New(t)
	own.MCP = plainHost{own.Host}
	server := newPeer(t, own.Start().URL)

	const protocol, can, about = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/clientInfo"
	hello := object{"text": "hello"}
	for name, tc := range map[string]struct {
		tool    string
		body    string
		headers map[string]string
		status  int
	}{
		"a call":                             {"echo", statelessBody("echo", hello, nil), nil, 200},
		"a call without arguments":           {"echo", statelessBody("echo", nil, nil), nil, 200},
		"a client without a name":            {"echo", statelessBody("echo", hello, object{about: nil}), nil, 200},
		"a tool that is not called so":       {"who", statelessBody("who", hello, nil), nil, 200},
		"a tool that there is not":           {"none", statelessBody("none", hello, nil), nil, 400},
		"a name in the header only":          {"echo", statelessBody("none", hello, nil), nil, 400},
		"another name in the header":         {"who", statelessBody("echo", hello, nil), nil, 400},
		"another method in the header":       {"echo", statelessBody("echo", hello, nil), map[string]string{"Mcp-Method": "tools/list"}, 400},
		"a version in the header only":       {"echo", statelessBody("echo", hello, object{protocol: nil}), nil, 400},
		"another version in the header":      {"echo", statelessBody("echo", hello, nil), map[string]string{"Mcp-Protocol-Version": "2026-07-29"}, 400},
		"a version that there is not":        {"echo", statelessBody("echo", hello, object{protocol: "2027-01-01"}), map[string]string{"Mcp-Protocol-Version": "2027-01-01"}, 400},
		"a client that says not what it can": {"echo", statelessBody("echo", hello, object{can: nil}), nil, 400},
		"a client that can nonsense":         {"echo", statelessBody("echo", hello, object{can: "all"}), nil, 400},
		"a client that can a number":         {"echo", statelessBody("echo", hello, object{can: object{"roots": 5}}), nil, 400},
		"a client whose name is a number":    {"echo", statelessBody("echo", hello, object{about: object{"name": 5, "version": "1"}}), nil, 400},
		"a client that can much": {"echo", statelessBody("echo", hello, object{can: object{
			"roots": object{}, "sampling": object{}, "elicitation": object{"form": object{}, "url": object{}}, "extensions": object{"x/y": object{}},
		}}), nil, 200},
		"a name in another case": {"echo", strings.Replace(statelessBody("echo", hello, nil), `"name":"echo"`, `"Name":"echo"`, 1), nil, 400},
		"a name twice, once in another case": {
			"who", strings.Replace(statelessBody("who", hello, nil), `"name":"who"`, `"name":"who","Name":"echo"`, 1), nil, 200,
		},
		"a client with a nonsensical name": {"echo", statelessBody("echo", hello, object{about: "me"}), nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := *direct, *server
			a.t, b.t = t, t
			got, sdk := a.stateless(tc.tool, tc.body, tc.headers), b.stateless(tc.tool, tc.body, tc.headers)
			require.Equal(t, tc.status, sdk.status, sdk.body)
			require.Equal(t, sdk.status, got.status, got.body)
			require.JSONEq(t, sdk.message(), got.message())
		})
	}
}
