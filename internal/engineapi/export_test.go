package engineapi

import (
	"context"
	"io"
	"time"
)

// EventsWithSilence is [Client.Events] with another limit than [Silence].
func EventsWithSilence(ctx context.Context, c *Client, silence time.Duration) (*EventStream, error) {
	return c.events(ctx, silence)
}

// ReadData returns the data of every event in r, and the error that ended it.
func ReadData(r io.Reader) (data []string, err error) {
	reader := newSSEReader(r)
	for {
		next, err := reader.next()
		if err != nil {
			return data, err
		}
		data = append(data, string(next))
	}
}
