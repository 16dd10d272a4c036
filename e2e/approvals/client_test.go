package approvals_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// The protocols: the last one with sessions, and the first one without.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// bearer adds a token to requests.
type bearer struct {
	token string
	base  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := r.Clone(r.Context())
	sent.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(sent)
}

// client is a stock client of the go-sdk.
type client struct {
	*mcp.ClientSession

	t *testing.T
}

// connect connects to a gateway in a mode.
func (u *user) connect(base, mode, protocol string) client {
	u.t.Helper()
	c, err := u.tryConnect(base, mode, protocol)
	require.NoError(u.t, err)
	u.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (u *user) tryConnect(base, mode, protocol string) (client, error) {
	transport := &http.Transport{}
	u.t.Cleanup(transport.CloseIdleConnections)
	made := mcp.NewClient(&mcp.Implementation{Name: "stock-client", Version: "1.2"}, nil)
	session, err := made.Connect(u.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: base + "/mcp?elicitation_mode=" + mode, HTTPClient: &http.Client{Transport: bearer{u.token, transport}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	return client{session, u.t}, err
}

// told is what a client is told of a call.
type told struct {
	Status       string          `json:"status"`
	Reason       string          `json:"reason"`
	ExecutionID  string          `json:"executionId"`
	ApprovalURL  string          `json:"approvalUrl"`
	ResumePrompt string          `json:"resumePrompt"`
	Recovery     string          `json:"recovery"`
	Error        string          `json:"error"`
	TTL          int64           `json:"ttlMs"`
	Result       json.RawMessage `json:"result"`
	Interaction  *interaction    `json:"interaction"`
	Outcome      string          `json:"outcome"`
	Decision     *struct {
		Action string `json:"action"`
	} `json:"decision"`

	Text    string `json:"-"` // all text of the content
	IsError bool   `json:"-"`
}

type interaction struct {
	Kind            string          `json:"kind"`
	Message         string          `json:"message"`
	Address         string          `json:"address"`
	Args            json.RawMessage `json:"args"`
	RequestedSchema json.RawMessage `json:"requestedSchema"`
}

func toldBy(t *testing.T, structured any, content []mcp.Content, isError bool) told {
	t.Helper()
	raw, err := json.Marshal(structured)
	require.NoError(t, err)
	got := told{IsError: isError}
	if structured != nil {
		require.NoError(t, json.Unmarshal(raw, &got), string(raw))
	}
	for _, each := range content {
		if text, ok := each.(*mcp.TextContent); ok {
			got.Text += text.Text
		}
	}
	return got
}

func (c client) call(name string, arguments map[string]any) told {
	c.t.Helper()
	return c.callWith(&mcp.CallToolParams{Name: name, Arguments: arguments})
}

// callWith makes a call, again where it is told to try again in a while: a busy machine may keep a gateway from what it needs.
func (c client) callWith(params *mcp.CallToolParams) told {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), late)
	defer cancel()
	var got told
	testkit.Eventually(c.t, late, func() bool {
		result, err := c.CallTool(ctx, params)
		require.NoError(c.t, err)
		got = toldBy(c.t, result.StructuredContent, result.Content, result.IsError)
		return got.Reason != unavailable
	}, "an answer")
	return got
}

// unavailable is the reason of an error after which the same call is made again.
const unavailable = "unavailable"

func (c client) execute(address string, arguments map[string]any) told {
	c.t.Helper()
	return c.call(gatehost.ToolExecute, map[string]any{"address": address, "arguments": arguments})
}

// resume asks for what follows until it is more than that a person or the tool has yet to answer.
func (c client) resume(id string) told {
	c.t.Helper()
	var got told
	testkit.Eventually(c.t, late, func() bool {
		got = c.call(gatehost.ToolResume, map[string]any{"executionId": id})
		return got.over()
	}, "the end of "+id)
	return got
}

// over reports whether it is the end of a call.
func (t told) over() bool {
	switch t.Status {
	case "user_approval_required", "waiting_for_interaction", "execution_pending":
		return false
	default:
		return true
	}
}

// later resumes in the background.
func (c client) later(id string) <-chan told {
	out := make(chan told, 1)
	go func() {
		defer close(out)
		out <- c.resume(id)
	}()
	return out
}

// putting is the call of put under a name.
func putting(name string) map[string]any { return map[string]any{"name": name, "value": "seven"} }

// byPage requires that a person is asked on a page of the gateway, and gives its address.
func (t told) byPage(tb testing.TB, base string) string {
	tb.Helper()
	require.Equal(tb, "user_approval_required", t.Status, t.Text)
	require.Equal(tb, base+"/resume/"+t.ExecutionID, t.ApprovalURL) // case 44
	require.Nil(tb, t.Interaction)                                  // case 35
	require.False(tb, t.IsError)
	require.Contains(tb, t.Text, t.ApprovalURL)
	require.True(tb, strings.HasPrefix(t.ExecutionID, "exec_"))
	return t.ApprovalURL
}
