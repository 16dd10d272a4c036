package executions

import (
	"context"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// sweepGrace is how long after its deadline a run that lives has surely ended a pause, where a worker is there.
	sweepGrace = time.Minute
	// sweepRunningAfter is longer than a call takes, with all that is tried again.
	sweepRunningAfter = 15 * time.Minute
	// sweepPages bounds what one sweep looks at, sweepFaults how often Temporal is asked in vain.
	sweepPages  = 20
	sweepFaults = 5
)

// sweeps looks from time to time for executions that should have come further by now, and closes those whose runs are gone: nobody may
// ever come to ask for them.
func (s *Service) sweeps(ctx context.Context) {
	tick := time.NewTicker(s.settings.Sweep)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.sweep(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) sweep(ctx context.Context) {
	faults := 0
	look := func(key string) bool {
		if !s.swept(ctx, key) {
			faults++
		}
		return faults < sweepFaults && ctx.Err() == nil
	}
	s.sweepPauses(ctx, look)
	s.sweepRunning(ctx, look)
}

// sweepPauses looks at what waits for a person beyond its deadline.
func (s *Service) sweepPauses(ctx context.Context, look func(key string) bool) {
	open := true
	filter := store.PauseFilter{Open: &open, Limit: store.MaxLimit}
	for range sweepPages {
		reading, cancel := context.WithTimeout(ctx, storeTimeout)
		rows, err := s.store.Pauses(reading, filter) // the good ones also where others cannot be read
		cancel()
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "not all pauses that are overdue can be looked at", "error", err)
		}
		for _, row := range rows {
			if s.now().After(row.Deadline.Add(sweepGrace)) && !look(row.Key) {
				return
			}
		}
		if len(rows) < store.MaxLimit {
			return
		}
		filter.Before = rows[len(rows)-1].Cursor()
	}
}

// sweepRunning looks at what waits for nobody, and has been under way for longer than calls take.
func (s *Service) sweepRunning(ctx context.Context, look func(key string) bool) {
	filter := store.ExecutionFilter{Status: []string{store.StatusRunning}, Limit: store.MaxLimit}
	for range sweepPages {
		reading, cancel := context.WithTimeout(ctx, storeTimeout)
		rows, err := s.store.Executions(reading, filter)
		cancel()
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "not all executions that go on can be looked at", "error", err)
		}
		for _, row := range rows {
			if s.now().Sub(row.CreatedAt) > sweepRunningAfter && !look(row.Key) {
				return
			}
		}
		if len(rows) < store.MaxLimit {
			return
		}
		filter.Before = rows[len(rows)-1].Cursor()
	}
}

// swept reports whether Temporal and the store have answered.
func (s *Service) swept(ctx context.Context, key string) bool {
	reading, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	row, err := s.store.Execution(reading, key)
	if err != nil {
		return false
	}
	gone, err := s.lost(ctx, Caller{Principal: "gateway", Name: "gateway"}, row, s.abandoned(row))
	if gone {
		s.log.WarnContext(ctx, "an execution is closed: its run is gone from Temporal", "execution", key)
	}
	return err == nil
}
