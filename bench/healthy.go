package main

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
)

const (
	deliverWithin = time.Minute
	// settle lets the last look before the measurement come to rest.
	settle = 3 * time.Second
)

// cost is what a workflow has cost so far.
type cost struct{ events, tasks int }

// measureHealthy watches one healthy connection at the fastest poll that Temporal can time.
func measureHealthy(ctx context.Context, b *bench) (Figure, error) {
	figure := Figure{Setting: fmt.Sprintf("one healthy connection for %s, poll 1 s, endpoint probe 5 s, simulated engine", b.healthy)}
	w, err := b.newWorld(ctx, "healthy", map[string]string{
		"HOLDFAST_INSPECT_POLL_INTERVAL": "1s", "HOLDFAST_INSPECT_PROBE_INTERVAL": "5s",
	})
	if err != nil {
		return figure, err
	}
	defer w.close()
	sim, endpoint, err := simulated()
	if err != nil {
		return figure, err
	}
	defer sim.Close()
	defer endpoint.Close()
	key := delivery.Key{Workspace: "bench", Name: serverName, Directory: "/bench/healthy"}
	if err := w.apply(ctx, key, sim.BaseURL(), endpoint.URL()); err != nil {
		return figure, err
	}
	if _, err := w.awaitReady(ctx, key, 0, deliverWithin); err != nil {
		return figure, err
	}
	if err := pause(ctx, settle); err != nil {
		return figure, err
	}
	return figure, w.watchHealthy(ctx, b.healthy, &figure, subject{key: key, engine: sim, endpoint: endpoint})
}

// subject is the connection that is watched.
type subject struct {
	key      delivery.Key
	engine   *simulator.Engine
	endpoint *simulator.Endpoint
}

func (w *world) watchHealthy(ctx context.Context, span time.Duration, f *Figure, s subject) error {
	ids := []string{connection.ID(s.key), engine.ID(s.engine.BaseURL())}
	before, err := w.costs(ctx, ids)
	if err != nil {
		return err
	}
	looks, err := w.attempts(ctx, ids[0])
	if err != nil {
		return err
	}
	polls, probes := s.engine.Calls(simulator.RouteStatus, s.key.Directory), s.endpoint.Count("tools/list")
	if err := pause(ctx, span); err != nil {
		return err
	}
	after, err := w.costs(ctx, ids)
	if err != nil {
		return err
	}
	looksAfter, err := w.attempts(ctx, ids[0])
	if err != nil {
		return err
	}
	f.limit("history events added to the connection", float64(after[0].events-before[0].events), "", 0)
	f.limit("workflow tasks completed by the connection", float64(after[0].tasks-before[0].tasks), "", 0)
	f.add("history events added to the engine's watch", float64(after[1].events-before[1].events), "")
	f.add("inspection attempts (Temporal's count)", float64(looksAfter-looks), "")
	f.add("looks at the engine (its count)", float64(s.engine.Calls(simulator.RouteStatus, s.key.Directory)-polls), "")
	f.add("probes of the endpoint (its count)", float64(s.endpoint.Count("tools/list")-probes), "")
	return nil
}

// costs reads histories. Reading adds nothing to them.
func (w *world) costs(ctx context.Context, ids []string) ([]cost, error) {
	all := make([]cost, len(ids))
	for i, id := range ids {
		events := w.temporal.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return nil, fmt.Errorf("read history: %w", err)
			}
			all[i].events++
			if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				all[i].tasks++
			}
		}
	}
	return all, nil
}

// attempts is how often the pending inspection was tried.
func (w *world) attempts(ctx context.Context, id string) (int, error) {
	described, err := w.temporal.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return 0, fmt.Errorf("describe connection: %w", err)
	}
	pending := described.RawResponse.GetPendingActivities()
	if len(pending) != 1 {
		return 0, fmt.Errorf("describe connection: %d pending activities instead of the inspection alone", len(pending))
	}
	return int(pending[0].GetAttempt()), nil
}

// simulated starts an engine and an endpoint.
func simulated() (*simulator.Engine, *simulator.Endpoint, error) {
	sim, err := simulator.NewEngine(simulator.EngineOptions{})
	if err != nil {
		return nil, nil, err
	}
	endpoint, err := simulator.NewEndpoint(simulator.EndpointOptions{})
	if err != nil {
		sim.Close()
		return nil, nil, err
	}
	return sim, endpoint, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
