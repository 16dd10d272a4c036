package approvals_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// ofSession is the path of a pause by the session that asked.
func (w *wire) ofSession(id string) string {
	return "/api/mcp-sessions/" + w.session + "/executions/" + id
}

// sessionPaths holds cases 44 to 48.
func sessionPaths(t *testing.T, u *user) {
	name := testkit.UniqueName()
	w := u.wire(u.gateway.URL, "browser")
	asked := w.call(gatehost.ToolExecute, executing("mail.put", putting(name)), nil)
	require.True(t, strings.HasSuffix(asked.byPage(t, u.gateway.URL), "/resume/"+asked.ExecutionID)) // case 44
	path := w.ofSession(asked.ExecutionID)

	var detail struct { // case 45
		Text       string
		Structured told
	}
	u.get(path).ok().into(&detail)
	require.Equal(t, "waiting_for_interaction", detail.Structured.Status)
	require.Equal(t, "mail.put", detail.Structured.Interaction.Address)
	require.JSONEq(t, `{"name":"`+name+`","value":"seven"}`, string(detail.Structured.Interaction.Args))
	require.Contains(t, detail.Text, "executionId: "+asked.ExecutionID)

	other := u.user(t) // case 47
	for _, got := range []answer{other.get(path), other.post(path+"/resume", map[string]string{"action": "accept"})} {
		require.Equal(t, http.StatusNotFound, got.status, string(got.body))
		require.NotContains(t, string(got.body), name)
	}
	for _, body := range []any{`{"action":"maybe"}`, `{"action":`, `[]`, `{"action":"accept","content":[1]}`} { // case 48
		require.Equal(t, http.StatusBadRequest, u.post(path+"/resume", body).status, body)
	}
	for _, wrong := range []string{w.ofSession(approval.PauseID(approval.NewKey(), 1)), w.ofSession("exec_1"), "/api/mcp-sessions/" + strings.Repeat("0", 64) + "/executions/" + asked.ExecutionID} {
		require.Equal(t, http.StatusNotFound, u.get(wrong).status)
		require.Equal(t, http.StatusNotFound, u.post(wrong+"/resume", map[string]string{"action": "accept"}).status)
	}
	require.Equal(t, "waiting", u.approval(asked.ExecutionID).State, "none of that was a decision")
	require.Zero(t, u.runs(name))

	var done struct {
		Status, Text string
		Structured   struct{ Status, ExecutionID string }
		IsError      *bool
	}
	testkit.Eventually(t, late, func() bool {
		got := u.post(path+"/resume", map[string]string{"action": "accept"})
		if got.status == http.StatusServiceUnavailable {
			return false // a busy machine may keep it from Temporal
		}
		got.ok().into(&done)
		return true
	}, "a decision is taken")
	require.Equal(t, "completed", done.Status)
	require.Equal(t, "approved", done.Structured.Status)
	require.Equal(t, asked.ExecutionID, done.Structured.ExecutionID)
	require.False(t, *done.IsError)
	require.Equal(t, approval.OutcomeCompleted, u.outcomeOf(keyOf(t, asked.ExecutionID)).Kind, "nobody has called resume")
	got := w.call(gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID}, nil) // case 46
	require.Equal(t, "completed", got.Status)
	require.Equal(t, "wrote "+name, got.Text)
	require.Equal(t, 1, u.runs(name))
}

// fromAnotherSession holds case 50: with the session that asked alive, and with it closed.
func fromAnotherSession(closed bool) func(*testing.T, *user) {
	return func(t *testing.T, u *user) {
		name := testkit.UniqueName()
		a, b := u.wire(u.gateway.URL, "model"), u.wire(u.gateway.URL, "model")
		asked := a.call(gatehost.ToolExecute, executing("talk.put", putting(name)), nil)
		require.Equal(t, "waiting_for_interaction", asked.Status, asked.Text)
		testkit.Eventually(t, late, func() bool { return len(u.snapshot(a.session).Leases) == 1 }, "the pause keeps its session")
		if closed {
			ended := a.do(t.Context(), http.MethodDelete, "/mcp", nil)
			require.NoError(t, ended.Body.Close())
			require.Equal(t, http.StatusNoContent, ended.StatusCode)
		}
		got := b.call(gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID, "action": "accept"}, nil)
		require.Equal(t, "completed", got.Status, got.Text)
		require.Equal(t, "wrote "+name, got.Text)
		require.Equal(t, 1, u.runs(name))
		require.Empty(t, u.snapshot(b.session).Hooks, "they are of the session that asked")
		if closed {
			return
		}
		require.Equal(t, []string{"paused 1", "resuming 1", "settled 1"}, u.hooks(a.session, 3))
		require.Empty(t, u.snapshot(a.session).Leases)
	}
}

// snapshot is what a session's workflow says; nothing where it does not answer.
func (u *user) snapshot(id string) session.Snapshot {
	u.t.Helper()
	var view struct{ Workflow *session.Snapshot }
	u.get("/api/v1/mcp-sessions/" + id).ok().into(&view)
	if view.Workflow == nil {
		return session.Snapshot{}
	}
	return *view.Workflow
}

// hooks are those that a session was told, with the numbers of their pauses, when there are as many.
func (u *user) hooks(id string, many int) []string {
	u.t.Helper()
	var seen session.Snapshot
	testkit.Eventually(u.t, late, func() bool {
		seen = u.snapshot(id)
		return len(seen.Hooks) >= many
	}, "the hooks have come")
	var told []string
	for _, each := range seen.Hooks {
		_, number, err := approval.ParseID(each.PauseID)
		require.NoError(u.t, err)
		told = append(told, each.Hook+" "+string(rune('0'+number)))
	}
	return told
}

// toolThatAsks holds case 40 on the page: after the gate the tool asks for a name, then for a colour.
func toolThatAsks(t *testing.T, u *user) {
	name := testkit.UniqueName()
	w := u.wire(u.gateway.URL, "browser")
	asked := w.call(gatehost.ToolExecute, executing("mail.ask_twice", map[string]any{}), nil)
	page := u.visit(asked.byPage(t, u.gateway.URL), "mail.ask_twice", "Waiting for an answer")
	press(page, approveButton, "The tool asks something else")
	for _, question := range []struct{ asks, value string }{{"What name?", name}, {"What colour?", "green"}} {
		sees(page, "The tool asks something else")
		page.Click(`#live a[href^="/resume/"]`)
		sees(page, question.asks, "A tool asks for values")
		page.Fill("#field-value", question.value)
		page.Click(approveButton)
	}
	sees(page, "The tool ran and answered", name+" likes green")
	require.Equal(t, name+" likes green", w.call(gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID}, nil).Text)
	require.Equal(t, 1, u.runs(name))
	require.Equal(t, []string{
		"paused 1", "resuming 1", "settled 1", "paused 2", "resuming 2", "settled 2", "paused 3", "resuming 3", "settled 3",
	}, u.hooks(w.session, 9))
}

// twoTabs holds A17: both press Approve at once.
func twoTabs(t *testing.T, u *user) {
	name := testkit.UniqueName()
	w := u.wire(u.gateway.URL, "browser")
	asked := w.call(gatehost.ToolExecute, executing("mail.put", putting(name)), nil)
	one := u.visit(asked.byPage(t, u.gateway.URL), "Waiting for an answer")
	other := one.Tab(t)
	other.Open(asked.ApprovalURL, "the question", func(shown string) bool { return strings.Contains(shown, "Waiting for an answer") })
	var pressing sync.WaitGroup
	pressing.Go(func() { one.Press(approveButton) })
	pressing.Go(func() { other.Press(approveButton) })
	pressing.Wait()
	sees(one, "Approved", "The tool ran and answered", "wrote "+name)
	sees(other, "Approved", "The tool ran and answered", "wrote "+name)
	require.Equal(t, 1, u.runs(name))
	require.Equal(t, 1, u.callsOf(keyOf(t, asked.ExecutionID)))
}

// callsOf is how often an execution has called its tool.
func (u *user) callsOf(key string) int {
	u.t.Helper()
	return u.outcomeOf(key).Calls
}

// manyDecide holds A16 and A17 for the API: of many who decide at once one is first, and all others are told that.
func manyDecide(t *testing.T, u *user) {
	name := testkit.UniqueName()
	w := u.wire(u.gateway.URL, "browser")
	asked := w.call(gatehost.ToolExecute, executing("mail.put", putting(name)), nil)
	actions := []approval.Action{approval.ActionAccept, approval.ActionDecline, approval.ActionCancel}
	answers := make([]answer, 12)
	var deciding sync.WaitGroup
	for i := range answers {
		deciding.Go(func() { answers[i] = u.decide(asked.ExecutionID, actions[i%len(actions)]) })
	}
	deciding.Wait()
	counts := u.approval(asked.ExecutionID).Decision
	require.NotNil(t, counts)
	for i, got := range answers {
		if string(actions[i%len(actions)]) == counts.Action {
			require.Equal(t, http.StatusOK, got.status, string(got.body))
			continue
		}
		require.Equal(t, http.StatusConflict, got.status, string(got.body))
		var conflict struct {
			Code    string
			Details struct{ Decision struct{ Action string } }
		}
		got.into(&conflict)
		require.Equal(t, "already_decided", conflict.Code)
		require.Equal(t, counts.Action, conflict.Details.Decision.Action)
	}
	runs := 0
	if counts.Action == string(approval.ActionAccept) {
		runs = 1
	}
	u.outcomeOf(keyOf(t, asked.ExecutionID))
	require.Equal(t, runs, u.runs(name))
}

// lostAnswer holds that a call whose answer was lost is found again by its name, and by the id of its execution.
func lostAnswer(t *testing.T, u *user) {
	name := testkit.UniqueName()
	meta := map[string]any{gatehost.MetaIdempotencyKey: name}
	w := u.wire(u.gateway.URL, "browser")
	first := w.call(gatehost.ToolExecute, executing("mail.put", putting(name)), meta)
	elsewhere := u.wire(u.StartGateway().URL, "browser")
	again := elsewhere.call(gatehost.ToolExecute, executing("mail.put", putting(name)), meta)
	require.Equal(t, first.ExecutionID, again.ExecutionID, "it is not made anew")
	require.Equal(t, http.StatusOK, u.decide(first.ExecutionID, approval.ActionAccept).status)
	for _, got := range []told{
		elsewhere.call(gatehost.ToolResume, map[string]any{"executionId": first.ExecutionID}, nil),
		w.call(gatehost.ToolExecute, executing("mail.put", putting(name)), meta),
		elsewhere.call(gatehost.ToolResume, map[string]any{"executionId": "exec_" + keyOf(t, first.ExecutionID)}, nil),
	} {
		require.Equal(t, "completed", got.Status, got.Text)
		require.Equal(t, "wrote "+name, got.Text)
	}
	other := w.call(gatehost.ToolExecute, executing("mail.put", putting(name+"-2")), meta)
	require.True(t, other.IsError, "a name is for one call")
	require.Equal(t, 1, u.runs(name))
	require.Zero(t, u.runs(name+"-2"))
	var raw json.RawMessage
	u.get("/api/executions/" + first.ExecutionID).ok().into(&raw)
	require.Contains(t, string(raw), "wrote "+name)
}
