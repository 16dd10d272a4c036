package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// RenewStreams keeps an owner's streams that are not done from others until a time.
func (s *Store) RenewStreams(ctx context.Context, owner string, until time.Time) error {
	if owner == "" {
		return errors.New("renew streams: an owner is needed")
	}
	if _, err := s.exec(ctx, sqlRenewStreams, owner, toMicros(until)); err != nil {
		return fmt.Errorf("renew streams: %w", err)
	}
	return nil
}

// ReleaseStreams gives up an owner's streams that are not done, of one session or (where it is empty) of all: whoever asks first may
// claim them at once.
func (s *Store) ReleaseStreams(ctx context.Context, owner, session string) error {
	if owner == "" {
		return errors.New("release streams: an owner is needed")
	}
	if _, err := s.exec(ctx, sqlReleaseStreams, owner, session); err != nil {
		return fmt.Errorf("release streams: %w", err)
	}
	return nil
}

// ClaimStream makes want.Owner the owner of a stream that is not done and that its owner has not renewed before the time now; it is
// from others until want.Until. Of those who claim at once one gets it. The stream is given back as it is in both cases, with its
// messages. One that is not there is [ErrNotFound].
func (s *Store) ClaimStream(ctx context.Context, want Stream, now time.Time) (found Stream, claimed bool, err error) {
	if want.Owner == "" || !want.Until.After(now) {
		return Stream{}, false, errors.New("claim stream: an owner and a time to come are needed")
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, sqlClaimStream, want.Session, want.ID, want.Owner, toMicros(want.Until), toMicros(now))
		if err != nil {
			return err
		}
		if claimed, err = affected(result); err != nil {
			return err
		}
		if found, err = scanStream(tx.QueryRowContext(ctx, sqlStream, want.Session, want.ID)); err != nil {
			return err
		}
		found.Messages, err = s.scanMessages(tx.QueryRowContext(ctx, sqlStreamMessages, want.Session, want.ID), found)
		return err
	})
	if err != nil {
		return Stream{}, false, fmt.Errorf("claim stream: %w", err)
	}
	return found, claimed, nil
}
