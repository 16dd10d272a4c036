package executions

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// gated starts an execution, which asks a person, and waits.
func (s *Service) gated(ctx context.Context, who Caller, call Call, p prepared) (Report, error) {
	row := store.Execution{
		Key: approval.NewKey(), Identity: who.Identity, Session: who.Session, Mode: who.Mode, Resource: who.Resource, Client: who.Client,
		Request: call.Request, Address: p.tool.Address, Arguments: p.arguments, Digest: p.digest(), Policy: p.policy.Version,
		CreatedAt: s.now(), Status: store.StatusRunning,
	}
	if call.Request != "" {
		if report, found, err := s.made(ctx, p, row, s.hold(call.Hold, call.Release)); found || err != nil {
			return report, err
		}
	}
	put, cancel := context.WithTimeout(ctx, storeTimeout)
	existing, fresh, err := s.store.PutExecution(put, row)
	cancel()
	if err != nil {
		return Report{}, &UnavailableError{What: "store", Err: err}
	}
	if !fresh {
		return s.same(ctx, who, call, p, existing)
	}
	if err := s.start(ctx, who, call, p, row); err != nil {
		return Report{}, err
	}
	line := s.line(who, "execute", p)
	line.Execution, line.Digest, line.Reason = row.Key, row.Digest, p.verdict.Reason
	s.audit.add(line)
	if call.AutoApprove && p.verdict.Effect == policy.Ask {
		line.Action, line.Reason = "accept", "approved with the call: no person was asked"
		s.audit.add(line)
	}
	return s.follow(ctx, who, row, 0, s.hold(call.Hold, call.Release))
}

// same attaches to the execution that a call of the same name has begun.
func (s *Service) same(ctx context.Context, who Caller, call Call, p prepared, row store.Execution) (Report, error) {
	if row.Address != p.tool.Address || !bytes.Equal(row.Arguments, p.arguments) {
		return Report{}, otherCall(p.tool.Address)
	}
	if row.Outcome == nil {
		seen, err := s.steps(ctx, row)
		if err != nil {
			return Report{}, err
		}
		if seen.seq > 0 {
			// It has begun. Where its run is gone since, another one would ask a second time for what may have been done.
			return s.attach(ctx, who, target{row: row}, s.hold(call.Hold, call.Release))
		}
		// Whoever put it may have died before its start.
		if err := s.start(ctx, who, call, p, row); err != nil {
			return Report{}, err
		}
	}
	return s.attach(ctx, who, target{row: row}, s.hold(call.Hold, call.Release))
}

func otherCall(address string) error {
	return &ArgumentsError{Address: address, Taken: true, Problem: "another call was made under this name: use a new one"}
}

// asked finds the execution of a call that an identity has named.
func (s *Service) asked(ctx context.Context, who Caller, name string) (store.Execution, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	row, err := s.store.ExecutionByRequest(ctx, who.Identity, name)
	if errors.Is(err, store.ErrNotFound) {
		return store.Execution{}, false, nil
	}
	if err != nil {
		return store.Execution{}, false, &UnavailableError{What: "store", Err: err}
	}
	return row, true, nil
}

// made finds the direct call of the same name: the rules allowed it when it was made.
func (s *Service) made(ctx context.Context, p prepared, row store.Execution, hold hold) (Report, bool, error) {
	reading, cancel := context.WithTimeout(ctx, storeTimeout)
	existing, err := s.store.Direct(reading, row.Identity, row.Request)
	cancel()
	if errors.Is(err, store.ErrNotFound) {
		return Report{}, false, nil
	}
	if err != nil {
		return Report{}, false, &UnavailableError{What: "store", Err: err}
	}
	p.tool.HonoursKey, p.tool.Annotations = false, policy.Annotations{} // it is not made again without a person
	mine := store.Direct{
		Name: row.Request, Identity: row.Identity, Address: row.Address, Digest: policy.Digest(row.Address, row.Arguments, ""), At: row.CreatedAt,
	}
	report, done, err := s.before(ctx, p, mine, existing, hold)
	if err == nil && !done {
		// It never reached the tool, and the name was given back: a person is asked now.
		s.settleDirect(ctx, "drop", mine, func(ctx context.Context) error {
			_, err := s.store.DropDirect(ctx, mine)
			return err
		})
	}
	return report, done, err
}

func (s *Service) start(ctx context.Context, who Caller, call Call, p prepared, row store.Execution) error {
	window := p.verdict.Window
	if window <= 0 {
		window = s.settings.Window
	}
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	err := s.workflows.Start(ctx, execution.Input{
		Key: row.Key, Identity: row.Identity, Session: row.Session, Mode: row.Mode, Address: row.Address, Digest: row.Digest,
		Policy: row.Policy, Gate: question(p.verdict, row.Address), Window: window, Retry: p.tool.Repeatable(),
		CallTimeout: s.settings.CallTimeout, AutoApprove: call.AutoApprove, AskedBy: who.Principal,
	})
	if err != nil {
		return &UnavailableError{What: "temporal", Err: err}
	}
	return nil
}

// question is what a person is asked. It holds nothing of the arguments: it is part of the workflow's history.
func question(verdict policy.Verdict, address string) *approval.Request {
	return &approval.Request{Kind: approval.KindGate, Message: GateMessage(address), Reason: verdict.Reason}
}

// GateMessage is the whole question of a gate. It says no more than the tool's address.
func GateMessage(address string) string { return fmt.Sprintf("Approve %s?", address) }

// follow waits for what is new about an execution, the pause known left aside, and reports it. What was started is never reported as an
// error: its caller can ask again with its key.
func (s *Service) follow(ctx context.Context, who Caller, row store.Execution, known int, hold hold) (Report, error) {
	seen, err := s.await(ctx, row.Key, known, hold)
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx) // a drained caller gets its last answer; each step has an end of its own
	}
	if err == nil {
		var report Report
		if report, err = s.report(ctx, who, row, seen, known); err == nil {
			return report, nil
		}
	}
	s.log.WarnContext(ctx, "an execution goes on unseen", "execution", row.Key, "error", err)
	return s.unseen(row), nil
}

// unseen is all that is known without the store.
func (s *Service) unseen(row store.Execution) Report {
	return Report{Status: StatusPending, Key: row.Key, Address: row.Address, Digest: row.Digest, Policy: row.Policy}
}
