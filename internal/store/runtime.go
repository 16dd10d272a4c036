package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const tableRuntime = "connection_runtime"

func canaryCell(key Key) cell {
	return cell{table: tableRuntime, column: "canary", row: []string{key.Workspace, key.Name, key.Directory}}
}

// Probe reads what the probes of a connection remember; the zero state when there was none yet. When only the canary session
// cannot be unsealed, the rest is given along with the *CorruptRowError: the caller may go on with a new session.
func (s *Store) Probe(ctx context.Context, key Key) (ProbeState, error) {
	var state ProbeState
	var probeAt, okAt int64
	var canary []byte
	err := s.run.probe.QueryRowContext(ctx, key.Workspace, key.Name, key.Directory).Scan(&probeAt, &okAt, &state.Misses, &canary)
	if errors.Is(err, sql.ErrNoRows) {
		return ProbeState{}, nil
	}
	if err != nil {
		return ProbeState{}, fmt.Errorf("read probe state (%s): %w", key, err)
	}
	state.LastProbeAt, state.LastOKAt = fromMicros(probeAt), fromMicros(okAt)
	if canary == nil {
		return state, nil
	}
	at := canaryCell(key)
	if state.Canary, err = s.seal.open(canary, at); err != nil {
		return state, &CorruptRowError{Table: at.table, Key: key.String(), Column: at.column, Cause: err}
	}
	return state, nil
}

// PutProbe replaces what the probes of a connection remember. It leaves the push alone.
func (s *Store) PutProbe(ctx context.Context, key Key, state ProbeState) error {
	var canary []byte
	if state.Canary != nil {
		sealed, err := s.seal.bytes(state.Canary, canaryCell(key))
		if err != nil {
			return fmt.Errorf("write probe state (%s): %w", key, err)
		}
		canary = sealed
	}
	_, err := s.runWrite(ctx, s.run.putProbe, key.Workspace, key.Name, key.Directory,
		toMicros(state.LastProbeAt), toMicros(state.LastOKAt), state.Misses, canary)
	if err != nil {
		return fmt.Errorf("write probe state (%s): %w", key, err)
	}
	return nil
}

// BeginPush notes that a push is about to be sent. While an earlier one of the connection may still be under way, neither finished
// nor past its deadline at push.StartedAt, nothing is written and the error is a *PushInFlightError.
func (s *Store) BeginPush(ctx context.Context, key Key, push Push) error {
	if push.StartedAt.IsZero() || !push.Deadline.After(push.StartedAt) {
		return fmt.Errorf("begin push (%s): a start and a later deadline are needed", key)
	}
	result, err := s.runWrite(ctx, s.run.beginPush, key.Workspace, key.Name, key.Directory,
		push.Generation, push.Revision, toMicros(push.StartedAt), toMicros(push.Deadline))
	if err != nil {
		return fmt.Errorf("begin push (%s): %w", key, err)
	}
	begun, err := affected(result)
	if err != nil || begun {
		return err
	}
	other, err := s.LastPush(ctx, key)
	if err != nil {
		return err
	}
	return &PushInFlightError{Key: key, Until: other.Deadline}
}

// FinishPush notes that the connection's last push has been answered, or has failed in a way that leaves nothing under way.
// ErrNotFound when there was none.
func (s *Store) FinishPush(ctx context.Context, key Key, at time.Time) error {
	result, err := s.runWrite(ctx, s.run.finishPush, key.Workspace, key.Name, key.Directory, stamp(at))
	if err != nil {
		return fmt.Errorf("finish push (%s): %w", key, err)
	}
	finished, err := affected(result)
	if err == nil && !finished {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("finish push (%s): %w", key, err)
	}
	return nil
}

// LastPush reads the connection's last push; the zero push when there was none.
func (s *Store) LastPush(ctx context.Context, key Key) (Push, error) {
	var push Push
	var startedAt, deadline, finishedAt int64
	err := s.run.lastPush.QueryRowContext(ctx, key.Workspace, key.Name, key.Directory).
		Scan(&push.Generation, &push.Revision, &startedAt, &deadline, &finishedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return Push{}, nil
	}
	if err != nil {
		return Push{}, fmt.Errorf("read last push (%s): %w", key, err)
	}
	push.StartedAt, push.Deadline, push.FinishedAt = fromMicros(startedAt), fromMicros(deadline), fromMicros(finishedAt)
	return push, nil
}

// DeleteRuntime forgets probes and push of a connection.
func (s *Store) DeleteRuntime(ctx context.Context, key Key) error {
	if _, err := s.exec(ctx, sqlDeleteRuntime, key.Workspace, key.Name, key.Directory); err != nil {
		return fmt.Errorf("delete runtime row (%s): %w", key, err)
	}
	return nil
}
