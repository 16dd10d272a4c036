package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
)

// blockedPoll is the poll interval while events are blocked.
const blockedPoll = time.Second

// measureBlocked withholds the engine's events, so that only polling can find that something is gone. The repair by hand
// still hears them: both run against simulated engines.
func measureBlocked(ctx context.Context, b *bench) (Figure, error) {
	figure := Figure{Setting: fmt.Sprintf("simulated engines, %d disposals of each arm, poll %s; Holdfast's engine sends no events",
		b.disposals, blockedPoll)}
	w, err := b.newWorld(ctx, "blocked", map[string]string{
		"HOLDFAST_INSPECT_POLL_INTERVAL": blockedPoll.String(), "HOLDFAST_INSPECT_JITTER": "0",
	})
	if err != nil {
		return figure, err
	}
	defer w.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends, err := newEndpoints(2)
	if err != nil {
		return figure, err
	}
	defer closeAll(ends)
	heard, deaf, cleanUp, err := twoEngines()
	if err != nil {
		return figure, err
	}
	defer cleanUp()
	script, err := startByHand(ctx, place{heard.BaseURL(), "/bench/by-hand"}, ends[0].URL())
	if err != nil {
		return figure, err
	}
	hand := &arm{place: script.place, endpoint: ends[0], repaired: func(ctx context.Context) error {
		_, err := script.awaitRepaired(ctx)
		return err
	}}
	holdfast, err := w.newArm(ctx, place{deaf.BaseURL(), "/bench/by-holdfast"}, ends[1])
	if err != nil {
		return figure, err
	}
	deaf.BlockEvents(true)
	if err := byTurns(ctx, b.disposals, hand, holdfast); err != nil {
		return figure, err
	}
	onePoll := millis(blockedPoll)
	figure.spread("until the engine says connected: by hand, events heard", hand.watched)
	figure.spread("until the engine says connected: Holdfast, events blocked", holdfast.watched)
	figure.limit("Holdfast more than by hand, p50", holdfast.watched.at(0.5)-hand.watched.at(0.5), "ms", onePoll+moreP50)
	figure.limit("Holdfast more than by hand, p95", holdfast.watched.at(0.95)-hand.watched.at(0.95), "ms", onePoll+moreP95)
	figure.limit("until tools/list reached the endpoint, nobody watching: Holdfast more than by hand, p95",
		holdfast.witnessed.at(0.95)-hand.witnessed.at(0.95), "ms", onePoll+moreP95)
	return figure, nil
}

func twoEngines() (first, second *simulator.Engine, cleanUp func(), err error) {
	if first, err = simulator.NewEngine(simulator.EngineOptions{}); err != nil {
		return nil, nil, nil, err
	}
	if second, err = simulator.NewEngine(simulator.EngineOptions{}); err != nil {
		first.Close()
		return nil, nil, nil, err
	}
	return first, second, func() { first.Close(); second.Close() }, nil
}
