package cli_test

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
	mcpsession "github.com/holdfast-mcp/holdfast/workflows/session"
)

const (
	executionKey = "00112233445566778899aabbccddeeff"
	pauseID      = "exec_" + executionKey + "_1"
	toolAddress  = "demo.send"
	sessionID    = "5e5510"
)

// fakeRuns stands for executions' workflows: it writes to the store what they do.
type fakeRuns struct {
	line *line

	mu      sync.Mutex
	asked   []execution.Resume
	ends    []execution.Cancel
	started []execution.Input
	fault   error
	// slow leaves a decided execution without an outcome.
	slow bool
	// toolError lets the tool answer with an error.
	toolError bool
}

func (f *fakeRuns) Start(_ context.Context, in execution.Input) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = append(f.started, in)
	if f.fault != nil {
		return f.fault
	}
	f.line.store(func(st *store.Store) {
		row, err := st.Execution(f.line.t.Context(), in.Key)
		require.NoError(f.line.t, err)
		f.line.pause(st, row, *in.Gate)
		if in.AutoApprove {
			f.end(st, in.Key, approval.ActionAccept)
		}
	})
	return nil
}

func (f *fakeRuns) Resume(ctx context.Context, _ approval.Identity, in execution.Resume) (out execution.Resumed, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, in)
	if f.fault != nil {
		return out, f.fault
	}
	f.line.store(func(st *store.Store) {
		row, err := st.Pause(ctx, in.PauseID)
		require.NoError(f.line.t, err)
		if !row.Open() {
			verdict, _ := row.Judge(in.Decision)
			out = execution.Resumed{Verdict: execution.Verdict(verdict), Pause: row.Pause}
			return
		}
		row.Decision = &in.Decision
		require.NoError(f.line.t, st.RecordDecided(ctx, row.Pause, []store.ExecutionEvent{
			{Key: row.Key, Seq: 2, Kind: store.EventDecided, Pause: 1, At: time.Now()},
		}))
		out = execution.Resumed{Verdict: execution.VerdictDecided, Pause: row.Pause}
		if !f.slow {
			f.end(st, row.Key, in.Decision.Action)
		}
	})
	return out, nil
}

// end writes what a decision leads to.
func (f *fakeRuns) end(st *store.Store, key string, action approval.Action) {
	t := f.line.t
	outcome := approval.Outcome{At: time.Now()}
	switch action {
	case approval.ActionDecline:
		outcome.Kind = approval.OutcomeDeclined
	case approval.ActionCancel:
		outcome.Kind = approval.OutcomeCancelled
	case approval.ActionAccept:
		outcome.Kind, outcome.Calls, outcome.ToolError = approval.OutcomeCompleted, 1, f.toolError
		call, claimed, err := st.ClaimCall(t.Context(), store.Call{Key: key, Number: 1, Fence: 1, Idempotency: key + "-1", ClaimedAt: time.Now()})
		require.NoError(t, err)
		require.True(t, claimed)
		call.DoneAt, call.Result, call.ToolError = time.Now(), []byte(`{"content":[{"type":"text","text":"sent to you"}]}`), f.toolError
		require.NoError(t, st.FinishCall(t.Context(), call))
	}
	require.NoError(t, st.RecordOutcome(t.Context(), store.Ending{
		Key: key, Outcome: outcome, Retained: time.Now().Add(time.Hour),
		Events: []store.ExecutionEvent{{Key: key, Seq: 3, Kind: store.EventOutcome, At: time.Now()}},
	}))
}

func (f *fakeRuns) Cancel(_ context.Context, key string, in execution.Cancel) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ends = append(f.ends, in)
	if f.fault != nil {
		return f.fault
	}
	f.line.store(func(st *store.Store) { f.end(st, key, approval.ActionCancel) })
	return nil
}

func (f *fakeRuns) Outcome(context.Context, string) (*approval.Outcome, error) { return nil, f.fault }

// fakeMCPSessions stands for sessions' workflows.
type fakeMCPSessions struct {
	mu    sync.Mutex
	ended []mcpsession.Terminate
	fault error
}

func (f *fakeMCPSessions) Snapshot(_ context.Context, id string) (mcpsession.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return mcpsession.Snapshot{
		ID: id, ExpiresAt: noon, Leases: []mcpsession.Lease{{PauseID: pauseID, Since: noon, Until: noon}},
	}, f.fault
}

func (f *fakeMCPSessions) Terminate(_ context.Context, _ string, in mcpsession.Terminate) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = append(f.ended, in)
	return f.fault
}

// asks puts an execution that waits for its first pause to be decided on.
func (l *line) asks() store.Execution {
	l.t.Helper()
	row := store.Execution{
		Key: executionKey, Identity: approval.Identity{Account: "ann", Organisation: "acme"}, Session: sessionID, Mode: approval.ModeModel,
		Resource: "default", Client: "agent 1.0", Address: toolAddress, Arguments: []byte(`{"to":"you","password":"canary-5ecret"}`),
		Digest: "d1", Policy: "p1", CreatedAt: time.Now(), Status: "running",
	}
	l.store(func(st *store.Store) {
		_, fresh, err := st.PutExecution(l.t.Context(), row)
		require.NoError(l.t, err)
		require.True(l.t, fresh)
		l.pause(st, row, approval.Request{Kind: approval.KindGate, Message: "Approve demo.send?", Reason: "rule 1: demo.*"})
	})
	return row
}

func (l *line) pause(st *store.Store, row store.Execution, question approval.Request) {
	l.t.Helper()
	require.NoError(l.t, st.RecordPaused(l.t.Context(), store.PauseRow{
		Pause: approval.Pause{
			ID: approval.PauseID(row.Key, 1), Number: 1, CreatedAt: row.CreatedAt, Deadline: row.CreatedAt.Add(4 * time.Hour), Request: question,
		},
		Key: row.Key, Identity: row.Identity, Session: row.Session, Address: row.Address, Client: row.Client, Policy: row.Policy, Digest: row.Digest,
	}, store.ExecutionEvent{Key: row.Key, Seq: 1, Kind: store.EventPaused, Pause: 1, At: row.CreatedAt}))
}

// client puts a session of an MCP client.
func (l *line) client() {
	l.t.Helper()
	l.store(func(st *store.Store) {
		require.NoError(l.t, st.PutSession(l.t.Context(), store.Session{
			ID: sessionID, Identity: approval.Identity{Account: "ann", Organisation: "acme"}, Mode: approval.ModeModel, Resource: "default",
			Role: "collaborator", Client: "agent 1.0", Protocol: "2025-11-25", CreatedAt: noon, LastSeenAt: noon,
		}))
	})
}
