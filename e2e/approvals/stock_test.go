package approvals_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// goClient holds cases 35, 44, 46 and 49 for a stock client of the go-sdk, and that it can ask for the outcome again.
func goClient(protocol string) func(*testing.T, *user) {
	return func(t *testing.T, u *user) {
		name := testkit.UniqueName()
		c := u.connect(u.gateway.URL, "browser", protocol)
		asked := c.execute("mail.put", putting(name))
		url := asked.byPage(t, u.gateway.URL)
		page := u.visit(url, "mail.put", name, "seven", "Waiting for an answer", "left", "stock-client 1.2", u.account)
		require.Zero(t, u.runs(name))
		outcome := c.later(asked.ExecutionID)
		approve(page, "The tool ran and answered", "wrote "+name)
		require.False(t, page.Has("#answer"), "there is nothing to decide any more")
		got := <-outcome
		require.Equal(t, "completed", got.Status, got.Text)
		require.Equal(t, "wrote "+name, got.Text)
		require.Equal(t, got, c.resume(asked.ExecutionID), "as often as it is asked for")
		require.Equal(t, 1, u.runs(name))
	}
}

func goClientIsDeclined(t *testing.T, u *user) {
	name := testkit.UniqueName()
	c := u.connect(u.gateway.URL, "browser", legacy)
	asked := c.execute("mail.put", putting(name))
	page := u.visit(asked.byPage(t, u.gateway.URL), "Waiting for an answer")
	page.Fill("#reason", "not on a Friday")
	press(page, declineButton, "Declined", "not on a Friday", "the tool was not called")
	got := c.resume(asked.ExecutionID)
	require.True(t, got.IsError)
	require.Equal(t, "declined", got.Reason, got.Text)
	require.Contains(t, got.Text, "not on a Friday")
	require.Zero(t, u.runs(name))
	require.Equal(t, approval.OutcomeDeclined, u.outcomeOf(keyOf(t, asked.ExecutionID)).Kind)
	require.Equal(t, "not on a Friday", u.audited(keyOf(t, asked.ExecutionID), "decline").Reason)
}

// typeScriptClient is the client of the TypeScript SDK in a process of its own.
func typeScriptClient(t *testing.T, u *user) {
	node, err := exec.LookPath("node")
	require.NoError(t, err, "install Node.js 20 or later, then run make tools")
	script := filepath.Join(testkit.RepoRoot(t), "testbed", "client.mjs")
	ctx, cancel := context.WithTimeout(t.Context(), 2*late)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, node, script, u.gateway.URL+"/mcp?elicitation_mode=browser", u.token)
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait()
	})
	lines := &lineClient{t: t, in: in, out: bufio.NewReader(out)}
	require.NotEmpty(t, lines.read()["session"])
	require.Contains(t, string(lines.ask(map[string]any{"list": true})["tools"]), gatehost.ToolExecute)

	name := testkit.UniqueName()
	asked := lines.call(gatehost.ToolExecute, map[string]any{"address": "mail.put", "arguments": putting(name)})
	page := u.visit(asked.byPage(t, u.gateway.URL), "mail.put", name, "Waiting for an answer", "typescript-client 1.0.0")
	lines.send(map[string]any{"tool": gatehost.ToolResume, "arguments": map[string]any{"executionId": asked.ExecutionID}})
	approve(page, "wrote "+name)
	got := lines.result()
	for !got.over() {
		got = lines.call(gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID})
	}
	require.Equal(t, "completed", got.Status, got.Text)
	require.Equal(t, "wrote "+name, got.Text)
	require.Equal(t, 1, u.runs(name))
}

// lineClient is a client that is driven by lines.
type lineClient struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func (l *lineClient) send(line any) {
	l.t.Helper()
	raw, err := json.Marshal(line)
	require.NoError(l.t, err)
	_, err = l.in.Write(append(raw, '\n'))
	require.NoError(l.t, err)
}

func (l *lineClient) read() map[string]json.RawMessage {
	l.t.Helper()
	line, err := l.out.ReadString('\n')
	require.NoError(l.t, err)
	var answer struct {
		OK    map[string]json.RawMessage `json:"ok"`
		Error string                     `json:"error"`
	}
	require.NoError(l.t, json.Unmarshal([]byte(line), &answer), line)
	require.Empty(l.t, answer.Error)
	return answer.OK
}

func (l *lineClient) ask(line any) map[string]json.RawMessage {
	l.t.Helper()
	l.send(line)
	return l.read()
}

func (l *lineClient) call(tool string, arguments map[string]any) told {
	l.t.Helper()
	l.send(map[string]any{"tool": tool, "arguments": arguments})
	return l.result()
}

func (l *lineClient) result() told {
	l.t.Helper()
	raw, err := json.Marshal(l.read())
	require.NoError(l.t, err)
	var result mcp.CallToolResult
	require.NoError(l.t, json.Unmarshal(raw, &result), strings.TrimSpace(string(raw)))
	return toldBy(l.t, result.StructuredContent, result.Content, result.IsError)
}
