package session

import "time"

// EndName is the name of the activity. It is part of recorded histories: never rename it.
const EndName = "session.end"

// EndRequest asks for the end of a session.
type EndRequest struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// EndResult tells what was done.
type EndResult struct {
	// Ended is set where the session was alive.
	Ended bool `json:"ended"`
	// Pruned counts what nobody keeps any longer: streams whose messages nobody has fetched, and executions.
	Pruned int64 `json:"pruned,omitempty"`
}
