package executions

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// report tells where an execution is. Of several pauses that wait it tells the oldest that is not the one known, else the known one.
func (s *Service) report(ctx context.Context, who Caller, row store.Execution, seen steps, known int) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	report := Report{Status: StatusPending, Key: row.Key, Address: row.Address, Digest: row.Digest, Policy: row.Policy}
	report.Arguments = s.masked(ctx, row)
	if row.Outcome == nil && seen.outcome {
		current, err := s.store.Execution(ctx, row.Key)
		if err != nil {
			return Report{}, storeFailed(err)
		}
		row = current
	}
	if row.Outcome != nil {
		report.Status, report.Outcome = StatusCompleted, row.Outcome
		return s.withResult(ctx, report)
	}
	number := seen.first(known)
	if number == 0 && seen.open[known] {
		number = known
	}
	if number == 0 {
		return report, nil
	}
	pause, err := s.store.Pause(ctx, approval.PauseID(row.Key, number))
	if err != nil {
		return Report{}, storeFailed(err)
	}
	if !pause.Open() {
		return report, nil // decided since it was looked at
	}
	report.Status, report.Pause = StatusPaused, &pause.Pause
	report.ModelMayAnswer = s.modelMayAnswer(ctx, who, row)
	return report, nil
}

func (s *Service) withResult(ctx context.Context, report Report) (Report, error) {
	switch report.Outcome.Kind {
	case approval.OutcomeDeclined, approval.OutcomeCancelled, approval.OutcomeExpired:
		return s.withGate(ctx, report)
	case approval.OutcomeCompleted:
	default:
		return report, nil
	}
	if report.Outcome.Calls == 0 {
		return report, nil
	}
	call, err := s.store.Call(ctx, report.Key, report.Outcome.Calls)
	if err != nil {
		return Report{}, storeFailed(err)
	}
	report.Result = call.Result
	return report, nil
}

// withGate adds the pause that kept the call from being made: its window and its reason are told.
func (s *Service) withGate(ctx context.Context, report Report) (Report, error) {
	gate, err := s.store.Pause(ctx, approval.PauseID(report.Key, 1))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return report, nil // it was called off before it asked
	case err != nil:
		return Report{}, storeFailed(err)
	case !gate.Open():
		report.Pause = &gate.Pause
	}
	return report, nil
}

// modelMayAnswer holds only while the rules are those under which the call was asked for: whoever has changed them since may have meant
// this one too.
func (s *Service) modelMayAnswer(ctx context.Context, who Caller, row store.Execution) bool {
	if row.Mode != approval.ModeModel || who.Mode != approval.ModeModel {
		return false
	}
	now := s.policy(ctx)
	if now.Version != row.Policy {
		return false
	}
	tool, err := s.catalog.Lookup(ctx, row.Address)
	if err != nil {
		return false
	}
	verdict := now.Judge(row.Identity.Account, tool)
	return verdict.Effect == policy.Ask && verdict.ModelMayAnswer
}

// masked is for people: the tool's schema says which values are secrets, and so do names. Without the schema names alone do: a source
// that has not been listed yet does not keep a person from deciding.
func (s *Service) masked(ctx context.Context, row store.Execution) json.RawMessage {
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout)
	defer cancel()
	tool, err := s.catalog.Lookup(ctx, row.Address)
	if err != nil {
		tool.Input = nil
	}
	return Mask(row.Arguments, tool.Input)
}

// storeFailed keeps apart what is not there and what cannot be read.
func storeFailed(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return err
	}
	return &UnavailableError{What: "store", Err: err}
}
