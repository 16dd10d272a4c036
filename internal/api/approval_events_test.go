package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const approvalEvents = "/api/v1/approvals/events"

// follow opens a stream of a role's and sends its lines; the channel is closed with the stream.
func (r *rig) follow(role auth.Role, path, last string) (lines <-chan string, end func()) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server.URL+path, nil)
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer "+r.tokens[role])
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	var res *http.Response
	testkit.Eventually(r.t, time.Minute, func() bool { // a busy machine's store may not say who asks
		res, err = (&http.Client{}).Do(req) //nolint:bodyclose // by the reader below
		require.NoError(r.t, err)
		if res.StatusCode != http.StatusServiceUnavailable {
			return true
		}
		require.NoError(r.t, res.Body.Close())
		return false
	}, "the stream begins")
	require.Equal(r.t, http.StatusOK, res.StatusCode)
	require.Equal(r.t, "text/event-stream; charset=utf-8", res.Header.Get("Content-Type"))
	read := make(chan string)
	go func() {
		defer close(read)
		defer func() { _ = res.Body.Close() }()
		scanner := bufio.NewScanner(res.Body)
		for scanner.Scan() {
			select {
			case read <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	r.t.Cleanup(func() {
		cancel()
		for range read { // until it is closed
		}
	})
	return read, cancel
}

// event is the next event of a stream.
func event(t *testing.T, lines <-chan string) (id int64, name string, data []byte) {
	t.Helper()
	id, err := strconv.ParseInt(next(t, lines, "id: "), 10, 64)
	require.NoError(t, err)
	return id, next(t, lines, "event: "), []byte(next(t, lines, "data: "))
}

func requireApproval(t *testing.T, lines <-chan string, id, state string) int64 {
	t.Helper()
	change, name, data := event(t, lines)
	require.Equal(t, "approval", name)
	var item struct{ ID, State string }
	require.NoError(t, json.Unmarshal(data, &item))
	require.Equal(t, id, item.ID)
	require.Equal(t, state, item.State)
	return change
}

func (r *rig) decided(id string) {
	r.t.Helper()
	require.NoError(r.t, r.store.RecordDecided(r.t.Context(), approval.Pause{
		ID: id, Number: 1, Decision: &approval.Decision{Action: approval.ActionAccept, By: "token:x", Via: approval.ViaPage, At: time.Now()},
	}, nil))
}

func TestApprovalsAreFollowedFromWhatWaitsOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lines, _ := r.follow(auth.RoleCollaborator, approvalEvents, "")
	mark, name, data := event(t, lines)
	require.Equal(t, "snapshot", name)
	var snapshot listed
	require.NoError(t, json.Unmarshal(data, &snapshot))
	require.Len(t, snapshot.Items, 1)
	require.Equal(t, pauseID, snapshot.Items[0].ID)
	next(t, lines, ": alive")

	r.more(r.identity(auth.RoleOwner), "demo.others", 9) // somebody else's is not told
	r.more(r.identity(auth.RoleCollaborator), "demo.more", 1)
	first := requireApproval(t, lines, approval.PauseID(key(1), 1), "waiting")
	require.Greater(t, first, mark)
	r.decided(pauseID)
	require.Greater(t, requireApproval(t, lines, pauseID, "decided"), first)

	again, _ := r.follow(auth.RoleCollaborator, approvalEvents, strconv.FormatInt(first, 10))
	requireApproval(t, again, pauseID, "decided")
	made, _ := r.follow(auth.RoleCollaborator, approvalEvents, "999999")
	next(t, made, ": alive")
	r.decided(approval.PauseID(key(1), 1))
	requireApproval(t, made, approval.PauseID(key(1), 1), "decided")

	all, _ := r.follow(auth.RoleOwner, approvalEvents, "0")
	requireApproval(t, all, approval.PauseID(key(9), 1), "waiting")
	r.api.Drain()
	for range lines { // the stream ends with the gateway
	}
}

func TestAStreamOfApprovalsThatCannotBeginSaysWhy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ask := func(role auth.Role, query, last string) answer {
		return r.do(request{method: http.MethodGet, path: approvalEvents + query, role: role, header: map[string]string{"Last-Event-ID": last}})
	}
	ask("", "", "").requireError(http.StatusUnauthorized, "unauthorized")
	ask(auth.RoleViewer, "", "x").requireError(http.StatusBadRequest, "invalid_payload")
	ask(auth.RoleViewer, "?scope=organisation", "").requireError(http.StatusForbidden, "forbidden")
	head := r.raw(request{method: http.MethodHead, path: approvalEvents, role: auth.RoleViewer})
	require.Equal(t, http.StatusOK, head.status)
	require.NoError(t, r.store.Close())
	ask(auth.RoleViewer, "", "").requireError(http.StatusServiceUnavailable, "store_unavailable")
}
