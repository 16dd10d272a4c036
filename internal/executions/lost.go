package executions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

const (
	messageNotCalled    = "its run is gone from Temporal, so that nobody can decide on it any more; the tool was not called: make the call again"
	messageNeverStarted = "its run never began; the tool was not called: make the call again"
	messageMayHaveRun   = "its run is gone from Temporal, and nobody knows how far its call came"

	// A call whose run was not started is left to whoever repeats it for so long: one without a name cannot be repeated.
	abandonedAfter      = time.Minute
	namedAbandonedAfter = 15 * time.Minute
)

// abandoned reports whether nobody will start an execution any more that was not started.
func (s *Service) abandoned(row store.Execution) bool {
	after := abandonedAfter
	if row.Request != "" {
		after = namedAbandonedAfter
	}
	return s.now().Sub(row.CreatedAt) > after
}

// lost closes an execution whose run is gone and cannot tell how it ended: an operator of Temporal has ended it, Temporal has lost its
// data, or it was never started and is given up. It reports whether it did. A run that goes on, or has ended by itself, is left alone.
func (s *Service) lost(ctx context.Context, who Caller, row store.Execution, givenUp bool) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	outcome, err := s.workflows.Outcome(asking, row.Key)
	unknown := errors.Is(err, execution.ErrNotFound)
	if err != nil && !unknown {
		return false, &UnavailableError{What: "temporal", Err: err}
	}
	if !unknown && (outcome == nil || outcome.Code != approval.CodeRunEnded) {
		return false, nil
	}
	seen, err := s.steps(ctx, row)
	if err != nil || seen.outcome || unknown && seen.seq == 0 && !givenUp {
		return false, err
	}
	end, err := s.close(ctx, row, seen)
	if errors.Is(err, store.ErrClaimed) { // a worker was just at it
		end, err = s.close(ctx, row, seen)
	}
	if err != nil {
		return false, err
	}
	line := s.about(who, "outcome", row)
	line.Identity = row.Identity
	line.Outcome, line.Reason = string(end.Outcome.Kind), end.Outcome.Code
	s.audit.add(line)
	return true, nil
}

// close writes down how a run that is gone has ended.
func (s *Service) close(ctx context.Context, row store.Execution, seen steps) (store.Ending, error) {
	end, err := s.ending(ctx, row, seen)
	if err != nil {
		return end, err
	}
	if end.Outcome.Kind == approval.OutcomeFailed {
		end.Unclaimed = execution.TheCall
		if seen.seq == 0 {
			end.Outcome.Message = messageNeverStarted
		}
	}
	writing, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err = s.store.RecordOutcome(writing, end)
	if err != nil && !errors.Is(err, store.ErrClaimed) {
		err = storeFailed(err)
	}
	return end, err
}

// ending is how a run that is gone has ended, and drops what it waited for.
func (s *Service) ending(ctx context.Context, row store.Execution, seen steps) (store.Ending, error) {
	outcome, err := s.becameOf(ctx, row)
	if err != nil {
		return store.Ending{}, err
	}
	now := s.now()
	outcome.At = now
	end := store.Ending{Key: row.Key, Outcome: outcome, Retained: now.Add(s.settings.Retention)}
	event := func(kind string, pause int) {
		end.Events = append(end.Events, store.ExecutionEvent{
			Key: row.Key, Seq: seen.seq + int64(len(end.Events)) + 1, Kind: kind, Pause: pause, At: now,
		})
	}
	seen = seen.fold(nil) // a copy
	for n := seen.first(0); n != 0; n = seen.first(0) {
		pause, err := s.pause(ctx, target{row: row, number: n})
		if err != nil {
			return store.Ending{}, err
		}
		delete(seen.open, n)
		if pause.Open() {
			pause.Dropped = true
			end.Dropped = append(end.Dropped, pause.Pause)
			event(store.EventSettled, n)
		}
	}
	event(store.EventOutcome, 0)
	return end, nil
}

// becameOf is what became of an execution's call without its run. A call is claimed in the store before it is made, and none is claimed
// for an execution that is closed: what is not claimed was not made, and will not be.
func (s *Service) becameOf(ctx context.Context, row store.Execution) (approval.Outcome, error) {
	reading, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	call, err := s.store.Call(reading, row.Key, execution.TheCall)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return approval.Outcome{Kind: approval.OutcomeFailed, Code: approval.CodeRunEnded, Message: messageNotCalled}, nil
	case err != nil:
		return approval.Outcome{}, storeFailed(err)
	case call.DoneAt.IsZero():
		return approval.Outcome{
			Kind: approval.OutcomeUnknown, Code: approval.CodeRunEnded, Message: messageMayHaveRun, Calls: execution.TheCall,
		}, nil
	default:
		sum := sha256.Sum256(call.Result)
		return approval.Outcome{
			Kind: approval.OutcomeCompleted, ToolError: call.ToolError, Calls: execution.TheCall, Digest: hex.EncodeToString(sum[:]), Bytes: len(call.Result),
		}, nil
	}
}
