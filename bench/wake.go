package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

const (
	wokenWithin = 150.0 // ms, p95
	sleepWithin = 10 * time.Minute
	// shortIdle is the shortest time after which sessions may be told to sleep.
	shortIdle = "1s"
)

// measureWake asks sessions that sleep for something, at the replica that made them and at one that never saw them.
func measureWake(ctx context.Context, b *bench) (Figure, error) {
	figure := Figure{Setting: fmt.Sprintf(
		"%d sessions that sleep, one call of a read-only tool in each; two gateways, worker, dev server and upstream share the machine", b.wakes)}
	addresses, err := freeAddresses(ctx, 1)
	if err != nil {
		return figure, err
	}
	settings, err := b.tools("wake", "http://"+addresses[0]+"/mcp", "")
	if err != nil {
		return figure, err
	}
	w, err := b.newWorld(ctx, "wake", settings)
	if err != nil {
		return figure, err
	}
	defer w.close()
	if _, err := w.startRole(ctx, roleUpstream, addresses[0]); err != nil {
		return figure, err
	}
	settings["HOLDFAST_SESSIONS_IDLE"] = shortIdle
	home, err := b.startGateway(ctx, w, settings)
	if err != nil {
		return figure, err
	}
	other, err := b.startGateway(ctx, w, settings)
	if err != nil {
		return figure, err
	}
	other.token = home.token // one client, wherever it asks
	sessions := make([]string, b.wakes)
	for i := range sessions {
		if sessions[i], err = home.newSession(ctx); err != nil {
			return figure, err
		}
	}
	if n, err := home.resident(ctx); n == 0 || err != nil {
		return figure, fmt.Errorf("count sessions in memory: %d of those just made: %w", n, errors.Join(err, errNoAnswer))
	}
	for _, each := range []struct {
		name string
		at   *gateway
	}{{"where it slept", home}, {"at another replica", other}} {
		if err := w.awaitAsleep(ctx, home, other); err != nil {
			return figure, err
		}
		woken, awake, err := wake(ctx, each.at, sessions)
		if err != nil {
			return figure, err
		}
		figure.add("woken "+each.name+", p50", woken.at(0.5), "ms")
		figure.limit("woken "+each.name+", p95", woken.at(0.95), "ms", wokenWithin)
		figure.add("woken "+each.name+", max", woken.at(1), "ms")
		figure.add("the same call again, p50", awake.at(0.5), "ms")
	}
	return figure, nil
}

// wake makes the first call of each session, and then another while it is awake.
func wake(ctx context.Context, g *gateway, sessions []string) (woken, awake sample, err error) {
	for _, session := range sessions {
		for _, into := range []*sample{&woken, &awake} {
			took, err := g.echo(ctx, session)
			if err != nil {
				return nil, nil, err
			}
			*into = append(*into, took)
		}
	}
	return woken, awake, nil
}

// awaitAsleep waits until gateways hold no session.
func (w *world) awaitAsleep(ctx context.Context, gateways ...*gateway) error {
	return w.await(ctx, sleepWithin, 200*time.Millisecond, "sleep", func() (bool, error) {
		for _, g := range gateways {
			if n, err := g.resident(ctx); n > 0 || err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// residentStack is where the goroutine waits of which each session has one while a gateway holds it.
var residentStack = regexp.MustCompile(`(?m)^(\d+) @[^\n]*\n(?:#[^\n]*\n)*?#[^\n]*mcpserver\.\(\*conn\)\.Read`)

// resident counts the sessions that a gateway holds, by their goroutines: nothing else tells it from outside.
func (g *gateway) resident(ctx context.Context) (int, error) {
	stacks, err := get(ctx, inspecting, "http://"+g.process.inspect+"/debug/pprof/goroutine?debug=1")
	if err != nil {
		return 0, err
	}
	total := 0
	for _, found := range residentStack.FindAllSubmatch(stacks.body, -1) {
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}
