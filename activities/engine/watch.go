package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

const (
	// beat is how often a watch tells the server that it lives; the heartbeat timeout is three times that.
	beat = 5 * time.Second
	// reconnectMin and reconnectMax bound the wait before the stream is opened again.
	reconnectMin = 200 * time.Millisecond
	reconnectMax = 5 * time.Second
	// recount is how often a watch asks whether its engine still has connections.
	recount = 30 * time.Second
	// watchSpan ends a watch from inside before its start-to-close timeout does.
	watchSpan = 23 * time.Hour
)

// WatchEngine reads an engine's events for as long as the engine has connections, and tells the connections that lost
// their entry. What it misses only costs time: inspections find the same facts.
func (a *Activities) WatchEngine(ctx context.Context, in WatchRequest) (WatchResult, error) {
	ctx, cancel := context.WithTimeout(ctx, watchSpan)
	defer cancel()
	stopping := activity.GetWorkerStopChannel(ctx)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		keepBeating(ctx, cancel, stopping)
	}()
	defer func() { cancel(); <-beating }()

	w := &watch{Activities: a, engineID: in.EngineID, pause: reconnectMin}
	for ctx.Err() == nil {
		keys, err := a.store.KeysByEngine(ctx, in.EngineID)
		if err == nil && len(keys) == 0 {
			return WatchResult{Reason: "no_connections"}, nil
		}
		if err == nil {
			err = w.stream(ctx)
		}
		if errors.Is(err, errNoConnections) {
			return WatchResult{Reason: "no_connections"}, nil
		}
		if ctx.Err() == nil {
			a.log.DebugContext(ctx, "event stream lost", "engine_id", in.EngineID, "error", err)
			_ = sleep(ctx, w.nextPause())
		}
	}
	select {
	case <-stopping:
		return WatchResult{}, apperr.NotDue("handing over: this worker stops", minimumWait)
	default:
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return WatchResult{}, apperr.NotDue("watching: begins anew once a day", minimumWait)
	}
	return WatchResult{}, ctx.Err()
}

// keepBeating records heartbeats until the watch is over, and ends the watch when the worker stops.
func keepBeating(ctx context.Context, cancel context.CancelFunc, stopping <-chan struct{}) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	activity.RecordHeartbeat(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-stopping:
			cancel()
			return
		case <-ticker.C:
			activity.RecordHeartbeat(ctx)
		}
	}
}

var errNoConnections = errors.New("the engine has no connections")

// watch is one activity's watch over several streams.
type watch struct {
	*Activities

	engineID string
	pause    time.Duration
}

func (w *watch) nextPause() time.Duration {
	pause := w.pause
	w.pause = min(2*w.pause, reconnectMax)
	return spread(pause, 0.2)
}

// stream reads one event stream to its end.
func (w *watch) stream(ctx context.Context) error {
	client, err := w.clients.of(ctx, w.engineID)
	if err != nil {
		return err
	}
	stream, err := client.Events(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	opened := w.now()
	defer func() {
		// Only a stream that lasted resets the wait: one that breaks off at once is not opened five times a second.
		if w.now().Sub(opened) > reconnectMax {
			w.pause = reconnectMin
		}
	}()
	// The stream is blind at first: whatever happened until now is read, not heard.
	if err := sleep(ctx, engineapi.BlindWindow); err != nil {
		return err
	}
	sweep := sweep{Activities: w.Activities, engineID: w.engineID, client: client}
	if err := sweep.all(ctx, "the engine was restarted or its events were missed"); err != nil {
		return err
	}
	for {
		if err := w.listen(ctx, stream, sweep); err != nil {
			return err
		}
		keys, err := w.store.KeysByEngine(ctx, w.engineID)
		if err != nil {
			return fmt.Errorf("count connections: %w", err)
		}
		if len(keys) == 0 {
			return errNoConnections
		}
	}
}

// listen acts on events until it is time to count the connections again.
func (w *watch) listen(ctx context.Context, stream *engineapi.EventStream, s sweep) error {
	until, cancel := context.WithTimeout(ctx, recount)
	defer cancel()
	for {
		event, err := stream.Next(until)
		switch {
		case until.Err() != nil && ctx.Err() == nil:
			return nil
		case err != nil:
			return err
		}
		switch event.Type {
		case engineapi.EventInstanceDisposed:
			err = s.directory(ctx, event.Directory, "the engine disposed of the instance")
		case engineapi.EventGlobalDisposed:
			err = s.all(ctx, "the engine disposed of every instance")
		}
		if err != nil {
			return err
		}
	}
}
