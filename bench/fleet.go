package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	fleetWithin = 120 * time.Second
	fleetGiveUp = 5 * time.Minute
	fleetMemory = 400.0
	fleetCalls  = 7.0
	// fleetListEvery is how often the list of connections is read while waiting; a read costs the server some 100 ms.
	fleetListEvery = time.Second
	fleetStarters  = 16
)

// fleet is many connections over several simulated engines.
type fleet struct {
	*world

	engines  []*simulator.Engine
	endpoint *simulator.Endpoint
	members  []*member
	byID     map[string]*member
}

// member is one connection.
type member struct {
	key        delivery.Key
	engine     *simulator.Engine
	generation int64
	// before and after count the engine's requests by route when the disposal began and when the connection was first
	// seen ready again.
	before, after map[simulator.Route]int
	repaired      time.Duration
}

// connectionRoutes are the routes by which the engine may be asked about one connection.
var connectionRoutes = []simulator.Route{
	simulator.RouteStatus, simulator.RouteConfig, simulator.RouteSessionStatus, simulator.RouteRegister,
	simulator.RouteConnect, simulator.RouteDisconnect, simulator.RouteResources,
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

// awaitAll waits until every connection is ready in a later generation than it was.
func (f *fleet) awaitAll(ctx context.Context, began time.Time) error {
	generations := make(map[*member]int64, len(f.members))
	err := f.await(ctx, fleetGiveUp, fleetListEvery, "the whole fleet", func() (bool, error) {
		rows, err := f.connections.List(ctx, connection.Filter{})
		if err != nil {
			return false, err
		}
		for _, row := range rows {
			m, s := f.byID[row.WorkflowID], row.Snapshot
			if m == nil || s == nil || s.State != delivery.Ready || s.Generation <= m.generation || generations[m] != 0 {
				continue
			}
			generations[m] = s.Generation
			m.after = m.calls()
			if s.VerifiedAt != nil {
				m.repaired = s.VerifiedAt.Sub(began)
			}
		}
		return len(generations) == len(f.members), nil
	})
	if err != nil {
		return fmt.Errorf("%d of %d: %w", len(generations), len(f.members), err)
	}
	for m, generation := range generations {
		m.generation = generation
	}
	return nil
}

func (m *member) calls() map[simulator.Route]int {
	counts := make(map[simulator.Route]int, len(connectionRoutes))
	for _, route := range connectionRoutes {
		counts[route] = m.engine.Calls(route, m.key.Directory)
	}
	return counts
}

// disposeAll makes every engine drop everything at once and waits until all of it is delivered again.
func (f *fleet) disposeAll(ctx context.Context, figure *Figure) error {
	for _, m := range f.members {
		m.before = m.calls()
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
	return f.forgotten(ctx, figure)
}

// count says how often the engines were asked for one repair.
func (f *fleet) count(figure *Figure) {
	most, pushes := 0, 0
	total := map[simulator.Route]int{}
	for _, m := range f.members {
		sum := 0
		for _, route := range connectionRoutes {
			n := m.after[route] - m.before[route]
			sum += n
			total[route] += n
		}
		most = max(most, sum)
		pushes = max(pushes, m.after[simulator.RouteRegister]-m.before[simulator.RouteRegister])
	}
	figure.limit("engine calls for one repair, most", float64(most), "", fleetCalls)
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
		{"holdfast-worker", "worker"}, {"temporal", "Temporal server"}, {"bench", "engines, endpoint and this program"},
	} {
		if used := after[process.program] - before[process.program]; used > 0 {
			f.add("  processor time "+what+": "+process.name, seconds(used), "s")
		}
	}
}
