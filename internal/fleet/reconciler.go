package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	// atOnce is how many connections a pass works on at the same time.
	atOnce = 16
	// pagesAtMost bounds a list: a hundred thousand connections.
	pagesAtMost = 1000

	callTimeout = 15 * time.Second
	// closeTimeout bounds the end of one workflow; its update answers within its own wait.
	closeTimeout = connection.UpdateWait + 20*time.Second
	// failuresKept is how many failures a result names; the others are counted.
	failuresKept = 20
)

// trigger is what connections show as the reason for what a pass does.
const trigger = "fleet"

// Store is what a pass reads of the store, and the row that it deletes there.
type Store interface {
	Keys(ctx context.Context) ([]store.KeyOfEngine, error)
	Effective(ctx context.Context, key store.Key) (store.Effective, error)
	DeleteRuntime(ctx context.Context, key store.Key) error
}

// Connections is what a pass asks of connection workflows; [connection.Client] has it.
type Connections interface {
	ListPage(ctx context.Context, f connection.Filter, p connection.Page) ([]connection.Listed, string, error)
	Describe(ctx context.Context, key delivery.Key) (connection.Description, error)
	Ensure(ctx context.Context, key delivery.Key, engineID string, changed connection.DesiredChanged) error
	Remove(ctx context.Context, key delivery.Key, requestID string, in connection.Request) (connection.Health, error)
}

// Engines is what a pass asks of the watches of engines.
type Engines interface {
	Running(ctx context.Context, engineID string) (bool, error)
	Ensure(ctx context.Context, engineID string) error
}

// Params are what a reconciler is made of.
type Params struct {
	Store       Store
	Connections Connections
	Engines     Engines
	// TaskQueue is that of this installation: workflows on others belong to somebody else.
	TaskQueue string
	// Settle is how long a stray that is told of its end may take to let go of its client; 0: 10 s.
	Settle time.Duration
	// Prune clears away what the store keeps no longer; nil: nothing. What it cannot do, the next pass does.
	Prune func(ctx context.Context) error
	Log   *slog.Logger
}

// Reconciler makes passes.
type Reconciler struct {
	Params

	pause time.Duration // between two looks at a stray
}

// NewReconciler makes one.
func NewReconciler(p Params) *Reconciler {
	if p.Settle <= 0 {
		p.Settle = 10 * time.Second
	}
	return &Reconciler{Params: p, pause: min(250*time.Millisecond, p.Settle/10)}
}

// Result tells what a pass found and did.
type Result struct {
	// Wanted is how many connections are.
	Wanted int `json:"wanted"`
	// Started and Closed count workflows of connections, Engines the watches that were started.
	Started int `json:"started"`
	Closed  int `json:"closed"`
	Engines int `json:"engines"`
	// InUse counts strays whose client a session uses: they end later.
	InUse int `json:"inUse,omitempty"`
	// Failed counts what could not be done; Failures names some of them.
	Failed   int       `json:"failed,omitempty"`
	Failures []Failure `json:"failures,omitempty"`
}

// Done reports whether the pass has changed anything.
func (r Result) Done() bool { return r.Started+r.Closed+r.Engines > 0 }

// Failure is one thing that a pass could not do.
type Failure struct {
	// Subject is WORKSPACE/NAME, or an engine's id.
	Subject string `json:"subject"`
	Step    string `json:"step"` // start, close or watch
	Error   string `json:"error"`
}

// Preview compares without changing anything.
func (r *Reconciler) Preview(ctx context.Context) (wanted int, d Difference, err error) {
	running, err := r.running(ctx)
	if err != nil {
		return 0, Difference{}, err
	}
	keys, err := r.Store.Keys(ctx)
	if err != nil {
		return 0, Difference{}, err
	}
	d = Compare(keys, running)
	if d.Missing, err = r.missing(ctx, d.Missing); err != nil {
		return 0, Difference{}, err
	}
	return len(keys), d, nil
}

// Pass compares once and acts. What fails for one connection does not keep the others; it is told in the result.
func (r *Reconciler) Pass(ctx context.Context) (Result, error) {
	if r.Prune != nil {
		if err := r.Prune(ctx); err != nil {
			r.Log.WarnContext(ctx, "not all was cleared away", "error", err)
		}
	}
	wanted, d, err := r.Preview(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("compare what is wanted with what runs: %w", err)
	}
	return r.act(ctx, wanted, d)
}

// Start is a pass that ends nothing, so that no worker is needed.
func (r *Reconciler) Start(ctx context.Context) (Result, error) {
	wanted, d, err := r.Preview(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("compare what is wanted with what runs: %w", err)
	}
	d.Strays = nil
	return r.act(ctx, wanted, d)
}

func (r *Reconciler) act(ctx context.Context, wanted int, d Difference) (Result, error) {
	t := &tally{Result: Result{Wanted: wanted}, log: r.Log}
	group := errgroup.Group{}
	group.SetLimit(atOnce)
	for _, want := range d.Missing {
		group.Go(func() error {
			t.note(short(want.Key), "start", r.start(ctx, want), &t.Started)
			return nil
		})
	}
	for _, id := range d.Engines {
		group.Go(func() error {
			started, err := r.watch(ctx, id)
			if started || err != nil {
				t.note(id, "watch", err, &t.Engines)
			}
			return nil
		})
	}
	for _, stray := range d.Strays {
		group.Go(func() error {
			t.close(stray, r.close(ctx, stray))
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	return t.Result, ctx.Err()
}

// running lists what runs on our task queue.
func (r *Reconciler) running(ctx context.Context) ([]connection.Listed, error) {
	var (
		all  []connection.Listed
		page connection.Page
	)
	for range pagesAtMost {
		rows, next, err := r.Connections.ListPage(ctx, connection.Filter{TaskQueue: r.TaskQueue}, page)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		if next == "" {
			return all, nil
		}
		page.Token = next
	}
	return nil, errors.New("list connections: there are more than 100000")
}

// missing leaves out what runs all the same: visibility lags behind.
func (r *Reconciler) missing(ctx context.Context, unseen []store.KeyOfEngine) ([]store.KeyOfEngine, error) {
	runs := make([]bool, len(unseen))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, want := range unseen {
		group.Go(func() (err error) {
			runs[i], err = r.runs(ctx, want.Key)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var missing []store.KeyOfEngine
	for i, want := range unseen {
		if !runs[i] {
			missing = append(missing, want)
		}
	}
	return missing, nil
}

func (r *Reconciler) runs(ctx context.Context, key delivery.Key) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d, err := r.Connections.Describe(ctx, key)
	if errors.Is(err, connection.ErrNotFound) {
		return false, nil
	}
	return d.Running, err
}

func (r *Reconciler) start(ctx context.Context, want store.KeyOfEngine) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return r.Connections.Ensure(ctx, want.Key, want.EngineID, connection.DesiredChanged{Trigger: trigger})
}

// watch starts the watch of an engine that has none. One that runs is not signaled: that would cost history at every pass.
func (r *Reconciler) watch(ctx context.Context, engineID string) (started bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	running, err := r.Engines.Running(ctx, engineID)
	if err != nil || running {
		return false, err
	}
	return true, r.Engines.Ensure(ctx, engineID)
}

func short(key delivery.Key) string { return key.Workspace + "/" + key.Name }

// tally counts what is done at once.
type tally struct {
	mu sync.Mutex
	Result

	log *slog.Logger
}

// note counts one thing that was done, or names why it was not.
func (t *tally) note(subject, step string, err error, count *int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		*count++
		return
	}
	t.Failed++
	if len(t.Failures) < failuresKept {
		t.Failures = append(t.Failures, Failure{Subject: subject, Step: step, Error: err.Error()})
	}
	if t.log != nil {
		t.log.Warn("fleet is not in order", "subject", subject, "step", step, "error", err)
	}
}

func (t *tally) close(stray Stray, err error) {
	switch {
	case errors.Is(err, errInUse):
		t.mu.Lock()
		t.InUse++
		t.mu.Unlock()
	case errors.Is(err, errNoStray):
	default:
		t.note(short(stray.Key), "close", err, &t.Closed)
	}
}
