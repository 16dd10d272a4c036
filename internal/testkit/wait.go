package testkit

import (
	"testing"
	"time"
)

// pollEvery is how often Eventually looks.
const pollEvery = 5 * time.Millisecond

// Eventually polls cond until it holds and fails the test when it does not within the given time. The claim says in
// words what was waited for.
func Eventually(tb testing.TB, within time.Duration, cond func() bool, claim string) {
	tb.Helper()
	if !Poll(tb, within, cond) {
		tb.Fatalf("not within %s: %s", within, claim)
	}
}

// Poll polls cond until it holds and reports whether it did within the given time.
func Poll(tb testing.TB, within time.Duration, cond func() bool) bool {
	tb.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if cond() {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return cond() // a slow machine may have been late, not wrong
		case <-tb.Context().Done():
			return false
		}
	}
}
