package executions

import (
	"context"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// Decide implements [Engine]. The report has the pause with the decision that counts.
func (s *Service) Decide(ctx context.Context, who Caller, answer Answer) (Report, error) {
	at, err := s.find(ctx, who, answer.ID, &NotFoundError{ID: answer.ID})
	if err != nil {
		return Report{}, err
	}
	said, err := s.answer(ctx, who, at, answer)
	if err != nil {
		return Report{}, err
	}
	if said.refused != nil {
		return *said.refused, nil
	}
	report, err := s.follow(ctx, who, at.row, said.pause.Number, oneLook)
	if said.pause.ID != "" {
		report.Pause, report.Conflict = &said.pause, said.conflict
	}
	return report, err
}

// Cancel implements [Engine]. An execution that has ended stays as it ended.
func (s *Service) Cancel(ctx context.Context, who Caller, id, reason string) (Report, error) {
	at, err := s.find(ctx, who, id, &NotFoundError{ID: id})
	if err != nil {
		return Report{}, err
	}
	if at.row.Outcome == nil {
		asking, cancel := context.WithTimeout(ctx, temporalTimeout)
		defer cancel()
		err := s.workflows.Cancel(asking, at.row.Key, execution.Cancel{By: who.Principal, Name: who.Name, Via: who.via(), Reason: reason})
		if err != nil && !errors.Is(err, execution.ErrNotFound) {
			return Report{}, &UnavailableError{What: "temporal", Err: err}
		}
		// A run that is gone takes nothing more, and says nothing.
		if _, err := s.lost(ctx, who, at.row, true); err != nil {
			s.log.WarnContext(ctx, "it is not known whether a run that was called off is gone", "execution", at.row.Key, "error", err)
		}
		line := s.about(who, "cancel", at.row)
		line.Reason = reason
		s.audit.add(line)
	}
	return s.attach(ctx, who, target{row: at.row}, oneLook)
}

// Lookup implements [Engine]. Where the id is a pause's, the report has that pause, also when it waits no more.
func (s *Service) Lookup(ctx context.Context, who Caller, id string) (Report, error) {
	at, err := s.find(ctx, who, id, &NotFoundError{ID: id})
	if err != nil {
		return Report{}, err
	}
	seen, err := s.steps(ctx, at.row)
	if err != nil {
		return Report{}, err
	}
	report, err := s.report(ctx, who, at.row, seen, 0)
	if err == nil && s.overdue(report) {
		report = s.cutOff(ctx, who, at, report)
	}
	if err != nil || at.number == 0 {
		return report, s.lookedUp(id, err)
	}
	row, err := s.pause(ctx, at)
	if err != nil {
		return Report{}, s.lookedUp(id, err)
	}
	report.Pause = &row.Pause
	if report.Status == StatusPaused && !row.Open() {
		report.Status = StatusPending // another pause waits
	}
	return report, nil
}

func (s *Service) lookedUp(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{ID: id}
	}
	return err
}

func (s *Service) steps(ctx context.Context, row store.Execution) (steps, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	events, err := s.store.ExecutionEvents(ctx, row.Key, 0)
	if err != nil {
		return steps{}, storeFailed(err)
	}
	return steps{}.fold(events), nil
}

// Paused implements [Engine].
func (s *Service) Paused(ctx context.Context, who Caller, id string) (store.PauseRow, error) {
	at, err := s.find(ctx, who, id, &NotFoundError{ID: id})
	if err != nil {
		return store.PauseRow{}, err
	}
	row, err := s.pause(ctx, at)
	return row, s.lookedUp(id, err)
}

// PausedCount implements [Engine].
func (s *Service) PausedCount(ctx context.Context, who Caller) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	count, err := s.store.CountOpenPauses(ctx, who.Identity)
	if err != nil {
		return 0, &UnavailableError{What: "store", Err: err}
	}
	return count, nil
}

// HasPaused implements [Engine].
func (s *Service) HasPaused(ctx context.Context, who Caller) (bool, error) {
	count, err := s.PausedCount(ctx, who)
	return count > 0, err
}

// Settled implements [Engine].
func (s *Service) Settled(ctx context.Context, who Caller, id string) (bool, error) {
	at, err := s.find(ctx, who, id, &NotFoundError{ID: id})
	if err != nil {
		return false, err
	}
	if at.row.Outcome != nil {
		return true, nil
	}
	seen, err := s.steps(ctx, at.row)
	if err != nil {
		return false, err
	}
	return seen.outcome || at.number > 0 && seen.settled[at.number], nil
}
