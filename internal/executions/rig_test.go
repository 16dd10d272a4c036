package executions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// patience is for what a busy machine does late.
const patience = 2 * time.Minute

var yes = true

// upstream is a catalog of tools that count what they do, by a name in their arguments.
type upstream struct {
	mu      sync.Mutex
	tools   map[string]catalog.Tool
	effects map[string]int
	begun   map[string]int
	gates   map[string]chan struct{}
}

func newUpstream() *upstream {
	u := &upstream{tools: map[string]catalog.Tool{}, effects: map[string]int{}, begun: map[string]int{}, gates: map[string]chan struct{}{}}
	schema := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"pin":{"type":"string","format":"password"}},"required":["name"]}`)
	for name, hints := range map[string]policy.Annotations{
		"echo": {ReadOnly: &yes}, "asking": {ReadOnly: &yes}, "down": {ReadOnly: &yes}, "put": {Destructive: &yes}, "twice": {Destructive: &yes},
		"slow": {Destructive: &yes}, "lost": {Destructive: &yes}, "unsent": {Destructive: &yes}, "broken": {Destructive: &yes},
	} {
		address := "src." + name
		u.tools[address] = catalog.Tool{Address: address, Source: "src", Name: name, Input: schema, Annotations: hints}
	}
	keyed := u.tools["src.put"]
	keyed.Address, keyed.Name, keyed.HonoursKey = "src.keyed", "keyed", true
	u.tools[keyed.Address] = keyed
	return u
}

func (u *upstream) Lookup(_ context.Context, address string) (catalog.Tool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if found, ok := u.tools[address]; ok {
		return found, nil
	}
	return catalog.Tool{}, catalog.ErrNoTool
}

func (u *upstream) Search(context.Context, string, int) ([]catalog.Hit, error) { return nil, nil }

func (u *upstream) Suggest(address string) []string {
	if strings.HasPrefix(address, "src.") {
		return []string{"src.put", "src.echo"}
	}
	return nil
}

func (u *upstream) Sources() []string { return []string{"src"} }

func (u *upstream) Validate(_ catalog.Tool, arguments json.RawMessage) error {
	var given struct{ Name *string }
	if json.Unmarshal(arguments, &given) != nil || given.Name == nil {
		return errors.New("name: is required")
	}
	return nil
}

func (u *upstream) Call(ctx context.Context, call catalog.CallRequest) (catalog.CallResult, error) {
	var given struct{ Name string }
	if err := json.Unmarshal(call.Arguments, &given); err != nil {
		return catalog.CallResult{}, err
	}
	u.count(u.begun, given.Name)
	failure := &catalog.CallError{Address: call.Address, Sent: true, Code: "upstream_timeout"}
	switch call.Address {
	case "src.slow":
		select {
		case <-u.gate(given.Name):
		case <-ctx.Done():
			return catalog.CallResult{}, failure
		}
	case "src.lost":
		u.count(u.effects, given.Name)
		return catalog.CallResult{}, failure
	case "src.down", "src.unsent":
		failure.Sent, failure.Code = false, "upstream_unreachable"
		return catalog.CallResult{}, failure
	case "src.broken":
		return text("it does not work", true), nil
	case "src.asking", "src.twice":
		return u.ask(ctx, call, given.Name)
	}
	u.count(u.effects, given.Name)
	return text("done "+given.Name, false), nil
}

// ask asks once or twice, and does nothing unless all is accepted.
func (u *upstream) ask(ctx context.Context, call catalog.CallRequest, name string) (catalog.CallResult, error) {
	said := ""
	for _, what := range []string{"branch", "message"} {
		answer, err := call.Elicit(ctx, approval.Request{
			Kind: approval.KindForm, Message: "Which " + what + "?",
			Schema: json.RawMessage(`{"type":"object","properties":{"value":{"type":"string"}}}`),
		})
		if err != nil {
			return catalog.CallResult{}, &catalog.CallError{Address: call.Address, Sent: true, Code: "upstream_protocol", Cause: err}
		}
		if answer.Action != approval.ActionAccept {
			return text("told "+string(answer.Action), false), nil
		}
		said += string(answer.Content)
	}
	u.count(u.effects, name)
	return text("done "+said, false), nil
}

func text(s string, isError bool) catalog.CallResult {
	raw, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": s}}, "isError": isError})
	return catalog.CallResult{Result: raw, ToolError: isError}
}

func (u *upstream) count(of map[string]int, name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	of[name]++
}

func (u *upstream) did(name string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.effects[name]
}

func (u *upstream) tried(name string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.begun[name]
}

func (u *upstream) gate(name string) chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.gates[name] == nil {
		u.gates[name] = make(chan struct{})
	}
	return u.gates[name]
}

// outage is a store that can be told to fail, and counts how often events are read.
type outage struct {
	*store.Store
	down  atomic.Bool
	looks atomic.Int64
}

var errDown = errors.New("the store is down")

func (o *outage) PutExecution(ctx context.Context, row store.Execution) (store.Execution, bool, error) {
	if o.down.Load() {
		return store.Execution{}, false, errDown
	}
	return o.Store.PutExecution(ctx, row)
}

func (o *outage) Execution(ctx context.Context, key string) (store.Execution, error) {
	if o.down.Load() {
		return store.Execution{}, errDown
	}
	return o.Store.Execution(ctx, key)
}

func (o *outage) ExecutionEvents(ctx context.Context, key string, after int64) ([]store.ExecutionEvent, error) {
	o.looks.Add(1)
	if o.down.Load() {
		return nil, errDown
	}
	return o.Store.ExecutionEvents(ctx, key, after)
}

func (o *outage) BeginDirect(ctx context.Context, rows []store.Direct) ([]store.Direct, []bool, error) {
	if o.down.Load() {
		return nil, nil, errDown
	}
	return o.Store.BeginDirect(ctx, rows)
}

type rig struct {
	*executions.Service
	t     *testing.T
	name  string
	store *outage
	shift atomic.Int64 // of the clock
	rules atomic.Pointer[executions.Policy]
	who   executions.Caller
}

type option func(*executions.Params)

// newRig is a gateway of its own, with an account of its own.
func newRig(t *testing.T, options ...option) *rig {
	t.Helper()
	r := &rig{t: t, name: testkit.UniqueName(), store: &outage{Store: world.store}}
	r.allow(policy.Rule{Pattern: "src.*", Effect: policy.Ask, ModelMayAnswer: true, Window: 4 * time.Minute})
	r.who = executions.Caller{
		Identity: approval.Identity{Account: r.name, Organisation: "acme"}, Principal: "token:" + r.name, Name: "Ada", Session: "",
		Mode: approval.ModeModel, Resource: "default", Client: "tests 1", Origin: "https://gate.example", Via: "mcp",
	}
	params := executions.Params{
		Store: r.store, Audit: world.store, Workflows: world.workflows, Catalog: world.upstream,
		Policy:   func(context.Context) executions.Policy { return *r.rules.Load() },
		Settings: executions.Settings{Hold: patience, CallTimeout: time.Minute},
		Now:      func() time.Time { return time.Now().Add(time.Duration(r.shift.Load())) },
		Log:      slog.New(slog.DiscardHandler),
	}
	for _, each := range options {
		each(&params)
	}
	r.Service = executions.New(params)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		require.NoError(t, r.Close(ctx))
	})
	return r
}

// allow puts rules in force.
func (r *rig) allow(rules ...policy.Rule) {
	now := executions.Policy{Rules: rules}
	now.Version = policy.Version(rules, now.Defaults)
	r.rules.Store(&now)
}

func (r *rig) page() executions.Caller {
	who := r.who
	who.Via, who.Mode, who.Session = "page", approval.ModeBrowser, ""
	return who
}

func (r *rig) call(tool, name string) executions.Call {
	return executions.Call{Address: "src." + tool, Arguments: json.RawMessage(fmt.Sprintf(`{"name":%q}`, name))}
}

// pause makes a gated call and gives its pause.
func (r *rig) pause(tool, name string) executions.Report {
	r.t.Helper()
	report, err := r.Execute(r.t.Context(), r.who, r.call(tool, name))
	require.NoError(r.t, err)
	require.Equal(r.t, executions.StatusPaused, report.Status)
	require.NotNil(r.t, report.Pause)
	return report
}

func (r *rig) resume(who executions.Caller, id string, action approval.Action) executions.Report {
	r.t.Helper()
	report, err := r.Resume(r.t.Context(), who, executions.Answer{ID: id, Action: action})
	require.NoError(r.t, err)
	return report
}

func (r *rig) requireCompleted(report executions.Report, name string) {
	r.t.Helper()
	require.Equal(r.t, executions.StatusCompleted, report.Status)
	require.Equal(r.t, approval.OutcomeCompleted, report.Outcome.Kind)
	require.Contains(r.t, string(report.Result), "done "+name)
}

// audits waits until the audit has lines of the account that fit.
func (r *rig) audits(action string, count int) []store.Audit {
	r.t.Helper()
	var lines []store.Audit
	testkit.Eventually(r.t, patience, func() bool {
		all, err := world.store.AuditLog(r.t.Context(), store.AuditFilter{Identity: &r.who.Identity})
		require.NoError(r.t, err)
		lines = nil
		for _, line := range all {
			if line.Action == action {
				lines = append(lines, line)
			}
		}
		return len(lines) >= count
	}, fmt.Sprintf("%d lines of %s in the audit", count, action))
	require.Len(r.t, lines, count)
	return lines
}
