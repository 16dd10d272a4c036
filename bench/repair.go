package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	// watchEvery is how often the engine is asked whether it is connected again; both arms are asked alike.
	watchEvery = 2 * time.Millisecond
	// witnessEvery is how often the endpoint's counter is read. It is read inside this process and costs nobody anything.
	witnessEvery = 200 * time.Microsecond
	repairWithin = 30 * time.Second

	// What a repair may take longer than the one by hand.
	moreP50 = 80.0
	moreP95 = 250.0
)

// arm is one way to repair, in a directory and against an endpoint of its own.
type arm struct {
	place

	endpoint *simulator.Endpoint
	// repaired waits until the repair of the last disposal is over and the arm is at rest.
	repaired func(context.Context) error

	watched   sample
	witnessed sample
	disposals []time.Time
}

// measureRepair disposes of instances of the real engine, by turns one that is repaired by hand and one that Holdfast
// repairs, and takes the time from the answer to the disposal on. Half of the disposals are watched: the engine is asked
// all the time whether it is connected again, which boots the new instance and so helps either arm. The other half are
// only witnessed from the endpoint, by the tools/list that ends the engine's registration.
func measureRepair(ctx context.Context, b *bench) (Figure, error) {
	figure := Figure{Setting: fmt.Sprintf(
		"real engine, %d disposals of each arm and kind, by turns; endpoint answers at once; Holdfast with its default intervals", b.disposals)}
	w, err := b.newWorld(ctx, "repair", nil)
	if err != nil {
		return figure, err
	}
	defer w.close()
	address, stop, err := b.startEngine(ctx, w)
	if err != nil {
		return figure, err
	}
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hand, holdfast, cleanUp, err := b.arms(ctx, w, address)
	if err != nil {
		return figure, err
	}
	defer cleanUp()
	if err := byTurns(ctx, b.disposals, hand, holdfast); err != nil {
		return figure, err
	}
	compare(&figure, "until the engine says connected", hand.watched, holdfast.watched)
	figure.spread("until tools/list reached the endpoint, nobody watching: by hand", hand.witnessed)
	figure.spread("until tools/list reached the endpoint, nobody watching: Holdfast", holdfast.witnessed)
	figure.limit("the same, Holdfast more than by hand, p50", holdfast.witnessed.at(0.5)-hand.witnessed.at(0.5), "ms", moreP50)
	figure.limit("the same, Holdfast more than by hand, p95", holdfast.witnessed.at(0.95)-hand.witnessed.at(0.95), "ms", moreP95)
	parts, err := w.readStages(ctx, connection.ID(keyOf(holdfast.place)), holdfast.disposals)
	if err != nil {
		return figure, err
	}
	parts.report(&figure)
	return figure, nil
}

func compare(f *Figure, what string, hand, holdfast sample) {
	f.spread(what+": by hand", hand)
	f.spread(what+": Holdfast", holdfast)
	f.limit("Holdfast more than by hand, p50", holdfast.at(0.5)-hand.at(0.5), "ms", moreP50)
	f.limit("Holdfast more than by hand, p95", holdfast.at(0.95)-hand.at(0.95), "ms", moreP95)
	f.add("Holdfast / by hand, p50", holdfast.at(0.5)/hand.at(0.5), "×")
	f.add("Holdfast / by hand, p95", holdfast.at(0.95)/hand.at(0.95), "×")
}

// arms delivers both connections.
func (b *bench) arms(ctx context.Context, w *world, engine string) (hand, holdfast *arm, cleanUp func(), err error) {
	ends, err := newEndpoints(2)
	if err != nil {
		return nil, nil, nil, err
	}
	cleanUp = func() { closeAll(ends) }
	dirs := [2]string{filepath.Join(w.dir, "by-hand"), filepath.Join(w.dir, "by-holdfast")}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, nil, cleanUp, err
		}
	}
	script, err := startByHand(ctx, place{engine, dirs[0]}, ends[0].URL())
	if err != nil {
		return nil, nil, cleanUp, err
	}
	hand = &arm{place: script.place, endpoint: ends[0], repaired: func(ctx context.Context) error {
		_, err := script.awaitRepaired(ctx)
		return err
	}}
	holdfast, err = w.newArm(ctx, place{engine, dirs[1]}, ends[1])
	return hand, holdfast, cleanUp, err
}

// newArm delivers a connection by Holdfast.
func (w *world) newArm(ctx context.Context, p place, endpoint *simulator.Endpoint) (*arm, error) {
	key := keyOf(p)
	if err := w.apply(ctx, key, p.engine, endpoint.URL()); err != nil {
		return nil, err
	}
	generation, err := w.awaitReady(ctx, key, 0, deliverWithin)
	if err != nil {
		return nil, err
	}
	return &arm{place: p, endpoint: endpoint, repaired: func(ctx context.Context) (err error) {
		generation, err = w.awaitReady(ctx, key, generation, repairWithin)
		return err
	}}, nil
}

func keyOf(p place) delivery.Key {
	return delivery.Key{Workspace: "bench", Name: serverName, Directory: p.directory}
}

func newEndpoints(n int) ([]*simulator.Endpoint, error) {
	ends := make([]*simulator.Endpoint, 0, n)
	for range n {
		endpoint, err := simulator.NewEndpoint(simulator.EndpointOptions{})
		if err != nil {
			closeAll(ends)
			return nil, err
		}
		ends = append(ends, endpoint)
	}
	return ends, nil
}

func closeAll(ends []*simulator.Endpoint) {
	for _, endpoint := range ends {
		endpoint.Close()
	}
}

// byTurns disposes of each arm in each way n times.
func byTurns(ctx context.Context, n int, arms ...*arm) error {
	control, watch := newHTTPClient(), newHTTPClient()
	// The first of each warms up what is cold once: programs, caches, connections.
	for round := range n + 1 {
		for _, a := range arms {
			for _, watched := range []bool{true, false} {
				took, err := a.once(ctx, control, watch, watched)
				if err != nil {
					return fmt.Errorf("disposal %d of %s: %w", round, a.directory, err)
				}
				if round == 0 {
					continue
				}
				if watched {
					a.watched = append(a.watched, took)
				} else {
					a.witnessed = append(a.witnessed, took)
				}
			}
		}
	}
	return nil
}

// once disposes once, in rest and at no particular moment, and returns the time until it was repaired.
func (a *arm) once(ctx context.Context, control, watch *http.Client, watched bool) (time.Duration, error) {
	if err := pause(ctx, 300*time.Millisecond+rand.N(200*time.Millisecond)); err != nil { //nolint:gosec // a spread, not a secret
		return 0, err
	}
	listed := a.endpoint.Count("tools/list")
	if err := a.dispose(ctx, control); err != nil {
		return 0, err
	}
	began := time.Now()
	a.disposals = append(a.disposals, began)
	back := func() (bool, error) { return a.endpoint.Count("tools/list") > listed, nil }
	every := witnessEvery
	if watched {
		back, every = func() (bool, error) { return a.connected(ctx, watch) }, watchEvery
	}
	took, err := until(ctx, began, every, back)
	if err != nil {
		return 0, err
	}
	return took, a.repaired(ctx)
}

func until(ctx context.Context, began time.Time, every time.Duration, holds func() (bool, error)) (time.Duration, error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for time.Since(began) < repairWithin {
		ok, err := holds()
		if err != nil {
			return 0, err
		}
		if ok {
			return time.Since(began), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return 0, errNotInTime
}

// startEngine starts the pinned engine with a home of its own.
func (b *bench) startEngine(ctx context.Context, w *world) (address string, stop func(), err error) {
	binary := filepath.Join(b.root, "testbed", "node_modules", "opencode-linux-x64", "bin", "opencode")
	if _, err := os.Stat(binary); err != nil { //nolint:gosec // below the folder of go.mod
		return "", nil, fmt.Errorf("%w; run `make tools`", err)
	}
	at, err := freeAddress(ctx)
	if err != nil {
		return "", nil, err
	}
	home := filepath.Join(w.dir, "engine")
	if err := os.MkdirAll(home, 0o700); err != nil { //nolint:gosec // in the folder of the run, which the user may choose
		return "", nil, err
	}
	host, port := splitAddress(at)
	process, err := startChild(filepath.Join(w.dir, "engine.log"), []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
	}, binary, "serve", "--hostname", host, "--port", port)
	if err != nil {
		return "", nil, err
	}
	stop = func() { process.stop(time.Second) }
	// A request that reaches a booting engine is never answered: short tries on new connections.
	impatient := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	err = w.await(ctx, startWithin, 100*time.Millisecond, "engine", func() (bool, error) {
		got, err := get(ctx, impatient, "http://"+at+"/global/health")
		return err == nil && got.status == http.StatusOK, nil
	})
	if err != nil {
		stop()
		return "", nil, err
	}
	return "http://" + at, stop, nil
}
