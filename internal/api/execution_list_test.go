package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// listed is a page of anything that has an id or a key.
type listed struct {
	Items []struct {
		ID                                           any
		Key, Address, Status, State, Account, Action string
	}
	NextPageToken string
}

func (r *rig) list(role auth.Role, path string) listed {
	r.t.Helper()
	var page listed
	r.as(role, http.MethodGet, path, "").requireOK().into(&page)
	return page
}

func key(n int) string { return fmt.Sprintf("%032x", n) }

// more puts executions of an identity that wait, the first being the oldest; all are older than the rig's own.
func (r *rig) more(who approval.Identity, address string, numbers ...int) {
	r.t.Helper()
	for i, n := range numbers {
		r.putPause(store.Execution{
			Key: key(n), Identity: who, Session: "s-more", Mode: approval.ModeModel, Resource: "default", Address: address,
			Arguments: []byte(`{}`), Status: "running", CreatedAt: time.Now().Add(time.Duration(i-100) * time.Second),
		})
	}
}

func TestListsShowWhatIsOnesOwnAndToAnOwnerTheOrganisations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	own := r.identity(auth.RoleOwner)
	r.more(own, "demo.own", 1)
	r.more(approval.Identity{Account: "x", Organisation: "elsewhere"}, "demo.far", 2)
	for _, path := range []string{"/api/v1/executions", "/api/v1/approvals"} {
		require.Empty(t, r.list(auth.RoleViewer, path).Items)
		require.Len(t, r.list(auth.RoleCollaborator, path).Items, 1)
		require.Len(t, r.list(auth.RoleOwner, path).Items, 2)
		require.Len(t, r.list(auth.RoleOwner, path+"?scope=own").Items, 1)
		require.Equal(t, own.Account, r.list(auth.RoleOwner, path+"?scope=own").Items[0].Account)
		require.Len(t, r.list(auth.RoleOwner, path+"?scope=organisation").Items, 2)
		r.as(auth.RoleCollaborator, http.MethodGet, path+"?scope=organisation", "").requireError(http.StatusForbidden, "forbidden")
		r.as(auth.RoleOwner, http.MethodGet, path+"?scope=all", "").requireError(http.StatusBadRequest, "invalid_payload")
	}
	require.Len(t, r.list(auth.RoleCollaborator, "/api/v1/mcp-sessions").Items, 1)
	require.Len(t, r.list(auth.RoleOwner, "/api/v1/mcp-sessions").Items, 1)
	require.Empty(t, r.list(auth.RoleOwner, "/api/v1/mcp-sessions?scope=own").Items)
}

func TestListsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.more(r.identity(auth.RoleCollaborator), "demo.more", 1, 2, 3, 4)
	for _, path := range []string{"/api/v1/executions", "/api/v1/approvals"} {
		var seen []string
		token := ""
		for n := 0; n == 0 || token != ""; n++ {
			require.Less(t, n, 5)
			page := r.list(auth.RoleCollaborator, path+"?pageSize=2&pageToken="+url.QueryEscape(token))
			for _, item := range page.Items {
				seen = append(seen, fmt.Sprint(item.ID, item.Key))
			}
			token = page.NextPageToken
		}
		require.Len(t, seen, 5)
		if path == "/api/v1/executions" {
			require.Equal(t, []string{"<nil>" + executionKey, "<nil>" + key(4), "<nil>" + key(3), "<nil>" + key(2), "<nil>" + key(1)}, seen, "the latest first")
		}
		for _, query := range []string{"pageSize=0", "pageSize=101", "pageSize=x", "pageToken=nonsense"} {
			r.as(auth.RoleCollaborator, http.MethodGet, path+"?"+query, "").requireError(http.StatusBadRequest, "invalid_payload")
		}
	}
}

func TestExecutionsAreFiltered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.more(r.identity(auth.RoleCollaborator), "demo.more", 1, 2)
	require.NoError(t, r.store.RecordOutcome(t.Context(), store.Ending{
		Key: key(1), Outcome: approval.Outcome{Kind: approval.OutcomeDeclined, At: time.Now()}, Retained: time.Now().Add(time.Hour),
	}))
	for query, want := range map[string][]string{
		"state=declined": {key(1)}, "state=waiting": {executionKey, key(2)}, "session=" + sessionID: {executionKey}, "session=none": {},
		"tool=demo.more": {key(2), key(1)}, "tool=demo.more&state=waiting": {key(2)},
	} {
		keys := []string{}
		for _, item := range r.list(auth.RoleCollaborator, "/api/v1/executions?"+query).Items {
			keys = append(keys, item.Key)
		}
		require.Equal(t, want, keys, query)
	}
	r.as(auth.RoleCollaborator, http.MethodGet, "/api/v1/executions?state=paused", "").requireError(http.StatusBadRequest, "invalid_payload")
}

func TestApprovalsAreOpenUnlessAskedOtherwise(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.more(r.identity(auth.RoleCollaborator), "demo.more", 1)
	decided := approval.Pause{
		ID: approval.PauseID(key(1), 1), Number: 1,
		Decision: &approval.Decision{Action: approval.ActionAccept, Content: []byte(`{"pin":"` + secret + `"}`), By: "token:x", Via: approval.ViaPage, At: time.Now()},
	}
	require.NoError(t, r.store.RecordDecided(t.Context(), decided, nil))
	for query, want := range map[string][]string{
		"": {pauseID}, "?state=open": {pauseID}, "?state=closed": {decided.ID}, "?state=all": {pauseID, decided.ID},
		"?state=all&execution=" + key(1): {decided.ID}, "?session=" + sessionID: {pauseID}, "?session=none": {},
	} {
		ids := []string{}
		for _, item := range r.list(auth.RoleCollaborator, "/api/v1/approvals"+query).Items {
			ids = append(ids, fmt.Sprint(item.ID))
		}
		require.Equal(t, want, ids, query)
	}
	require.Equal(t, "decided", r.list(auth.RoleCollaborator, "/api/v1/approvals?state=closed").Items[0].State)
	r.as(auth.RoleCollaborator, http.MethodGet, "/api/v1/approvals?state=new", "").requireError(http.StatusBadRequest, "invalid_payload")
}

func TestAnApprovalShowsEverythingThatIsDecidedOnAndTheDecision(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, id := range []string{pauseID, executionKey} {
		var view struct {
			ID, Execution, Address, State, Client, Digest, Policy, Session string
			Arguments                                                      map[string]any
			Request                                                        struct{ Kind, Message, Reason string }
			Deadline                                                       time.Time
		}
		r.as(auth.RoleCollaborator, http.MethodGet, "/api/v1/approvals/"+id, "").requireOK().into(&view)
		require.Equal(t, pauseID, view.ID)
		require.Equal(t, executionKey, view.Execution)
		require.Equal(t, "waiting", view.State)
		require.Equal(t, "rule 1: demo.*", view.Request.Reason)
		require.Equal(t, map[string]any{"to": "you"}, view.Arguments)
		require.Equal(t, "d1", view.Digest)
		require.False(t, view.Deadline.IsZero())
	}
	for range 2 {
		var got struct {
			State    string
			Decision struct{ Action, Name, Via, Reason string }
		}
		body := `{"action":"decline","reason":"not now"}`
		r.as(auth.RoleCollaborator, http.MethodPost, "/api/v1/approvals/"+pauseID+"/decision", body).requireOK().into(&got)
		require.Equal(t, "decided", got.State)
		require.Equal(t, "decline", got.Decision.Action)
		require.Equal(t, "collaborator", got.Decision.Name)
		require.Equal(t, "not now", got.Decision.Reason)
	}
	requireFirstDecision(t, r.as(auth.RoleOwner, http.MethodPost, "/api/v1/approvals/"+pauseID+"/decision", `{"action":"accept"}`), "decline")
}

func TestAnExecutionIsShownWithItsPausesAndWhetherTheyAreSettled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var view struct {
		Key, Status string
		Settled     bool
		Arguments   map[string]any
		Pauses      []struct{ ID, State string }
		Structured  struct{ Status string }
	}
	show := func() {
		t.Helper()
		r.as(auth.RoleCollaborator, http.MethodGet, "/api/v1/executions/"+pauseID, "").requireOK().into(&view)
		require.Equal(t, executionKey, view.Key)
		require.Equal(t, "you", view.Arguments["to"])
		require.Len(t, view.Pauses, 1)
	}
	show()
	require.False(t, view.Settled)
	require.Equal(t, "waiting", view.Status)
	require.Equal(t, "waiting_for_interaction", view.Structured.Status)
	r.executions.mu.Lock()
	r.executions.settled = true
	r.executions.mu.Unlock()
	show()
	require.True(t, view.Settled)
	r.as(auth.RoleCollaborator, http.MethodGet, "/api/v1/executions/"+executionKey, "").requireOK()
	asked := r.executions.of("settled")
	require.Equal(t, pauseID, asked[len(asked)-1].id, "a key stands for the last pause")
	r.executions.end(executionKey, approval.OutcomeCompleted)
	show()
	require.True(t, view.Settled)
	require.Equal(t, "completed", view.Structured.Status)
	r.as(auth.RoleCollaborator, http.MethodGet, "/api/v1/executions/nothing", "").requireError(http.StatusNotFound, "execution_not_found")
}

func TestPausedExecutionsAreCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	count := func(role auth.Role) (got struct {
		Count int
		Any   bool
	},
	) {
		t.Helper()
		r.as(role, http.MethodGet, "/api/v1/executions/paused", "").requireOK().into(&got)
		return got
	}
	require.Zero(t, count(auth.RoleViewer).Count)
	require.False(t, count(auth.RoleViewer).Any)
	require.Equal(t, 1, count(auth.RoleCollaborator).Count)
	require.True(t, count(auth.RoleCollaborator).Any)
}

func TestTheAuditIsReadPageByPageAndFiltered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	who := r.identity(auth.RoleCollaborator)
	row := func(who approval.Identity, execution, address string) store.Audit {
		return store.Audit{
			At: time.Now(), Identity: who, Principal: "token:x", Via: "mcp", Action: "call", Execution: execution, Address: address,
			Session: sessionID, Outcome: "completed", Latency: 1500 * time.Microsecond,
		}
	}
	require.NoError(t, r.store.PutAudit(t.Context(), row(who, "a", "demo.read"), row(who, "b", "demo.send"), row(who, "b", "demo.read"),
		row(approval.Identity{Account: "x", Organisation: "elsewhere"}, "c", "demo.read")))
	const path = "/api/v1/audit"
	require.Empty(t, r.list(auth.RoleViewer, path).Items)
	require.Len(t, r.list(auth.RoleOwner, path).Items, 3)
	require.Len(t, r.list(auth.RoleCollaborator, path+"?execution=b").Items, 2)
	require.Len(t, r.list(auth.RoleCollaborator, path+"?tool=demo.send").Items, 1)
	require.Empty(t, r.list(auth.RoleCollaborator, path+"?session=none").Items)
	var first struct {
		Items []struct {
			Execution string
			LatencyMS float64
		}
		NextPageToken string
	}
	r.as(auth.RoleCollaborator, http.MethodGet, path+"?pageSize=2", "").requireOK().into(&first)
	require.Len(t, first.Items, 2)
	require.InDelta(t, 1.5, first.Items[0].LatencyMS, 0.001)
	rest := r.list(auth.RoleCollaborator, path+"?pageSize=2&pageToken="+first.NextPageToken)
	require.Len(t, rest.Items, 1)
	require.Empty(t, rest.NextPageToken)
	r.as(auth.RoleCollaborator, http.MethodGet, path+"?pageToken=x", "").requireError(http.StatusBadRequest, "invalid_payload")
}

func TestASessionIsShownWithWhatKeepsItAwakeAndEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const path = "/api/v1/mcp-sessions/" + sessionID
	var view struct {
		ID, Mode, TerminatedAt string
		Workflow               *struct{ Leases []struct{ PauseID string } }
	}
	r.as(auth.RoleCollaborator, http.MethodGet, path, "").requireOK().into(&view)
	require.Equal(t, sessionID, view.ID)
	require.Equal(t, pauseID, view.Workflow.Leases[0].PauseID)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		r.as(auth.RoleCollaborator, method, "/api/v1/mcp-sessions/none", "").requireError(http.StatusNotFound, "session_not_found")
	}
	r.as(auth.RoleViewer, http.MethodGet, path, "").requireError(http.StatusNotFound, "session_not_found")

	r.sessions.fail(connection.ErrNoWorker)
	view.Workflow = nil
	r.as(auth.RoleOwner, http.MethodGet, path, "").requireOK().into(&view)
	require.Nil(t, view.Workflow, "the row is shown all the same")
	r.sessions.fail(nil)

	for i := range 2 { // again is harmless, and tells the workflow again
		var ended struct{ Terminated bool }
		r.as(auth.RoleCollaborator, http.MethodDelete, path, "").requireOK().into(&ended)
		require.Equal(t, i == 0, ended.Terminated)
		require.Len(t, r.sessions.told(), i+1)
	}
	require.Empty(t, r.list(auth.RoleCollaborator, "/api/v1/mcp-sessions").Items)
	require.Len(t, r.list(auth.RoleCollaborator, "/api/v1/mcp-sessions?all=true").Items, 1)
	r.as(auth.RoleCollaborator, http.MethodGet, path, "").requireOK().into(&view)
	require.NotEmpty(t, view.TerminatedAt)
	audit := r.list(auth.RoleCollaborator, "/api/v1/audit")
	require.Len(t, audit.Items, 1)
	require.Equal(t, "session-terminate", audit.Items[0].Action)
}
