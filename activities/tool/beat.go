package tool

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// beatEvery is how often a call tells the server that it lives; it is given up after 10 s of silence.
const beatEvery = 2 * time.Second

// beat records heartbeats until stop is called, which waits for the last one.
func beat(ctx context.Context) (stop func()) {
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		activity.RecordHeartbeat(ctx)
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	})
	return func() { close(over); done.Wait() }
}
