package connection

import (
	"time"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

const (
	transitionsKept = 100
	answersKept     = 16
	answersFor      = time.Hour
	// rolloverEvents is the history length beyond which a connection at rest goes on as a new run.
	rolloverEvents = 400
)

// State is all that a connection knows. It is the workflow's input: a run starts from it and hands it to the next run.
// Fields are only ever added; their JSON names never change.
type State struct {
	Key      delivery.Key `json:"key"`
	EngineID string       `json:"engineId,omitempty"`
	// RolloverEvents overrides the history length at which a new run starts; 0 is the default.
	RolloverEvents int `json:"rolloverEvents,omitempty"`

	Entry   delivery.Entry      `json:"entry"`
	Desired *desired.LoadResult `json:"desired,omitempty"`
	// LoadFailure is set while the desired config cannot be read.
	LoadFailure *health.Failure `json:"loadFailure,omitempty"`

	EngineStatus string        `json:"engineStatus,omitempty"`
	Tools        *engine.Tools `json:"tools,omitempty"`
	Degraded     *Degraded     `json:"degraded,omitempty"`
	WaitingFor   WaitingFor    `json:"waitingFor,omitempty"`
	CheckedAt    *time.Time    `json:"checkedAt,omitempty"`

	// Attempts counts the failures in a row; ten healthy minutes reset it.
	Attempts      int        `json:"attempts,omitempty"`
	ReadySince    *time.Time `json:"readySince,omitempty"`
	NextAttemptAt *time.Time `json:"nextAttemptAt,omitempty"`
	// DisabledAt is when an entry disabled by somebody else was delivered again.
	DisabledAt *time.Time `json:"disabledAt,omitempty"`

	Token *Token `json:"token,omitempty"`
	// Withdraw means that the engine may still hold an entry that is not wanted any more.
	Withdraw bool `json:"withdraw,omitempty"`

	Intents     Intents      `json:"intents"`
	Transitions []Transition `json:"transitions,omitempty"`
	Sequence    int64        `json:"sequence,omitempty"`
	Answers     []Answered   `json:"answers,omitempty"`
}

// Intents is what was asked for and not done yet. It is part of the state, so that nothing asked is lost between runs.
type Intents struct {
	Load     bool          `json:"load,omitempty"`
	Look     bool          `json:"look,omitempty"`
	Repair   bool          `json:"repair,omitempty"`
	Trigger  string        `json:"trigger,omitempty"`
	Stale    *MarkStale    `json:"stale,omitempty"`
	Events   []EngineEvent `json:"events,omitempty"`
	Refresh  bool          `json:"refresh,omitempty"`
	Remove   bool          `json:"remove,omitempty"`
	Rollover bool          `json:"rollover,omitempty"`
}

// Any reports whether anything is left to do.
func (i Intents) Any() bool {
	return i.Load || i.Look || i.Repair || i.Stale != nil || len(i.Events) > 0 || i.Refresh || i.Remove || i.Rollover
}

// restore makes a new connection's first state complete and leaves a carried one as it is.
func restore(in *State) *State {
	if in.Entry.State == "" {
		in.Entry = delivery.New()
		in.Intents.Load = true
	}
	return in
}

// remember keeps an answered request in the ring.
func (s *State) remember(a Answered) {
	if a.Key == "" {
		return
	}
	s.Answers = append(s.Answers, a)
	if extra := len(s.Answers) - answersKept; extra > 0 {
		s.Answers = append([]Answered(nil), s.Answers[extra:]...)
	}
}

// answered finds a request that was answered within the last hour.
func (s *State) answered(key, kind string, now time.Time) *Answered {
	for i := range s.Answers {
		a := s.Answers[i]
		if key != "" && a.Key == key && a.Kind == kind && now.Sub(a.FinishedAt) < answersFor {
			return &a
		}
	}
	return nil
}
