package session

import "math"

// Under skipped time the end must be tried as often as a server would.
func init() { endAttempts = math.MaxInt32 }
