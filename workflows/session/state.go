package session

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

const (
	// leaseGrace is how long a lease is kept after its pause's window.
	leaseGrace = 5 * time.Second
	hooksKept  = 32
	// leasesKept bounds the leases of one session; the oldest go first.
	leasesKept = 500
)

// State is what a run hands to the next.
type State struct {
	LastUsedAt time.Time   `json:"lastUsedAt"`
	Leases     []Lease     `json:"leases,omitempty"` // by the order of their pauses
	Hooks      []HookEvent `json:"hooks,omitempty"`
	Ended      bool        `json:"ended,omitempty"`
	// Terminate is set where the next run is to end the session.
	Terminate *Terminate `json:"terminate,omitempty"`
}

// register installs the queries.
func (s *keeper) register(ctx workflow.Context) error {
	s.terminate = s.Terminate
	if err := workflow.SetQueryHandlerWithOptions(ctx, QuerySnapshot, func() (Snapshot, error) { return s.snapshot(), nil },
		workflow.QueryHandlerOptions{Description: "the session, its leases and its last hooks"}); err != nil {
		return err
	}
	return workflow.SetQueryHandlerWithOptions(ctx, QueryLeases, func() ([]Lease, error) { return s.snapshot().Leases, nil },
		workflow.QueryHandlerOptions{Description: "what keeps the session resident; a lease is over when its time is"})
}

// drain takes every signal that has arrived, without blocking.
func (s *keeper) drain(ctx workflow.Context) {
	drain(ctx, SignalPaused, s.onPaused)
	drain(ctx, SignalResuming, s.onResuming)
	drain(ctx, SignalSettled, s.onSettled)
	drain(ctx, SignalTouch, s.onTouch)
	drain(ctx, SignalTerminate, s.onTerminate)
}

func drain[T any](ctx workflow.Context, name string, take func(workflow.Context, T)) {
	channel := workflow.GetSignalChannel(ctx, name)
	for {
		var in T
		if !channel.ReceiveAsync(&in) {
			return
		}
		take(ctx, in)
	}
}

func (s *keeper) onPaused(ctx workflow.Context, in Hook) {
	s.note(ctx, "paused", in)
	s.release(in.PauseID)
	s.Leases = append(s.Leases, Lease{PauseID: in.PauseID, Since: workflow.Now(ctx), Until: in.Deadline.Add(leaseGrace)})
	if extra := len(s.Leases) - leasesKept; extra > 0 {
		s.Leases = append([]Lease{}, s.Leases[extra:]...)
	}
}

func (s *keeper) onResuming(ctx workflow.Context, in Hook) {
	s.note(ctx, "resuming", in)
	for i := range s.Leases {
		if s.Leases[i].PauseID == in.PauseID {
			s.Leases[i].Resuming = true
		}
	}
}

func (s *keeper) onSettled(ctx workflow.Context, in Hook) {
	s.note(ctx, "settled", in)
	s.release(in.PauseID)
}

func (s *keeper) onTouch(ctx workflow.Context, in Touch) {
	at := in.At
	if now := workflow.Now(ctx); at.IsZero() || at.After(now) {
		at = now
	}
	if at.After(s.LastUsedAt) {
		s.LastUsedAt = at
	}
}

func (s *keeper) onTerminate(_ workflow.Context, in Terminate) { s.terminate = &in }

// note keeps the last hooks, and lets go of what is over by now.
func (s *keeper) note(ctx workflow.Context, name string, in Hook) {
	now := workflow.Now(ctx)
	s.Hooks = append(s.Hooks, HookEvent{Hook: name, PauseID: in.PauseID, At: now})
	if extra := len(s.Hooks) - hooksKept; extra > 0 {
		s.Hooks = append([]HookEvent{}, s.Hooks[extra:]...)
	}
	s.Leases = alive(s.Leases, now)
}

func (s *keeper) release(pauseID string) {
	kept := make([]Lease, 0, len(s.Leases))
	for _, l := range s.Leases {
		if l.PauseID != pauseID {
			kept = append(kept, l)
		}
	}
	s.Leases = kept
}

// alive are the leases that are not over. A lease needs no timer of its own: who reads it knows the time.
func alive(leases []Lease, now time.Time) []Lease {
	kept := make([]Lease, 0, len(leases))
	for _, l := range leases {
		if now.Before(l.Until) {
			kept = append(kept, l)
		}
	}
	return kept
}

func (s *keeper) snapshot() Snapshot {
	return Snapshot{
		ID: s.in.ID, Identity: s.in.Identity, Mode: s.in.Mode, Client: s.in.Client, CreatedAt: s.in.CreatedAt, LastUsedAt: s.LastUsedAt,
		ExpiresAt: s.expiresAt(), Leases: append([]Lease{}, s.Leases...), Hooks: append([]HookEvent{}, s.Hooks...), Terminated: s.Ended,
	}
}
