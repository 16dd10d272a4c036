package tool

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Record writes a step of an execution down: for lists, for those who wait for it, and for the audit. What is not kept any more is not
// written, and that is no error.
func (a *Activities) Record(ctx context.Context, in RecordRequest) error {
	row, err := a.Store.Execution(ctx, in.Key)
	if err == nil {
		err = a.record(ctx, in, row)
	}
	if errors.Is(err, store.ErrNotFound) {
		a.Log.WarnContext(ctx, "step of an execution not written: it is not in the store", "execution", in.Key)
		return nil
	}
	if err != nil {
		return fmt.Errorf("record step of execution: %w", err)
	}
	if lines := auditOf(in, row); len(lines) > 0 {
		if err := a.Store.PutAudit(ctx, lines...); err != nil {
			return fmt.Errorf("record step of execution: %w", err)
		}
	}
	return nil
}

func (a *Activities) record(ctx context.Context, in RecordRequest, row store.Execution) error {
	events := make([]store.ExecutionEvent, 0, len(in.Events))
	for _, e := range in.Events {
		events = append(events, store.ExecutionEvent{Key: in.Key, Seq: e.Seq, Kind: e.Kind, Pause: e.Pause, At: e.At})
	}
	switch {
	case in.Paused != nil && len(events) > 0:
		// What followed from earlier pauses comes before the new one, and is written first.
		last := len(events) - 1
		for _, event := range events[:last] {
			if err := a.Store.AppendExecutionEvent(ctx, event); err != nil {
				return err
			}
		}
		return a.Store.RecordPaused(ctx, pauseRow(*in.Paused, row), events[last])
	case in.Decided != nil:
		return a.Store.RecordDecided(ctx, *in.Decided, events)
	case in.Outcome != nil:
		end := store.Ending{Key: in.Key, Outcome: *in.Outcome, Dropped: in.Dropped, Events: events}
		if a.Retention > 0 {
			end.Retained = in.Outcome.At.Add(a.Retention)
		}
		return a.Store.RecordOutcome(ctx, end)
	default:
		return nil
	}
}

func pauseRow(pause approval.Pause, row store.Execution) store.PauseRow {
	return store.PauseRow{
		Pause: pause, Key: row.Key, Identity: row.Identity, Session: row.Session, Address: row.Address, Client: row.Client,
		Policy: row.Policy, Digest: row.Digest,
	}
}

// auditOf is what the audit is told of a step. A step that is written again, since a worker was lost, may be in it twice.
func auditOf(in RecordRequest, row store.Execution) []store.Audit {
	line := store.Audit{
		Identity: row.Identity, Principal: in.AskedBy, Session: row.Session, Execution: row.Key, Address: row.Address, Digest: row.Digest, Policy: row.Policy,
	}
	switch {
	case in.Paused != nil:
		line.Action, line.At, line.Pause, line.Reason = "pause", in.Paused.CreatedAt, in.Paused.ID, in.Paused.Request.Reason
	case in.Decided != nil && in.Decided.Decision != nil:
		d := in.Decided.Decision
		line.Action, line.At, line.Pause, line.Reason = string(d.Action), d.At, in.Decided.ID, d.Reason
		line.Principal, line.Name, line.Via = d.By, d.Name, string(d.Via)
	case in.Decided != nil:
		line.Action, line.At, line.Pause, line.Principal = "expire", in.Decided.Deadline, in.Decided.ID, ""
	case in.Outcome != nil:
		line.Action, line.At, line.Outcome, line.Reason = "outcome", in.Outcome.At, string(in.Outcome.Kind), in.Outcome.Code
	default:
		return nil
	}
	return []store.Audit{line}
}
