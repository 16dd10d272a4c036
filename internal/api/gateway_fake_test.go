package api_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

const (
	sessionID = "5e5510"
	// executionKey has one pause that waits, pauseID.
	executionKey = "00112233445566778899aabbccddeeff"
	pauseID      = "exec_" + executionKey + "_1"
	toolAddress  = "demo.send"
)

// asked is a question to the engine.
type asked struct {
	what   string
	who    executions.Caller
	call   executions.Call
	answer executions.Answer
	id     string
	reason string
}

// fakeEngine stands for executions: the first decision on a pause counts, and it shows what is an identity's to that one and to an
// operator of its organisation.
type fakeEngine struct {
	mu      sync.Mutex
	asked   []asked
	fault   error
	pauses  map[string]*store.PauseRow // by id
	results map[string]*approval.Outcome
	result  json.RawMessage
	report  executions.Report // of Execute
	settled bool
}

func newEngine() *fakeEngine {
	return &fakeEngine{
		pauses: map[string]*store.PauseRow{}, results: map[string]*approval.Outcome{},
		result: json.RawMessage(`{"content":[{"type":"text","text":"sent"}]}`),
		report: executions.Report{
			Status: executions.StatusCompleted, Address: toolAddress, Outcome: &approval.Outcome{Kind: approval.OutcomeCompleted}, Result: json.RawMessage(`{"content":[{"type":"text","text":"sent"}]}`),
		},
	}
}

func (f *fakeEngine) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = err
}

// put makes a pause known.
func (f *fakeEngine) put(row store.PauseRow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pauses[row.ID] = &row
}

// end lets an execution end.
func (f *fakeEngine) end(key string, kind approval.OutcomeKind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.results[key] = &approval.Outcome{Kind: kind, At: time.Now(), Calls: 1}
	for _, row := range f.pauses {
		if row.Key == key {
			row.Outcome = kind
			row.Expired = kind == approval.OutcomeExpired && row.Decision == nil
			row.Dropped = kind != approval.OutcomeExpired && row.Decision == nil
		}
	}
}

// lose lets the run of an execution be gone from Temporal.
func (f *fakeEngine) lose(key, message string) {
	f.end(key, approval.OutcomeFailed)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.results[key].Code, f.results[key].Message = approval.CodeRunEnded, message
}

// of lists what was asked of a kind.
func (f *fakeEngine) of(what string) []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	var some []asked
	for _, a := range f.asked {
		if a.what == what {
			some = append(some, a)
		}
	}
	return some
}

// find is called under the lock.
func (f *fakeEngine) find(a asked) (*store.PauseRow, error) {
	f.asked = append(f.asked, a)
	if f.fault != nil {
		return nil, f.fault
	}
	key, n, err := approval.ParseID(a.id)
	if err != nil {
		return nil, &executions.NotFoundError{ID: a.id}
	}
	row := f.pauses[approval.PauseID(key, max(n, 1))]
	switch {
	case row == nil:
		return nil, &executions.NotFoundError{ID: a.id}
	case row.Identity != a.who.Identity && (!a.who.Operator || row.Identity.Organisation != a.who.Identity.Organisation):
		return nil, &executions.ForbiddenError{ID: a.id}
	default:
		return row, nil
	}
}

// tell is called under the lock.
func (f *fakeEngine) tell(row *store.PauseRow) executions.Report {
	report := executions.Report{
		Status: executions.StatusPending, Key: row.Key, Address: row.Address, Arguments: json.RawMessage(`{"to":"you"}`), Digest: row.Digest,
	}
	pause := row.Pause
	report.Pause = &pause
	if outcome := f.results[row.Key]; outcome != nil {
		report.Status, report.Outcome = executions.StatusCompleted, outcome
		if outcome.Kind == approval.OutcomeCompleted {
			report.Result = f.result
		}
	} else if row.Open() {
		report.Status = executions.StatusPaused
	}
	return report
}

func (f *fakeEngine) Execute(_ context.Context, who executions.Caller, call executions.Call) (executions.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, asked{what: "execute", who: who, call: call})
	return f.report, f.fault
}

func (f *fakeEngine) decide(a asked) (executions.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row, err := f.find(a)
	if err != nil {
		return executions.Report{}, err
	}
	var conflict *approval.Decision
	switch {
	case row.Open():
		row.Decision = &approval.Decision{
			Action: a.answer.Action, Content: a.answer.Content, By: a.who.Principal, Name: a.who.Name, Via: approval.Via(a.who.Via),
			Reason: a.answer.Reason, At: time.Now(),
		}
	case row.Decision != nil && row.Decision.Action != a.answer.Action:
		conflict = row.Decision
	}
	report := f.tell(row)
	report.Conflict = conflict
	return report, nil
}

func (f *fakeEngine) Resume(_ context.Context, who executions.Caller, answer executions.Answer) (executions.Report, error) {
	report, err := f.decide(asked{what: "resume", who: who, answer: answer, id: answer.ID})
	if err == nil && report.Conflict == nil && report.Outcome == nil {
		f.end(report.Key, approval.OutcomeCompleted)
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.tell(f.pauses[answer.ID]), nil
	}
	return report, err
}

func (f *fakeEngine) Decide(_ context.Context, who executions.Caller, answer executions.Answer) (executions.Report, error) {
	return f.decide(asked{what: "decide", who: who, answer: answer, id: answer.ID})
}

func (f *fakeEngine) Cancel(_ context.Context, who executions.Caller, id, reason string) (executions.Report, error) {
	f.mu.Lock()
	row, err := f.find(asked{what: "cancel", who: who, id: id, reason: reason})
	f.mu.Unlock()
	if err != nil {
		return executions.Report{}, err
	}
	f.end(row.Key, approval.OutcomeCancelled)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tell(row), nil
}

func (f *fakeEngine) Lookup(_ context.Context, who executions.Caller, id string) (executions.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row, err := f.find(asked{what: "lookup", who: who, id: id})
	if err != nil {
		return executions.Report{}, err
	}
	return f.tell(row), nil
}

func (f *fakeEngine) Paused(_ context.Context, who executions.Caller, id string) (store.PauseRow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row, err := f.find(asked{what: "paused", who: who, id: id})
	if err != nil {
		return store.PauseRow{}, err
	}
	return *row, nil
}

func (f *fakeEngine) PausedCount(_ context.Context, who executions.Caller) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, row := range f.pauses {
		if row.Identity == who.Identity && row.Open() {
			n++
		}
	}
	return n, f.fault
}

func (f *fakeEngine) HasPaused(ctx context.Context, who executions.Caller) (bool, error) {
	n, err := f.PausedCount(ctx, who)
	return n > 0, err
}

func (f *fakeEngine) Settled(_ context.Context, who executions.Caller, id string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.find(asked{what: "settled", who: who, id: id})
	return f.settled, err
}

// fakeTools is a catalog of two tools.
type fakeTools struct{ fault error }

func tools() []catalog.Tool {
	yes := true
	read := catalog.Tool{Address: "demo.read", Source: "demo", Name: "read", Description: "reads", Input: json.RawMessage(`{"type":"object"}`)}
	read.Annotations.ReadOnly = &yes
	return []catalog.Tool{read, {Address: toolAddress, Source: "demo", Name: "send", Input: json.RawMessage(`{"type":"object"}`)}}
}

func (f fakeTools) Lookup(_ context.Context, address string) (catalog.Tool, error) {
	for _, tool := range tools() {
		if tool.Address == address {
			return tool, f.fault
		}
	}
	return catalog.Tool{}, catalog.ErrNoTool
}

func (f fakeTools) Search(_ context.Context, query string, limit int) ([]catalog.Hit, error) {
	var hits []catalog.Hit
	for _, tool := range tools() {
		if (query == "" || query == tool.Name) && len(hits) < limit {
			hits = append(hits, catalog.Hit{Tool: tool, Score: 1})
		}
	}
	return hits, f.fault
}

func (fakeTools) Suggest(string) []string { return []string{"demo.read", toolAddress} }

// fakeSessions stands for workflows of sessions.
type fakeSessions struct {
	mu    sync.Mutex
	ended []string
	fault error
}

func (f *fakeSessions) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = err
}

func (f *fakeSessions) Snapshot(_ context.Context, id string) (session.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return session.Snapshot{
		ID: id, Leases: []session.Lease{{PauseID: pauseID, Since: time.Now(), Until: time.Now()}}, Hooks: []session.HookEvent{},
	}, f.fault
}

func (f *fakeSessions) Terminate(_ context.Context, id string, _ session.Terminate) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == nil {
		f.ended = append(f.ended, id)
	}
	return f.fault
}

func (f *fakeSessions) told() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ended)
}

// identity is whose what a token makes is.
func (r *rig) identity(role auth.Role) approval.Identity {
	r.t.Helper()
	return r.principals[role].Identity
}
