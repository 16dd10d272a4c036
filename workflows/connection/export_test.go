package connection

import (
	"math"
	"time"
)

// Under skipped time an inspection must be tried as often as a server would.
func init() { inspectAttempts = math.MaxInt32 }

// Backoff is the wait before an attempt.
var Backoff = backoff

// Remember keeps an answered request.
func (s *State) Remember(a Answered) { s.remember(a) }

// AnsweredBefore finds a request that was answered.
func (s *State) AnsweredBefore(key, kind string, now time.Time) *Answered {
	return s.answered(key, kind, now)
}
