package peers

import (
	"sync"
	"time"
)

// Clock stands still until a test moves it.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock starts at the system's time, to the second: a store keeps less than nanoseconds.
func NewClock() *Clock { return &Clock{at: time.Now().Truncate(time.Second)} }

// Now is the time that it shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves it on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
