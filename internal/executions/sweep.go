package executions

import (
	"context"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// sweepGrace is how long after its deadline a run that lives has surely ended a pause, where a worker is there.
	sweepGrace = time.Minute
	// sweepPages bounds what one sweep looks at, sweepFaults how often Temporal is asked in vain.
	sweepPages  = 20
	sweepFaults = 5
)

// sweeps looks from time to time for pauses that wait beyond their deadlines, and closes them where their runs are gone: nobody may ever
// come to decide on them.
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
	open, faults := true, 0
	filter := store.PauseFilter{Open: &open, Limit: store.MaxLimit}
	for range sweepPages {
		reading, cancel := context.WithTimeout(ctx, storeTimeout)
		rows, err := s.store.Pauses(reading, filter) // the good ones also where others cannot be read
		cancel()
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "not all pauses that are overdue can be looked at", "error", err)
		}
		for _, row := range rows {
			if s.now().Before(row.Deadline.Add(sweepGrace)) {
				continue
			}
			if !s.swept(ctx, row) {
				faults++
			}
			if faults == sweepFaults || ctx.Err() != nil {
				return
			}
		}
		if len(rows) < store.MaxLimit {
			return
		}
		filter.Before = rows[len(rows)-1].Cursor()
	}
}

// swept reports whether Temporal or the store has answered.
func (s *Service) swept(ctx context.Context, row store.PauseRow) bool {
	reading, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	of, err := s.store.Execution(reading, row.Key)
	if err != nil {
		return false
	}
	gone, err := s.lost(ctx, Caller{Principal: "gateway", Name: "gateway"}, of)
	if gone {
		s.log.WarnContext(ctx, "an execution is closed: its run is gone from Temporal", "execution", row.Key)
	}
	return err == nil
}
