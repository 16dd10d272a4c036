package executions

import (
	"context"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// messageNotCalled is told of a run that is gone and had not passed its gate.
const messageNotCalled = "its run is gone from Temporal, so that nobody can decide on it any more; the tool was not called: make the call again"

// lost closes an execution whose run is gone and cannot tell how it ended: an operator of Temporal has ended it, or Temporal has lost
// its data. It reports whether it did. A run that goes on, or has ended by itself, is left alone.
func (s *Service) lost(ctx context.Context, who Caller, row store.Execution) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	outcome, err := s.workflows.Outcome(asking, row.Key)
	unknown := errors.Is(err, execution.ErrNotFound)
	switch {
	case unknown:
		outcome = &approval.Outcome{
			Kind: approval.OutcomeUnknown, Code: approval.CodeRunEnded, Message: "Temporal knows nothing of its run any more; a call that it made may have run",
		}
	case err != nil:
		return false, &UnavailableError{What: "temporal", Err: err}
	case outcome == nil || outcome.Code != approval.CodeRunEnded:
		return false, nil
	}
	end, err := s.ending(ctx, row, *outcome)
	if err != nil || end.Outcome.Kind == "" {
		return false, err
	}
	if unknown && end.Events[0].Seq == 1 {
		return false, nil // it never ran: whoever repeats the call starts it
	}
	writing, done := context.WithTimeout(ctx, storeTimeout)
	defer done()
	if err := s.store.RecordOutcome(writing, end); err != nil {
		return false, storeFailed(err)
	}
	line := s.about(who, "outcome", row)
	line.Identity = row.Identity
	line.Outcome, line.Reason = string(end.Outcome.Kind), end.Outcome.Code
	s.audit.add(line)
	return true, nil
}

// ending is how a run that is gone has ended. While its gate waits nothing was called: a decision is in the store before what it allows
// is done.
func (s *Service) ending(ctx context.Context, row store.Execution, outcome approval.Outcome) (store.Ending, error) {
	seen, err := s.steps(ctx, row)
	if err != nil || seen.outcome {
		return store.Ending{}, err
	}
	now := s.now()
	end := store.Ending{Key: row.Key, Outcome: outcome, Retained: now.Add(s.settings.Retention)}
	event := func(kind string, pause int) {
		end.Events = append(end.Events, store.ExecutionEvent{
			Key: row.Key, Seq: seen.seq + int64(len(end.Events)) + 1, Kind: kind, Pause: pause, At: now,
		})
	}
	for n := seen.first(0); n != 0; n = seen.first(0) {
		pause, err := s.pause(ctx, target{row: row, number: n})
		if err != nil {
			return store.Ending{}, err
		}
		delete(seen.open, n)
		if !pause.Open() {
			continue
		}
		if pause.Request.Kind == approval.KindGate {
			end.Outcome.Kind, end.Outcome.Message = approval.OutcomeFailed, messageNotCalled
		}
		pause.Dropped = true
		end.Dropped = append(end.Dropped, pause.Pause)
		event(store.EventSettled, n)
	}
	event(store.EventOutcome, 0)
	end.Outcome.At = now
	return end, nil
}
