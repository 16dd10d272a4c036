package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

const (
	// eachSleeper is what one more of them may cost gateway and worker together, in KiB.
	eachSleeper  = 3.0
	cached       = "500"
	makers       = 16
	readings     = 3
	restEvery    = 2 * time.Second
	restBusy     = 100 * time.Millisecond // of processor time within restEvery
	restsInRow   = 3
	restGiveUp   = 20 * time.Minute
	progressStep = 1000
	makeTries    = 30
	makePause    = time.Second
)

// measureSleepers makes many sessions that sleep, and as many again; and the same with calls that wait for a person.
func measureSleepers(ctx context.Context, b *bench) (Figure, error) {
	figure := Figure{Setting: fmt.Sprintf(
		"slope between %d and %d of each, %s workflows cached, after collections of garbage, median of %d readings; the built gateway and worker together",
		b.sleepers, 2*b.sleepers, cached, readings)}
	for _, kind := range []struct {
		name string
		make func(ctx context.Context, g *gateway, i int) error
	}{
		{"sleeping session", func(ctx context.Context, g *gateway, _ int) error {
			_, err := g.newSession(ctx)
			return err
		}},
		{"paused execution", func(ctx context.Context, g *gateway, i int) error {
			_, err := g.pauseCall(ctx, upstream.Put, fmt.Sprintf("p%d", i))
			return err
		}},
	} {
		if err := b.slope(ctx, &figure, kind.name, kind.make); err != nil {
			return figure, fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	return figure, nil
}

// slope makes things twice, and notes what the second half has cost.
func (b *bench) slope(ctx context.Context, figure *Figure, name string, one func(context.Context, *gateway, int) error) error {
	up, err := upstream.Start(upstream.Options{})
	if err != nil {
		return err
	}
	defer up.Close()
	world, _, _ := strings.Cut(name, " ")
	settings, err := b.tools(world, up.URL(), askForPut)
	if err != nil {
		return err
	}
	settings["HOLDFAST_SESSIONS_IDLE"] = shortIdle
	settings["HOLDFAST_WORKER_MAX_WORKFLOWS"] = cached
	w, err := b.newWorld(ctx, world, settings)
	if err != nil {
		return err
	}
	defer w.close()
	g, err := b.startGateway(ctx, w, settings)
	if err != nil {
		return err
	}
	var held [2]struct{ gateway, worker memory }
	for half := range held {
		began := time.Now()
		if err := b.makeMany(ctx, g, name, half*b.sleepers, one); err != nil {
			return err
		}
		figure.add(fmt.Sprintf("%d %ss made, by %d at once", b.sleepers, name, makers), seconds(time.Since(began)), "s")
		if err := w.awaitRest(ctx, g); err != nil {
			return err
		}
		if held[half].gateway, err = settledMemory(ctx, g.process); err != nil {
			return err
		}
		if held[half].worker, err = settledMemory(ctx, w.worker); err != nil {
			return err
		}
	}
	each := func(before, after float64) float64 { return (after - before) / 1024 / float64(b.sleepers) }
	before, after := held[0], held[1]
	for _, process := range []struct {
		name          string
		before, after memory
	}{{"gateway", before.gateway, after.gateway}, {"worker", before.worker, after.worker}} {
		figure.add(name+"s, "+process.name+" at the end, RSS", process.after.resident/(1<<20), "MiB")
		figure.add(name+"s, "+process.name+" at the end, HeapInuse", process.after.heap/(1<<20), "MiB")
		figure.add("each "+name+", "+process.name+", RSS", each(process.before.resident, process.after.resident), "KiB")
		figure.add("each "+name+", "+process.name+", HeapInuse", each(process.before.heap, process.after.heap), "KiB")
	}
	figure.limit("each "+name+", both, RSS", each(before.gateway.resident+before.worker.resident, after.gateway.resident+after.worker.resident), "KiB", eachSleeper)
	figure.limit("each "+name+", both, HeapInuse", each(before.gateway.heap+before.worker.heap, after.gateway.heap+after.worker.heap), "KiB", eachSleeper)
	return nil
}

func (b *bench) makeMany(ctx context.Context, g *gateway, name string, from int, one func(context.Context, *gateway, int) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(makers)
	began := time.Now()
	for i := range b.sleepers {
		if i > 0 && i%progressStep == 0 {
			b.note("  %d %ss after %s", from+i, name, time.Since(began).Round(time.Second))
		}
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			return persistently(groupCtx, func() error { return one(groupCtx, g, from+i) })
		})
	}
	return group.Wait()
}

// persistently tries again, as clients do whom an overloaded gateway turns away.
func persistently(ctx context.Context, try func() error) error {
	for n := 1; ; n++ {
		err := try()
		if err == nil || n == makeTries {
			return err
		}
		if err := pause(ctx, makePause); err != nil {
			return err
		}
	}
}

// awaitRest waits until the gateway holds no session, and neither it nor the worker has anything to do for a while.
func (w *world) awaitRest(ctx context.Context, g *gateway) error {
	if err := w.awaitAsleep(ctx, g); err != nil {
		return err
	}
	pids := []int{g.process.pid(), w.worker.pid()}
	last, err := processTimes(pids)
	if err != nil {
		return err
	}
	rests := 0
	return w.await(ctx, restGiveUp, restEvery, "rest", func() (bool, error) {
		now, err := processTimes(pids)
		if err != nil {
			return false, err
		}
		if rests++; now-last > restBusy {
			rests = 0
		}
		last = now
		return rests >= restsInRow, nil
	})
}

// settledMemory is the median of some readings.
func settledMemory(ctx context.Context, c *child) (memory, error) {
	var resident, heap []float64
	for range readings {
		read, err := c.holds(ctx)
		if err != nil {
			return memory{}, err
		}
		resident, heap = append(resident, read.resident), append(heap, read.heap)
	}
	return memory{resident: median(resident), heap: median(heap)}, nil
}
