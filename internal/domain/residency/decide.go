package residency

import "time"

// Step is the longest extension of a runtime's life, and how long a pause is waited for by default.
const Step = 4 * time.Minute

// unknownStep is the extension while nobody can tell how many pauses there are.
const unknownStep = 30 * time.Second

// Limits are the three ages at which an idle runtime ends.
type Limits struct {
	Idle    time.Duration // T: with nothing going on
	Paused  time.Duration // P: although executions of the session wait for a person
	Running time.Duration // R: although requests are not answered, or streams are open
}

// Default are the limits that nobody has set: 5, 9 and 35 minutes.
func Default() Limits {
	return Limits{Idle: 5 * time.Minute, Paused: 5*time.Minute + Step, Running: 35 * time.Minute}
}

// State is what is known of a runtime.
type State struct {
	// Idle is the time since the last request; 0 where none is known.
	Idle time.Duration
	// Paused counts the executions of the session that wait for a person; Unknown says that nobody could tell.
	Paused  int
	Unknown bool
	// Running counts the requests that are not answered, Streams the open streams.
	Running int
	Streams int
}

// Verdict is what becomes of a runtime.
type Verdict string

// The verdicts.
const (
	// IdleWithinTimeout keeps it: it was used lately.
	IdleWithinTimeout Verdict = "idle_within_timeout"
	// ExtendPaused keeps it for a pause, ExtendRunning for a request or a stream, ExtendUnknown because nobody can tell.
	ExtendPaused  Verdict = "extend_paused_lease"
	ExtendRunning Verdict = "extend_running_lease"
	ExtendUnknown Verdict = "extend_unknown_lease"
	// Sleep ends it.
	Sleep Verdict = "destroy_idle_session"
)

// Decision is a verdict, and after which time to ask again; 0 with [Sleep].
type Decision struct {
	Verdict Verdict
	Lease   time.Duration
}

// Decide tells what becomes of a runtime. Pauses count before what runs: past their limit neither requests nor streams keep it.
func Decide(l Limits, s State) Decision {
	idle := max(0, s.Idle)
	busy := s.Running > 0 || s.Streams > 0
	switch {
	case idle < l.Idle:
		return Decision{Verdict: IdleWithinTimeout, Lease: l.Idle - idle}
	case s.Unknown:
		return Decision{Verdict: ExtendUnknown, Lease: unknownStep}
	case s.Paused > 0 && idle < l.Paused:
		return Decision{Verdict: ExtendPaused, Lease: lease(l.Paused - idle)}
	case s.Paused == 0 && busy && idle < l.Running:
		return Decision{Verdict: ExtendRunning, Lease: lease(l.Running - idle)}
	default:
		return Decision{Verdict: Sleep}
	}
}

// lease is between a millisecond and [Step].
func lease(left time.Duration) time.Duration { return max(time.Millisecond, min(Step, left)) }
