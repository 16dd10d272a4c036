package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/fleet"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakes stand for the store and Temporal.
type fakes struct {
	mu      sync.Mutex
	wanted  []store.KeyOfEngine
	removed []delivery.Key // by an intent
	running map[delivery.Key]*connection.Snapshot
	lagging []delivery.Key // running, and not in visibility yet
	watched []string

	calls   []string
	removes []string
	filter  connection.Filter
	fail    map[string]error // by call
	// told is what a connection does when it is told.
	told func(key delivery.Key)
}

func newFakes() *fakes {
	return &fakes{running: map[delivery.Key]*connection.Snapshot{}, fail: map[string]error{}}
}

func (f *fakes) run(state delivery.State, keys ...delivery.Key) {
	for _, key := range keys {
		s := &connection.Snapshot{Directory: key.Directory}
		s.State = state
		f.running[key] = s
	}
}

func TestWhatCannotBeClearedAwayKeepsNoPassFromItsWork(t *testing.T) {
	t.Parallel()
	f := newFakes()
	r := f.reconciler()
	asked := 0
	r.Prune = func(context.Context) error {
		asked++
		return errors.New("the store is busy")
	}
	_, err := r.Pass(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, asked)
}

func (f *fakes) pass(t *testing.T) fleet.Result {
	t.Helper()
	got, err := f.reconciler().Pass(t.Context())
	require.NoError(t, err)
	return got
}

func (f *fakes) reconciler() *fleet.Reconciler {
	return fleet.NewReconciler(fleet.Params{
		Store: f, Connections: f, Engines: engines{f}, TaskQueue: "ours", Settle: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
}

func (f *fakes) note(call string) error {
	f.calls = append(f.calls, call)
	return f.fail[call]
}

func (f *fakes) Keys(context.Context) ([]store.KeyOfEngine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.wanted), func(w store.KeyOfEngine) bool { return slices.Contains(f.removed, w.Key) }), nil
}

func (f *fakes) Effective(_ context.Context, key store.Key) (store.Effective, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.note("effective " + key.Name); err != nil {
		return store.Effective{}, err
	}
	if !slices.ContainsFunc(f.wanted, func(w store.KeyOfEngine) bool { return w.Key == key }) {
		return store.Effective{}, fmt.Errorf("read: %w", store.ErrNotFound)
	}
	return store.Effective{Removed: slices.Contains(f.removed, key)}, nil
}

func (f *fakes) DeleteRuntime(_ context.Context, key store.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.note("forget " + key.Name)
}

// ListPage gives two rows at a time.
func (f *fakes) ListPage(_ context.Context, filter connection.Filter, p connection.Page) ([]connection.Listed, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filter = filter
	var rows []connection.Listed
	for key, s := range f.running {
		if slices.Contains(f.lagging, key) {
			continue
		}
		one := row(key)
		one.Snapshot = s
		rows = append(rows, one)
	}
	slices.SortFunc(rows, func(a, b connection.Listed) int { return strings.Compare(a.WorkflowID, b.WorkflowID) })
	from, _ := strconv.Atoi(p.Token)
	to := min(from+2, len(rows))
	next := ""
	if to < len(rows) {
		next = strconv.Itoa(to)
	}
	return rows[from:to], next, nil
}

func (f *fakes) Describe(_ context.Context, key delivery.Key) (connection.Description, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, found := f.running[key]
	if !found {
		return connection.Description{}, fmt.Errorf("describe: %w", connection.ErrNotFound)
	}
	copied := *s
	return connection.Description{Running: true, Snapshot: &copied}, nil
}

func (f *fakes) Ensure(_ context.Context, key delivery.Key, engineID string, _ connection.DesiredChanged) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.note("ensure " + key.Name + " " + engineID); err != nil {
		return err
	}
	if f.running[key] == nil {
		f.running[key] = &connection.Snapshot{Directory: key.Directory}
	}
	if f.told != nil {
		f.told(key)
	}
	return nil
}

func (f *fakes) Remove(_ context.Context, key delivery.Key, id string, _ connection.Request) (connection.Health, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removes = append(f.removes, id)
	if err := f.note("remove " + key.Name); err != nil {
		return connection.Health{}, err
	}
	delete(f.running, key)
	return connection.Health{}, nil
}

type engines struct{ *fakes }

func (e engines) Running(_ context.Context, id string) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.watched, id), e.fail["running "+id]
}

func (e engines) Ensure(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watched = append(e.watched, id)
	return nil
}

func TestAPassStartsWhatIsMissingEndsStraysAndWatchesEngines(t *testing.T) {
	t.Parallel()
	f := newFakes()
	for i := range 6 {
		f.wanted = append(f.wanted, want(i))
	}
	f.watched = []string{"e0"}
	f.run(delivery.Ready, keyOf(0), keyOf(1), keyOf(2))
	f.run(delivery.NotDesired, keyOf(7), keyOf(8))
	got := f.pass(t)
	require.Equal(t, fleet.Result{Wanted: 6, Started: 3, Closed: 2, Engines: 1}, got)
	require.Equal(t, "ours", f.filter.TaskQueue, "what runs for others is left alone")
	require.Len(t, f.running, 6)

	calls := len(f.calls)
	require.Equal(t, fleet.Result{Wanted: 6}, f.pass(t))
	require.Len(t, f.calls, calls, "a second pass has nothing to say to anybody")
}

func TestOneThatRunsAndIsNotListedYetIsNotMissing(t *testing.T) {
	t.Parallel()
	f := newFakes()
	f.wanted = []store.KeyOfEngine{want(0)}
	f.watched = []string{"e0"}
	f.run(delivery.Ready, keyOf(0))
	f.lagging = []delivery.Key{keyOf(0)}
	require.Equal(t, fleet.Result{Wanted: 1}, f.pass(t))
	require.Empty(t, f.calls)
}

func TestWhatAnIntentRemovedIsEndedToo(t *testing.T) {
	t.Parallel()
	f := newFakes()
	f.wanted, f.removed = []store.KeyOfEngine{want(0)}, []delivery.Key{keyOf(0)}
	f.run(delivery.NotDesired, keyOf(0))
	require.Equal(t, 1, f.pass(t).Closed)
	require.Equal(t, []string{"fleet-" + row(keyOf(0)).RunID}, f.removes, "one id for one run")
	require.Contains(t, f.calls, "forget n0")
}

func TestWhatIsWantedAgainMeanwhileIsNotEnded(t *testing.T) {
	t.Parallel()
	f := newFakes()
	f.run(delivery.Ready, keyOf(0))
	f.told = func(delivery.Key) { f.wanted = append(f.wanted, want(0)) }
	require.Equal(t, fleet.Result{}, f.pass(t))
	require.Empty(t, f.removes)
}

func TestAStrayWhoseClientIsInUseIsToldAndEndsLater(t *testing.T) {
	t.Parallel()
	f := newFakes()
	f.run(delivery.Ready, keyOf(0))
	f.told = func(key delivery.Key) {
		f.running[key].State, f.running[key].WaitingFor = delivery.NotDesired, connection.WaitingEngineIdle
	}
	got := f.pass(t)
	require.Equal(t, fleet.Result{InUse: 1}, got)
	require.False(t, got.Done())
	require.Empty(t, f.removes, "the tool call under way is not broken")
	f.running[keyOf(0)].WaitingFor = ""
	require.Equal(t, 1, f.pass(t).Closed)
}

func TestAStrayThatDoesNotListenIsEndedAllTheSame(t *testing.T) {
	t.Parallel()
	f := newFakes()
	f.run(delivery.Failed, keyOf(0))
	require.Equal(t, 1, f.pass(t).Closed)
	require.Equal(t, 1, count(f.calls, "ensure n0 "), "told once")
}

func count(calls []string, call string) (n int) {
	for _, c := range calls {
		if c == call {
			n++
		}
	}
	return n
}

func TestAnEndWhoseRowCannotBeReadIsNotMade(t *testing.T) {
	t.Parallel()
	f := newFakes()
	f.run(delivery.NotDesired, keyOf(0))
	f.fail["effective n0"] = &store.CorruptRowError{Table: "connection_desired"}
	got := f.pass(t)
	require.Equal(t, 1, got.Failed)
	require.Equal(t, "close", got.Failures[0].Step)
	require.Empty(t, f.removes)
}

func TestAFaultOfOneDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	f := newFakes()
	for i := range 40 {
		f.wanted = append(f.wanted, store.KeyOfEngine{Key: delivery.Key{Workspace: "w", Name: fmt.Sprintf("n%d", i)}, EngineID: "e"})
		if i%2 == 0 {
			f.fail[fmt.Sprintf("ensure n%d e", i)] = errors.New("refused")
		}
	}
	f.fail["running e"] = errors.New("no answer")
	got := f.pass(t)
	require.Equal(t, 20, got.Started)
	require.Equal(t, 21, got.Failed)
	require.Len(t, got.Failures, 20, "some are named")
}

func TestThePreviewChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFakes()
	f.wanted = []store.KeyOfEngine{want(0)}
	f.run(delivery.Ready, keyOf(1))
	wanted, d, err := f.reconciler().Preview(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, wanted)
	require.Len(t, d.Missing, 1)
	require.Len(t, d.Strays, 1)
	require.Empty(t, f.calls)
}
