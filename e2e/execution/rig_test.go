package execution_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// late is how long anything may take on a busy machine.
const late = 2 * time.Minute

// rig is a store, a dev server, an upstream, and workers in processes of their own.
type rig struct {
	*stack.Stack

	executions *execution.Client
	sessions   *session.Client
	owner      approval.Identity
	upstream   *upstream
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := stack.New(t, stack.Options{NoWorker: true})
	return &rig{
		Stack: s, executions: execution.NewClient(s.Temporal, s.Config.Temporal.TaskQueue),
		sessions: session.NewClient(s.Temporal, s.Config.Temporal.TaskQueue),
		owner:    approval.Identity{Account: "ann", Organisation: "default"}, upstream: newUpstream(t),
	}
}

// startWorker starts a worker in a process of its own.
func (r *rig) startWorker() *testkit.Process {
	r.TB.Helper()
	options, err := json.Marshal(workerOptions{
		Address: r.Server.Address(), Namespace: r.Server.Namespace(), Queue: r.Config.Temporal.TaskQueue, Keys: r.Config.Keys.Dir,
		Store: r.Config.Store.Path, Upstream: r.upstream.server.URL,
	})
	require.NoError(r.TB, err)
	return testkit.Start(r.TB, testkit.Command{Path: os.Args[0], Env: append(os.Environ(), workerEnv+"="+string(options))})
}

// start puts an execution into the store and starts it.
func (r *rig) start(edit func(*execution.Input)) string {
	r.TB.Helper()
	key := approval.NewKey()
	in := execution.Input{
		Key: key, Identity: r.owner, Mode: approval.ModeBrowser, Address: "mail.send", Digest: "d1", Policy: "p1",
		Window: time.Hour, CallTimeout: time.Minute, AskedBy: "token:1",
		Gate: &approval.Request{Kind: approval.KindGate, Message: "Approve mail.send?"},
	}
	edit(&in)
	_, _, err := r.Store.PutExecution(r.TB.Context(), store.Execution{
		Key: key, Identity: r.owner, Session: in.Session, Mode: in.Mode, Resource: "default", Client: "test", Address: in.Address,
		Arguments: []byte(`{"to":"CANARY-ARGUMENT"}`), Digest: in.Digest, Policy: in.Policy, CreatedAt: time.Now(), Status: "running",
	})
	require.NoError(r.TB, err)
	require.NoError(r.TB, r.executions.Start(r.TB.Context(), in))
	require.NoError(r.TB, r.executions.Start(r.TB.Context(), in), "started again, it is the same")
	return key
}

func asIs(*execution.Input) {}

// paused waits until a pause is written down.
func (r *rig) paused(key string, n int) approval.Pause {
	r.TB.Helper()
	var row store.PauseRow
	testkit.Eventually(r.TB, late, func() bool {
		var err error
		row, err = r.Store.Pause(r.TB.Context(), approval.PauseID(key, n))
		return err == nil
	}, "a pause")
	return row.Pause
}

func (r *rig) decide(key string, n int, action approval.Action) execution.Resumed {
	r.TB.Helper()
	return r.decideWith(key, n, approval.Decision{Action: action, By: "ann", Via: approval.ViaPage})
}

func (r *rig) decideWith(key string, n int, wish approval.Decision) execution.Resumed {
	r.TB.Helper()
	var got execution.Resumed
	testkit.Eventually(r.TB, late, func() bool {
		var err error
		got, err = r.executions.Resume(r.TB.Context(), r.owner, execution.Resume{
			PauseID: approval.PauseID(key, n), Decision: wish,
		})
		return err == nil
	}, "a decision")
	return got
}

// settled waits until the outcome is written down and the run is over.
func (r *rig) settled(key string) approval.Outcome {
	r.TB.Helper()
	var row store.Execution
	testkit.Eventually(r.TB, late, func() bool {
		var err error
		row, err = r.Store.Execution(r.TB.Context(), key)
		require.NoError(r.TB, err)
		return row.Outcome != nil
	}, "an outcome")
	testkit.Eventually(r.TB, late, func() bool {
		d, err := r.executions.Describe(r.TB.Context(), key)
		return err == nil && !d.Running
	}, "the end of the run")
	return *row.Outcome
}

// history is that of the current run of a workflow.
func (r *rig) history(workflowID string) *historypb.History {
	r.TB.Helper()
	return r.historyOf(workflowID, "")
}

func (r *rig) historyOf(workflowID, run string) *historypb.History {
	r.TB.Helper()
	ctx, cancel := context.WithTimeout(r.TB.Context(), late)
	defer cancel()
	history := &historypb.History{}
	events := r.Temporal.GetWorkflowHistory(ctx, workflowID, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(r.TB, err)
		history.Events = append(history.Events, event)
	}
	return history
}

// upstream is a tool that counts its runs by idempotency key, and can be held.
type upstream struct {
	server *httptest.Server

	mu   sync.Mutex
	ran  map[string]int
	said string        // the arguments of the last call that was answered
	hold chan struct{} // closed: calls are answered at once
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{ran: map[string]int{}, hold: make(chan struct{})}
	close(u.hold)
	u.server = httptest.NewServer(http.HandlerFunc(u.serve))
	t.Cleanup(func() {
		u.server.CloseClientConnections()
		u.server.Close()
	})
	return u
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	var call wireCall
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, "no call", http.StatusBadRequest)
		return
	}
	u.mu.Lock()
	u.ran[call.Key]++
	hold := u.hold
	u.mu.Unlock()
	select {
	case <-hold:
	case <-r.Context().Done():
		return
	}
	u.mu.Lock()
	u.said = string(call.Arguments)
	u.mu.Unlock()
	_, _ = w.Write([]byte(`{"content":[{"type":"text","text":"CANARY-RESULT"}]}`))
}

// holds has calls wait until release is called.
func (u *upstream) holds() (release func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	hold := make(chan struct{})
	u.hold = hold
	return sync.OnceFunc(func() { close(hold) })
}

func (u *upstream) lastArguments() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.said
}

func (u *upstream) runs(key string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ran[key+"/1"]
}
