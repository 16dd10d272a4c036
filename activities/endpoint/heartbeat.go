package endpoint

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeatEvery is how often a mint says that its worker is alive, so that the server notices within seconds, and not
// after minutes, that it was killed. One that takes less says nothing.
const heartbeatEvery = 3 * time.Second

// beat says so until the returned function is called, which waits for the end of it.
func beat(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var owned sync.WaitGroup
	owned.Go(func() {
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		owned.Wait()
	}
}
