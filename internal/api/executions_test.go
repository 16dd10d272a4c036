package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const (
	sessionPath   = "/api/mcp-sessions/" + sessionID + "/executions/" + pauseID
	executionPath = "/api/executions/" + pauseID
)

// told is what most of these routes answer.
type told struct {
	Status, Text, ExecutionID string
	Structured                struct {
		Status, ExecutionID string
		Interaction         struct{ Address, Reason string }
		Result              json.RawMessage
	}
	IsError bool
}

func (r *rig) as(role auth.Role, method, path, body string) answer {
	r.t.Helper()
	return r.do(request{method: method, path: path, role: role, body: body})
}

func requireFirstDecision(t *testing.T, a answer, action string) {
	t.Helper()
	a.requireError(http.StatusConflict, "already_decided")
	var e struct {
		Message string
		Details struct {
			Decision struct{ Action, By, Name, Via string }
		}
	}
	a.into(&e)
	require.Equal(t, action, e.Details.Decision.Action)
	require.Equal(t, "collaborator", e.Details.Decision.Name)
	require.Equal(t, "api", e.Details.Decision.Via)
	require.Contains(t, e.Message, "collaborator has decided "+action)
}

// case 45, as far as the routes go; case 46: the decision is not kept for whoever calls resume, it is given to the run.
func TestAPersonReadsAPausedExecutionByItsSessionAndDecides(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var detail told
	r.as(auth.RoleCollaborator, http.MethodGet, sessionPath, "").requireOK().into(&detail)
	require.Equal(t, "waiting_for_interaction", detail.Structured.Status)
	require.Equal(t, pauseID, detail.Structured.ExecutionID)
	require.Equal(t, toolAddress, detail.Structured.Interaction.Address)
	require.Contains(t, detail.Text, "executionId: "+pauseID)

	for range 2 { // the same decision again is answered the same
		var got told
		r.as(auth.RoleCollaborator, http.MethodPost, sessionPath+"/resume", `{"action":"accept","content":{},"more":1}`).requireOK().into(&got)
		require.Equal(t, "completed", got.Status)
		require.Equal(t, "approved", got.Structured.Status)
		require.Equal(t, pauseID, got.Structured.ExecutionID)
		require.False(t, got.IsError)
		require.Contains(t, got.Text, "approved")
	}
	requireFirstDecision(t, r.as(auth.RoleOwner, http.MethodPost, sessionPath+"/resume", `{"action":"decline"}`), "accept")
	require.Empty(t, r.executions.of("resume"), "the run is not waited for")
	require.Len(t, r.executions.of("decide"), 3)
	who := r.executions.of("decide")[0].who
	require.Equal(t, "api", who.Via)
	require.False(t, who.Operator)
	require.True(t, r.executions.of("decide")[2].who.Operator, "an owner decides for the organisation")

	r.executions.end(executionKey, approval.OutcomeCompleted)
	r.as(auth.RoleCollaborator, http.MethodGet, sessionPath, "").requireOK().into(&detail)
	require.Equal(t, "completed", detail.Structured.Status)
}

func TestEachActionIsAcknowledgedInItsOwnWord(t *testing.T) {
	t.Parallel()
	for action, word := range map[string]string{"accept": "approved", "decline": "denied", "cancel": "canceled"} {
		r := newRig(t)
		var got told
		r.as(auth.RoleCollaborator, http.MethodPost, sessionPath+"/resume", `{"action":"`+action+`","content":{"x":1}}`).requireOK().into(&got)
		require.Equal(t, word, got.Structured.Status)
		content := r.executions.of("decide")[0].answer.Content
		require.Equal(t, action == "accept", content != nil, "only what is accepted has values")
	}
}

// case 47; case 51 for the routes: an owner of another organisation is another user too.
func TestWhatIsSomebodyElsesIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other, _, err := auth.NewTokens(r.store, nil).Create(t.Context(), auth.Request{Name: "other", Role: auth.RoleCollaborator})
	require.NoError(t, err)
	r.tokens[auth.RoleCollaborator] = other.Reveal()
	far := strings.Repeat("f", 32)
	r.putPause(store.Execution{
		Key: far, Identity: approval.Identity{Account: "a", Organisation: "elsewhere"}, Session: "far", Address: toolAddress,
		Arguments: []byte(`{}`), CreatedAt: time.Now(), Status: "running",
	})
	for _, tc := range []struct {
		role auth.Role
		id   string
		sid  string
	}{{auth.RoleCollaborator, pauseID, sessionID}, {auth.RoleOwner, approval.PauseID(far, 1), "far"}} {
		for _, path := range []string{
			"/api/mcp-sessions/" + tc.sid + "/executions/" + tc.id, "/api/executions/" + tc.id, "/api/v1/executions/" + tc.id, "/api/v1/approvals/" + tc.id,
		} {
			r.as(tc.role, http.MethodGet, path, "").requireError(http.StatusNotFound, "execution_not_found")
		}
		for _, path := range []string{
			"/api/mcp-sessions/" + tc.sid + "/executions/" + tc.id + "/resume", "/api/executions/" + tc.id + "/resume", "/api/v1/approvals/" + tc.id + "/decision",
		} {
			r.as(tc.role, http.MethodPost, path, `{"action":"accept"}`).requireError(http.StatusNotFound, "execution_not_found")
		}
		r.as(tc.role, http.MethodPost, "/api/executions/"+tc.id+"/cancel", "").requireError(http.StatusNotFound, "execution_not_found")
	}
	require.Empty(t, r.executions.of("decide"))
	require.Empty(t, r.executions.of("resume"))
}

// case 48
func TestADecisionThatIsNoneIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{sessionPath + "/resume", executionPath + "/resume", "/api/v1/approvals/" + pauseID + "/decision"} {
		for body, code := range map[string]string{
			"nonsense": "invalid_json", "": "invalid_json", `[]`: "invalid_payload", `{}`: "invalid_payload", `{"action":"approve"}`: "invalid_payload",
			`{"action":1}`: "invalid_payload", `{"action":"accept","content":[1]}`: "invalid_payload", `{"action":"accept","content":"x"}`: "invalid_payload",
			`{"action":"accept","reason":"` + strings.Repeat("x", 1001) + `"}`: "invalid_payload",
		} {
			r.as(auth.RoleCollaborator, http.MethodPost, path, body).requireError(http.StatusBadRequest, code)
		}
	}
	for _, path := range []string{
		"/api/mcp-sessions/" + sessionID + "/executions/exec_none", "/api/mcp-sessions/other/executions/" + pauseID,
		"/api/executions/" + strings.Repeat("0", 32), "/api/v1/approvals/none",
	} {
		r.as(auth.RoleCollaborator, http.MethodGet, path, "").requireError(http.StatusNotFound, "execution_not_found")
	}
	r.as(auth.RoleCollaborator, http.MethodPost, "/api/mcp-sessions/other/executions/"+pauseID+"/resume", `{"action":"accept"}`).
		requireError(http.StatusNotFound, "execution_not_found")
	require.Empty(t, r.executions.of("decide"))
}

func TestWhatIsOverCannotBeDecided(t *testing.T) {
	t.Parallel()
	for kind, code := range map[approval.OutcomeKind]string{
		approval.OutcomeExpired: "execution_expired", approval.OutcomeCancelled: "execution_settled",
	} {
		r := newRig(t)
		r.executions.end(executionKey, kind)
		for _, path := range []string{sessionPath + "/resume", "/api/v1/approvals/" + pauseID + "/decision"} {
			r.as(auth.RoleCollaborator, http.MethodPost, path, `{"action":"accept"}`).requireError(http.StatusConflict, code)
		}
	}
	r := newRig(t)
	r.executions.end(executionKey, approval.OutcomeExpired)
	r.as(auth.RoleCollaborator, http.MethodPost, executionPath+"/resume", `{"action":"accept"}`).requireError(http.StatusConflict, "execution_expired")
	var got told
	r.as(auth.RoleCollaborator, http.MethodGet, executionPath, "").requireOK().into(&got)
	require.Equal(t, "execution_expired", got.Structured.Status)
	require.True(t, got.IsError)
}

func TestWhoeverDecidesOnARunThatIsGoneIsToldSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.executions.lose(executionKey, "its run is gone; the tool was not called: make the call again")
	for _, path := range []string{sessionPath + "/resume", "/api/v1/approvals/" + pauseID + "/decision"} {
		a := r.as(auth.RoleCollaborator, http.MethodPost, path, `{"action":"accept"}`)
		a.requireError(http.StatusConflict, "execution_settled")
		require.Contains(t, string(a.body), "This cannot be decided: its run is gone; the tool was not called: make the call again.")
	}
}

func TestAnExecutionIsResumedAndItsOutcomeAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var got told
	r.as(auth.RoleViewer, http.MethodGet, executionPath, "").requireError(http.StatusNotFound, "execution_not_found")
	r.as(auth.RoleOwner, http.MethodGet, "/api/executions/"+executionKey, "").requireOK().into(&got)
	require.Equal(t, "paused", got.Status)
	require.Equal(t, pauseID, got.ExecutionID)
	for range 2 {
		r.as(auth.RoleCollaborator, http.MethodPost, executionPath+"/resume?wait=5s", `{"action":"accept","reason":"fine"}`).requireOK().into(&got)
		require.Equal(t, "completed", got.Status)
		require.Equal(t, "completed", got.Structured.Status)
		require.Equal(t, "sent", got.Text)
	}
	answer := r.executions.of("resume")[0].answer
	require.Equal(t, 5*time.Second, answer.Hold)
	require.Equal(t, "fine", answer.Reason)
	requireFirstDecision(t, r.as(auth.RoleCollaborator, http.MethodPost, executionPath+"/resume", `{"action":"decline"}`), "accept")
	for _, wait := range []string{"soon", "-1s", "56s"} {
		r.as(auth.RoleCollaborator, http.MethodPost, executionPath+"/resume?wait="+wait, `{"action":"accept"}`).
			requireError(http.StatusBadRequest, "invalid_payload")
	}
}

func TestAnExecutionIsCalledOff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var got told
	r.as(auth.RoleCollaborator, http.MethodPost, executionPath+"/cancel", `{"reason":"no more"}`).requireOK().into(&got)
	require.Equal(t, "completed", got.Status)
	require.True(t, got.IsError)
	require.Contains(t, got.Text, "cancelled")
	require.Equal(t, "no more", r.executions.of("cancel")[0].reason)
	r.as(auth.RoleCollaborator, http.MethodPost, executionPath+"/cancel", `{"reason":"`+strings.Repeat("x", 1001)+`"}`).
		requireError(http.StatusBadRequest, "invalid_payload")
}

func TestAToolIsCalledWithoutASession(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(p *api.Params) { p.Settings.PublicURL = "https://holdfast.example.com" })
	var got told
	r.do(request{
		method: http.MethodPost, path: "/api/executions?wait=0s", role: auth.RoleOwner, header: map[string]string{"Idempotency-Key": "k1"},
		body: `{"tool":"demo.send","arguments":{"to":"you"},"autoApprove":true}`,
	}).requireOK().into(&got)
	require.Equal(t, "completed", got.Status)
	require.Equal(t, "sent", got.Text)
	asked := r.executions.of("execute")[0]
	require.NotNil(t, asked.call.Release)
	release := asked.call.Release
	asked.call.Release = nil
	require.Equal(t, executions.Call{
		Address: toolAddress, Arguments: json.RawMessage(`{"to":"you"}`), AutoApprove: true, Request: "api:k1", Hold: time.Millisecond,
	}, asked.call)
	require.Equal(t, r.identity(auth.RoleOwner), asked.who.Identity)
	require.Empty(t, asked.who.Session)
	require.Equal(t, "https://holdfast.example.com", asked.who.Origin)
	require.Equal(t, "api", asked.who.Via)

	r.as(auth.RoleCollaborator, http.MethodPost, "/api/executions", `{"tool":"demo.send","autoApprove":true}`).requireError(http.StatusForbidden, "forbidden")
	for _, body := range []string{`{}`, `{"tool":" "}`, `{"tool":"demo.send","arguments":[]}`, `{"tool":"demo.send","code":"x"}`} {
		r.as(auth.RoleCollaborator, http.MethodPost, "/api/executions", body).requireError(http.StatusBadRequest, "invalid_payload")
	}
	r.do(request{
		method: http.MethodPost, path: "/api/executions", role: auth.RoleOwner, body: `{"tool":"demo.send"}`,
		header: map[string]string{"Idempotency-Key": strings.Repeat("k", 201)},
	}).requireError(http.StatusBadRequest, "invalid_payload")
	require.Len(t, r.executions.of("execute"), 1)
	r.api.Drain()
	<-release // a gateway that stops holds nobody
}

func TestACallThatIsPausedOrGoesOnSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.executions.mu.Lock()
	r.executions.report = executions.Report{Status: executions.StatusPending, Key: executionKey, Address: toolAddress}
	r.executions.mu.Unlock()
	var got told
	r.as(auth.RoleCollaborator, http.MethodPost, "/api/executions", `{"tool":"demo.send"}`).requireOK().into(&got)
	require.Equal(t, "pending", got.Status)
	require.Equal(t, "exec_"+executionKey, got.ExecutionID)
	require.Equal(t, "execution_pending", got.Structured.Status)
}

func TestEachWayInWhichACallFailsHasACodeOfItsOwn(t *testing.T) {
	t.Parallel()
	upstream := func(code string) error { return &catalog.CallError{Address: toolAddress, Code: code, Cause: errInside} }
	for _, tc := range []struct {
		fault  error
		status int
		code   string
	}{
		{&executions.DeniedError{Address: toolAddress, Rule: "rule 3: demo.*"}, http.StatusForbidden, "tool_denied"},
		{&executions.UnknownToolError{Address: "demo.x", Suggestions: []string{toolAddress}}, http.StatusNotFound, "tool_not_found"},
		{&executions.ArgumentsError{Address: toolAddress, Problem: "to is missing"}, http.StatusUnprocessableEntity, "invalid_tool_arguments"},
		{&executions.ArgumentsError{Address: toolAddress, Taken: true}, http.StatusUnprocessableEntity, "invalid_tool_arguments"},
		{&executions.UnavailableError{What: "temporal", Err: errInside}, http.StatusServiceUnavailable, "temporal_unavailable"},
		{&executions.UnavailableError{What: "store", Err: errInside}, http.StatusServiceUnavailable, "store_unavailable"},
		{&executions.UnavailableError{What: "upstream", Err: errInside}, http.StatusBadGateway, "upstream_unreachable"},
		{upstream("upstream_unreachable"), http.StatusBadGateway, "upstream_unreachable"},
		{upstream("upstream_timeout"), http.StatusGatewayTimeout, "upstream_timeout"},
		{upstream("upstream_refused"), http.StatusBadGateway, "upstream_refused"},
		{upstream("upstream_unauthorized"), http.StatusBadGateway, "upstream_unauthorized"},
		{upstream("something"), http.StatusBadGateway, "upstream_protocol"},
		{fmt.Errorf("lost: %w", errInside), http.StatusInternalServerError, "internal_error"},
	} {
		r := newRig(t)
		r.executions.fail(tc.fault)
		r.as(auth.RoleCollaborator, http.MethodPost, "/api/executions", `{"tool":"demo.send"}`).requireError(tc.status, tc.code)
	}
	r := newRig(t)
	r.executions.fail(&executions.DeniedError{Address: toolAddress, Rule: "rule 3: demo.*"})
	require.Contains(t, string(r.post("/api/executions", `{"tool":"demo.send"}`).body), "rule 3: demo.*")
	r.executions.fail(&executions.UnknownToolError{Suggestions: []string{toolAddress}})
	require.Contains(t, string(r.post("/api/executions", `{"tool":"demo.sent"}`).body), toolAddress)
}

func TestADecisionThatCannotReachTemporalIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.temporalDown.Store(true)
	testkit.Eventually(t, time.Minute, func() bool {
		return r.as(auth.RoleCollaborator, http.MethodPost, sessionPath+"/resume", `{"action":"accept"}`).code() == "temporal_unavailable"
	}, "Temporal is seen to be gone")
	n := len(r.executions.of("decide"))
	for path, body := range map[string]string{
		executionPath + "/resume": `{"action":"accept"}`, executionPath + "/cancel": "", "/api/v1/approvals/" + pauseID + "/decision": `{"action":"accept"}`,
	} {
		r.as(auth.RoleCollaborator, http.MethodPost, path, body).requireError(http.StatusServiceUnavailable, "temporal_unavailable")
	}
	require.Len(t, r.executions.of("decide"), n)
	require.Empty(t, r.executions.of("resume"))
}
