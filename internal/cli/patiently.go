package cli

import (
	"context"
	"errors"
	"time"
)

// readLimit is how long whoever feeds a pipe may take.
const readLimit = 30 * time.Second

// patiently reads what may be a pipe that nobody writes to: opening one cannot be cut short, so it is left behind.
func patiently[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	limited, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		value, err := read()
		answers <- answer{value, err}
	}()
	select {
	case got := <-answers:
		return got.value, got.err
	case <-limited.Done():
		var none T
		if err := ctx.Err(); err != nil {
			return none, err
		}
		return none, errors.New("a file that was named gives nothing for " + readLimit.String())
	}
}
