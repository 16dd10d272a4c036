package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

const (
	decidedWithin = 150.0 // ms, p95
	decidedAtOnce = 10
	callAtMost    = time.Minute
	// askForPut gates the tool, however the run's defaults change.
	askForPut = "rules:\n  - {pattern: \"" + sourceName + "." + upstream.Put + "\", effect: ask, window: 2h}\n"
)

// arrivals are the times at which calls reached the upstream, by the names that they wrote.
type arrivals struct {
	mu   sync.Mutex
	came map[string]chan time.Time
}

func (a *arrivals) of(name string) chan time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.came[name] == nil {
		a.came[name] = make(chan time.Time, 1)
	}
	return a.came[name]
}

// intercept notes a call before it is handled.
func (a *arrivals) intercept(method string, _ http.ResponseWriter, r *http.Request) bool {
	if method != "tools/call" {
		return false
	}
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var message struct {
		Params struct {
			Arguments struct {
				Name string `json:"name"`
			} `json:"arguments"`
		} `json:"params"`
	}
	if err == nil && json.Unmarshal(body, &message) == nil && message.Params.Arguments.Name != "" {
		select {
		case a.of(message.Params.Arguments.Name) <- now:
		default: // made again: the first counts
		}
	}
	return false
}

// decisions is one measured way to decide.
type decisions struct {
	gateway *gateway
	came    *arrivals
	decide  func(ctx context.Context, pause string) error
}

// measureDecision decides on paused calls and takes the time until the upstream is called.
func measureDecision(ctx context.Context, b *bench) (Figure, error) {
	figure := Figure{Setting: fmt.Sprintf(
		"%d paused calls of each way, one at a time, then as many %d at once; from before the decision is sent until the call arrives at the upstream; "+
			"gateway, worker and dev server share the machine", b.decisions, decidedAtOnce)}
	came := &arrivals{came: map[string]chan time.Time{}}
	up, err := upstream.Start(upstream.Options{})
	if err != nil {
		return figure, err
	}
	defer up.Close()
	up.Intercept(came.intercept)
	settings, err := b.tools("decision", up.URL(), askForPut)
	if err != nil {
		return figure, err
	}
	w, err := b.newWorld(ctx, "decision", settings) // the worker makes the calls
	if err != nil {
		return figure, err
	}
	defer w.close()
	g, err := b.startGateway(ctx, w, settings)
	if err != nil {
		return figure, err
	}
	runs := execution.NewClient(w.temporal, taskQueue)
	byAPI := &decisions{gateway: g, came: came, decide: func(ctx context.Context, pause string) error {
		_, _, err := g.post(ctx, "/api/v1/approvals/"+pause+"/decision", "", `{"action":"accept"}`)
		return err
	}}
	byEngine := &decisions{gateway: g, came: came, decide: func(ctx context.Context, pause string) error {
		_, err := runs.Resume(ctx, approval.Identity{Account: "bench", Organisation: "default"}, execution.Resume{
			PauseID: pause, Decision: approval.Decision{Action: approval.ActionAccept, By: "bench", Via: approval.ViaAPI},
		})
		return err
	}}
	for _, way := range []struct {
		name string
		*decisions
	}{{"API", byAPI}, {"workflow", byEngine}} {
		if _, err := way.run(ctx, way.name+"-warm", decidedAtOnce, 1); err != nil {
			return figure, err
		}
		alone, err := way.run(ctx, way.name+"-one", b.decisions, 1)
		if err != nil {
			return figure, err
		}
		figure.add("decided by "+way.name+", p50", alone.at(0.5), "ms")
		figure.limit("decided by "+way.name+", p95", alone.at(0.95), "ms", decidedWithin)
		figure.add("decided by "+way.name+", max", alone.at(1), "ms")
		many, err := way.run(ctx, way.name+"-many", b.decisions, decidedAtOnce)
		if err != nil {
			return figure, err
		}
		figure.spread(fmt.Sprintf("decided by %s, %d at once", way.name, decidedAtOnce), many)
	}
	return figure, nil
}

// run pauses calls and decides on them, so many at once.
func (d *decisions) run(ctx context.Context, what string, total, atOnce int) (sample, error) {
	var found sample
	for first := 0; first < total; first += atOnce {
		count := min(atOnce, total-first)
		pauses, names := make([]string, count), make([]string, count)
		for i := range count {
			names[i] = fmt.Sprintf("%s-%d", what, first+i)
			var err error
			if pauses[i], err = d.gateway.pauseCall(ctx, upstream.Put, names[i]); err != nil {
				return nil, err
			}
		}
		took := make(sample, count)
		group, groupCtx := errgroup.WithContext(ctx)
		for i := range count {
			group.Go(func() (err error) {
				took[i], err = d.one(groupCtx, pauses[i], names[i])
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		found = append(found, took...)
	}
	return found, nil
}

func (d *decisions) one(ctx context.Context, pause, name string) (time.Duration, error) {
	came := d.came.of(name)
	began := time.Now()
	if err := d.decide(ctx, pause); err != nil {
		return 0, fmt.Errorf("decide: %w", err)
	}
	select {
	case at := <-came:
		return at.Sub(began), nil
	case <-time.After(callAtMost):
		return 0, fmt.Errorf("wait for the call: %w (%s)", errNotInTime, callAtMost)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
