package chaos_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// settled is how long the end of a run may be behind its outcome.
const settled = time.Minute

// witnessed is one call as its client, the store, Temporal and the upstream saw it.
type witnessed struct {
	planned
	ending

	row     store.Execution
	found   bool // in the store, under the key that the client was told
	pause   store.PauseRow
	run     execution.Description
	effects int // upstream, by the call's idempotency key
	named   int // upstream, by its name: more than effects, where another execution was made of it
}

func (r *rig) witness(p planned, e ending) witnessed {
	r.t.Helper()
	w := witnessed{planned: p, ending: e}
	counts := r.upstreams[p.source].Counts()
	w.named = counts.Effects[p.name]
	key := e.told.key()
	if key == "" {
		return w
	}
	w.effects = counts.Keys[key+"/1"]
	ctx := r.t.Context()
	var err error
	w.row, err = r.Store.Execution(ctx, key)
	w.found = err == nil
	if w.pause, err = r.Store.Pause(ctx, approval.PauseID(key, 1)); err != nil {
		r.t.Logf("%s: no pause: %v", p.name, err)
	}
	executions := execution.NewClient(r.Temporal, r.Config.Temporal.TaskQueue)
	testkit.Poll(r.t, settled, func() bool {
		w.run, err = executions.Describe(ctx, key)
		return err == nil && !w.run.Running
	})
	return w
}

// lost reports whether nobody can say what became of the call.
func (w witnessed) lost() bool {
	return w.err != nil || !w.told.over() || !w.found || w.row.Outcome == nil || w.run.Status != "Completed"
}

func (w witnessed) unknown() bool { return w.told.Reason == string(approval.OutcomeUnknown) }

// report is what happened in a scenario.
type report struct {
	scenario scenario
	took     time.Duration
	kills    []kill
	calls    []witnessed
}

// hitByWorker are the executions whose call was claimed when their worker was killed.
func (r report) hitByWorker() map[string]bool {
	hit := map[string]bool{}
	for _, k := range r.kills {
		for _, key := range k.claimed {
			hit[key] = hit[key] || k.victim == victimWorker
		}
	}
	return hit
}

func (r report) count(holds func(witnessed) bool) int {
	count := 0
	for _, w := range r.calls {
		if holds(w) {
			count++
		}
	}
	return count
}

func (r report) killed(holds func(kill) bool) int {
	return len(slices.DeleteFunc(slices.Clone(r.kills), func(k kill) bool { return !holds(k) }))
}

func (r report) doubles() int {
	return r.count(func(w witnessed) bool { return w.effects > 1 || w.named > 1 })
}

func (r report) unknown() int { return r.count(witnessed.unknown) }

func (r report) lost() int { return r.count(witnessed.lost) }

// require holds the report against what is promised.
func (r report) require(t *testing.T) {
	t.Helper()
	hit := r.hitByWorker()
	keys := map[string]bool{}
	for _, w := range r.calls {
		r.requireCall(t, w, hit)
		keys[w.told.key()] = true
	}
	require.Len(t, keys, len(r.calls), "each call is one execution")
	require.Zero(t, r.doubles())
	require.Zero(t, r.lost())
	require.LessOrEqual(t, r.unknown(), len(r.calls)/10, "few outcomes are unknown")
	for _, victim := range []string{victimWorker, victimGateway, victimTemporal} {
		require.Positive(t, r.killed(func(k kill) bool { return k.victim == victim }), "no %s was killed", victim)
	}
	require.GreaterOrEqual(t, 3*r.killed(kill.hit), len(r.kills), "the kills hit something")
}

func (r report) requireCall(t *testing.T, w witnessed, hit map[string]bool) {
	t.Helper()
	about := fmt.Sprintf("seed %d, %s at %s, accepted %t: %s, row %s, run %s, effects %d", r.scenario.seed, w.name, w.source, w.accept,
		w.ending, w.row.Status, w.run.Status, w.effects)
	require.False(t, w.lost(), about)
	require.Zero(t, w.told.forgotten, "a session is not forgotten: %s", about)
	require.Equal(t, w.effects, w.named, "it was made by one execution: %s", about)
	require.NotNil(t, w.pause.Decision, about)
	require.Equal(t, w.action(), w.pause.Decision.Action, about)
	switch {
	case !w.accept:
		require.Equal(t, approval.OutcomeDeclined, w.row.Outcome.Kind, about)
		require.Equal(t, string(approval.OutcomeDeclined), w.told.Reason, about)
		require.Zero(t, w.effects, "declined: %s", about)
	case w.unknown():
		require.Equal(t, approval.OutcomeUnknown, w.row.Outcome.Kind, about)
		require.Equal(t, mail, w.source, "a call that may be made again has an outcome: %s", about)
		require.True(t, hit[w.told.key()], "no worker was killed under the call: %s", about)
		require.LessOrEqual(t, w.effects, 1, about)
	default:
		require.Equal(t, approval.OutcomeCompleted, w.row.Outcome.Kind, about)
		require.Equal(t, payload.StatusCompleted, w.told.Status, about)
		require.Equal(t, 1, w.effects, "accepted: %s", about)
	}
}

// table shows reports, a line each.
func table(reports ...report) string {
	lines := []string{fmt.Sprintf("%-20s %5s %5s | %6s %7s %8s | %7s %7s %7s | %8s %8s %7s %7s %5s | %6s", "seed", "calls", "kills",
		"worker", "gateway", "temporal", "claimed", "waiting", "neither", "accepted", "declined", "unknown", "doubles", "lost", "took")}
	for _, r := range reports {
		of := func(victim string) int { return r.killed(func(k kill) bool { return k.victim == victim }) }
		lines = append(lines, fmt.Sprintf("%-20d %5d %5d | %6d %7d %8d | %7d %7d %7d | %8d %8d %7d %7d %5d | %5.1fs",
			r.scenario.seed, len(r.calls), len(r.kills), of(victimWorker), of(victimGateway), of(victimTemporal),
			r.killed(func(k kill) bool { return len(k.claimed) > 0 }), r.killed(func(k kill) bool { return k.waiting > 0 }),
			r.killed(func(k kill) bool { return !k.hit() }),
			r.count(func(w witnessed) bool { return w.accept }), r.count(func(w witnessed) bool { return !w.accept }),
			r.unknown(), r.doubles(), r.lost(), r.took.Seconds()))
	}
	return strings.Join(lines, "\n")
}
