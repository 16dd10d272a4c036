package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	fleetWithin    = 120 * time.Second
	fleetGiveUp    = 5 * time.Minute
	fleetMemory    = 400.0
	fleetCalls     = 7.0
	fleetLookEvery = 50 * time.Millisecond
	fleetListEvery = time.Second
	fleetStarters  = 16
	fleetSample    = 20
)

// fleet is many connections over several simulated engines.
type fleet struct {
	*world

	engines  []*simulator.Engine
	endpoint *simulator.Endpoint
	members  []*member
	byID     map[string]*member
	listed   time.Time
}

func measureFleet(ctx context.Context, b *bench) (Figure, error) {
	figure := Figure{Setting: fmt.Sprintf(
		"%d connections over %d simulated engines, poll 30 s, dev server in memory; worker, server and engines share the machine",
		b.connections, b.engines)}
	w, err := b.newWorld(ctx, "fleet", map[string]string{"HOLDFAST_INSPECT_POLL_INTERVAL": "30s"})
	if err != nil {
		return figure, err
	}
	defer w.close()
	f := &fleet{world: w, byID: map[string]*member{}}
	defer f.end()
	if err := f.build(b.engines, b.connections); err != nil {
		return figure, err
	}
	if err := f.deliver(ctx, &figure); err != nil {
		return figure, err
	}
	// Let the first looks after the delivery come to rest.
	if err := pause(ctx, settle); err != nil {
		return figure, err
	}
	if err := f.list(ctx, &figure); err != nil {
		return figure, err
	}
	if err := f.disposeAll(ctx, &figure); err != nil {
		return figure, err
	}
	peak, err := peakMemory(w.worker.pid())
	if err != nil {
		return figure, err
	}
	figure.limit("worker's memory at its peak (VmHWM)", peak, "MiB", fleetMemory)
	return figure, nil
}

func (f *fleet) build(engines, connections int) error {
	ends, err := newEndpoints(1)
	if err != nil {
		return err
	}
	f.endpoint = ends[0]
	for range engines {
		sim, err := simulator.NewEngine(simulator.EngineOptions{})
		if err != nil {
			return err
		}
		f.engines = append(f.engines, sim)
	}
	for i := range connections {
		m := &member{
			engine: f.engines[i%engines],
			key:    delivery.Key{Workspace: fmt.Sprintf("w%04d", i), Name: serverName, Directory: fmt.Sprintf("/bench/%04d", i)},
		}
		f.members = append(f.members, m)
		f.byID[connection.ID(m.key)] = m
	}
	return nil
}

func (f *fleet) end() {
	for _, sim := range f.engines {
		sim.Close()
	}
	if f.endpoint != nil {
		f.endpoint.Close()
	}
}

// deliver applies all connections and waits until they are ready.
func (f *fleet) deliver(ctx context.Context, figure *Figure) error {
	used := cpuTimes()
	began := time.Now()
	if err := f.apply(ctx); err != nil {
		return err
	}
	figure.add("all applied (store written, workflows started)", seconds(time.Since(began)), "s")
	if err := f.awaitAll(ctx, began); err != nil {
		return err
	}
	figure.limit("all ready", seconds(time.Since(began)), "s", seconds(fleetWithin))
	figure.processors("to deliver", used)
	return nil
}

func (f *fleet) apply(ctx context.Context) error {
	for _, sim := range f.engines {
		if _, err := f.store.PutEngine(ctx, store.Engine{ID: sim.BaseURL(), BaseURL: sim.BaseURL()}); err != nil {
			return err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(fleetStarters)
	for _, m := range f.members {
		m.begin()
		group.Go(func() error {
			if err := f.put(groupCtx, m.key, m.engine.BaseURL(), f.endpoint.URL()); err != nil {
				return err
			}
			return f.connections.Ensure(groupCtx, m.key, m.engine.BaseURL(), connection.DesiredChanged{Trigger: "bench"})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, sim := range f.engines {
		if err := f.world.engines.Ensure(ctx, sim.BaseURL()); err != nil {
			return err
		}
	}
	return nil
}

// awaitAll waits until every connection is ready in a later generation than it was. It asks the simulated engines first,
// in this process, and lists the connections only when all of them were pushed: a list of a thousand costs the server
// as much as several repairs.
func (f *fleet) awaitAll(ctx context.Context, began time.Time) error {
	ready := 0
	pushed, stop := f.look()
	err := f.await(ctx, fleetGiveUp, fleetLookEvery, "the whole fleet", func() (bool, error) {
		if !pushed.Load() || time.Since(f.listed) < fleetListEvery {
			return false, nil
		}
		f.listed = time.Now()
		rows, err := f.connections.List(ctx, connection.Filter{})
		if err != nil {
			return false, err
		}
		ready = f.ready(rows)
		return ready == len(f.members), nil
	})
	stop()
	if err != nil {
		return fmt.Errorf("%d of %d: %w", ready, len(f.members), err)
	}
	for _, m := range f.members {
		m.generation, m.repaired = m.seen.Generation, m.seen.VerifiedAt.Sub(began)
	}
	return nil
}

// look reads the engines' counters again and again until it is stopped, and says when every connection was pushed since
// the beginning. Between the last call of a repair and its verification are two tasks of the workflow and a probe, so no
// call escapes.
func (f *fleet) look() (pushed *atomic.Bool, stop func()) {
	pushed = &atomic.Bool{}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(fleetLookEvery)
		defer tick.Stop()
		for {
			all := true
			for _, m := range f.members {
				all = m.look() && all
			}
			pushed.Store(all)
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return pushed, func() { close(done); <-ended }
}

// ready counts the connections that are ready and verified in a later generation.
func (f *fleet) ready(rows []connection.Listed) int {
	ready := 0
	for _, row := range rows {
		m, s := f.byID[row.WorkflowID], row.Snapshot
		if m != nil && s != nil && s.State == delivery.Ready && s.Generation > m.generation && s.VerifiedAt != nil {
			m.seen = *s
			ready++
		}
	}
	return ready
}

// disposeAll makes every engine drop everything at once and waits until all of it is delivered again.
func (f *fleet) disposeAll(ctx context.Context, figure *Figure) error {
	for _, m := range f.members {
		m.begin()
	}
	looked := f.sampleIDs()
	before, err := f.costs(ctx, looked)
	if err != nil {
		return err
	}
	used := cpuTimes()
	began := time.Now()
	for _, m := range f.members {
		m.engine.Dispose(m.key.Directory)
	}
	figure.add("all disposed", seconds(time.Since(began)), "s")
	if err := f.awaitAll(ctx, began); err != nil {
		return err
	}
	figure.limit("all ready again", seconds(time.Since(began)), "s", seconds(fleetWithin))
	figure.processors("to repair", used)
	repairs := make(sample, 0, len(f.members))
	for _, m := range f.members {
		repairs = append(repairs, m.repaired)
	}
	figure.spread("one connection, disposed to verified", repairs)
	f.count(figure)
	after, err := f.costs(ctx, looked)
	if err != nil {
		return err
	}
	figure.add("history events of one repair, mean", mean(before, after, func(c cost) int { return c.events }), "")
	figure.add("workflow tasks of one repair, mean", mean(before, after, func(c cost) int { return c.tasks }), "")
	return f.forgotten(ctx, figure)
}

// sampleIDs are some of the connections: reading every history would take as long as the repair.
func (f *fleet) sampleIDs() []string {
	ids := make([]string, 0, fleetSample)
	for i := 0; i < len(f.members) && len(ids) < fleetSample; i += max(1, len(f.members)/fleetSample) {
		ids = append(ids, connection.ID(f.members[i].key))
	}
	return ids
}

func mean(before, after []cost, of func(cost) int) float64 {
	sum := 0
	for i := range before {
		sum += of(after[i]) - of(before[i])
	}
	return float64(sum) / float64(len(before))
}

// count says how often the engines were asked for one repair.
func (f *fleet) count(figure *Figure) {
	most, pushes := 0, 0
	total := map[simulator.Route]int{}
	for _, m := range f.members {
		sum := 0
		for route, n := range m.callsUntilVerified() {
			sum += n
			total[route] += n
			if route == simulator.RouteRegister {
				pushes = max(pushes, n)
			}
		}
		most = max(most, sum)
	}
	figure.limit("engine calls for one repair, disposed to verified, most", float64(most), "", fleetCalls)
	for _, route := range connectionRoutes {
		if total[route] > 0 {
			figure.add("  of them "+string(route)+", mean", float64(total[route])/float64(len(f.members)), "")
		}
	}
	figure.limit("pushes for one repair, most", float64(pushes), "", 1)
}

// forgotten asks the engines themselves.
func (f *fleet) forgotten(ctx context.Context, figure *Figure) error {
	asking := &http.Client{Timeout: callWithin}
	missing := 0
	for _, m := range f.members {
		ok, err := place{m.engine.BaseURL(), m.key.Directory}.connected(ctx, asking)
		if err != nil {
			return err
		}
		if !ok {
			missing++
		}
	}
	figure.limit("forgotten: not connected, by the engines' own word", float64(missing), "", 0)
	return nil
}

// processors notes what each process has computed since before.
func (f *Figure) processors(what string, before map[string]time.Duration) {
	after := cpuTimes()
	for _, process := range []struct{ program, name string }{
		{"holdfast-worker", "worker"}, {"temporal", "Temporal server"}, {ownTime, "engines, endpoint and this program"},
	} {
		if used := after[process.program] - before[process.program]; used > 0 {
			f.add("  processor time "+what+": "+process.name, seconds(used), "s")
		}
	}
}
