package engineapi

import (
	"context"
	"time"
)

// EventsWithSilence is [Client.Events] with another limit than [Silence].
func EventsWithSilence(ctx context.Context, c *Client, silence time.Duration) (*EventStream, error) {
	return c.events(ctx, silence)
}
