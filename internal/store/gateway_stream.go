package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	tableStream         = "mcp_stream"
	tableStreamMessages = "mcp_stream_messages"
)

// pruneBatch is how many streams or executions one transaction forgets, so that other writers wait for a short time only.
const pruneBatch = 64

func streamKey(session, stream string) string {
	return described("session", session) + ", " + described("stream", stream)
}

func messagesCell(session, stream string) cell {
	return cell{table: tableStreamMessages, column: "messages", row: []string{session, stream}}
}

// OpenStream writes a new stream. One without requests may be opened again, which changes nothing; another one that is there already
// is [ErrExists]. A session that is not there, or terminated, is [ErrNotFound].
func (s *Store) OpenStream(ctx context.Context, row Stream) error {
	if row.Session == "" || row.ID == "" {
		return errors.New("open stream: a session and an id are needed")
	}
	requests, err := requestsText(row.Requests)
	if err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := alive(ctx, tx, row.Session); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, sqlOpenStream, row.Session, row.ID, requests, len(row.Requests), stamp(row.OpenedAt),
			row.Owner, toMicros(row.Until))
		if err != nil {
			return err
		}
		fresh, err := affected(result)
		switch {
		case err != nil:
			return err
		case !fresh && len(row.Requests) == 0:
			return nil
		case !fresh:
			return ErrExists
		case len(row.Messages) == 0:
			return nil
		}
		sealed, err := s.seal.bytes(row.Messages, messagesCell(row.Session, row.ID))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, sqlPutStreamMessages, row.Session, row.ID, sealed)
		return err
	})
	if err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	return nil
}

// Stream reads a stream with its messages: [ErrNotFound], or a *[CorruptRowError].
func (s *Store) Stream(ctx context.Context, session, stream string) (Stream, error) {
	found, err := scanStream(s.run.stream.QueryRowContext(ctx, session, stream))
	if err == nil {
		found.Messages, err = s.scanMessages(s.read.QueryRowContext(ctx, sqlStreamMessages, session, stream), found)
	}
	if err != nil {
		return Stream{}, fmt.Errorf("read stream: %w", err)
	}
	return found, nil
}

// UndeliveredStreams reads the streams of a session that are done and not acknowledged, in the order in which they were done.
func (s *Store) UndeliveredStreams(ctx context.Context, session string) ([]Stream, error) {
	return s.streams(ctx, sqlUndeliveredStreams, session)
}

// RunningStreams reads the streams of a session that have requests without a response, the oldest first.
func (s *Store) RunningStreams(ctx context.Context, session string) ([]Stream, error) {
	return s.streams(ctx, sqlRunningStreams, session)
}

// LapsedStreams reads the streams of all sessions that have requests without a response and whose owner has not renewed them in
// time, at most limit of them: those that [Store.ClaimStream] gives to who asks first.
func (s *Store) LapsedStreams(ctx context.Context, now time.Time, limit int) ([]Stream, error) {
	return s.streams(ctx, sqlLapsedStreams, toMicros(now), limited(limit))
}

func (s *Store) streams(ctx context.Context, query string, args ...any) ([]Stream, error) {
	found, err := list(ctx, s.read, query, args, scanStream)
	if err != nil {
		return found, fmt.Errorf("list streams: %w", err)
	}
	return found, nil
}

// RunningRequests counts the requests of a session that have no response.
func (s *Store) RunningRequests(ctx context.Context, session string) (count int, err error) {
	if err := s.run.runningRequests.QueryRowContext(ctx, session).Scan(&count); err != nil {
		return 0, fmt.Errorf("count requests of session: %w", err)
	}
	return count, nil
}

// AckStream notes that a stream has reached its client, and forgets its requests, answered or not, and its events: no response is
// taken for it afterwards. One that is not there is left alone. A stream without requests can go on.
func (s *Store) AckStream(ctx context.Context, session, stream string, at time.Time) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, sqlAckStream, session, stream, stamp(at)); err != nil {
			return err
		}
		return forget(ctx, tx, []any{session, stream}, sqlDeleteStreamMessages, sqlDeleteStreamEvents)
	})
	if err != nil {
		return fmt.Errorf("acknowledge stream: %w", err)
	}
	return nil
}

// PruneStreams forgets the streams that were opened, and last worked on or done, before a time, and inbox items of before it. It
// tells how many streams they were. Streams without requests stay as long as their session.
func (s *Store) PruneStreams(ctx context.Context, before time.Time) (pruned int64, err error) {
	if _, err := s.exec(ctx, sqlPruneInbox, toMicros(before)); err != nil {
		return 0, fmt.Errorf("prune inbox: %w", err)
	}
	for {
		batch, err := s.pruneStreamsOnce(ctx, before)
		pruned += int64(batch)
		if err != nil {
			return pruned, fmt.Errorf("prune streams: %w", err)
		}
		if batch < pruneBatch {
			return pruned, nil
		}
	}
}

func (s *Store) pruneStreamsOnce(ctx context.Context, before time.Time) (count int, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		found, err := list(ctx, tx, sqlOldStreams, []any{toMicros(before), pruneBatch}, func(row scanner) (at [2]any, err error) {
			var session, stream string
			err = row.Scan(&session, &stream)
			return [2]any{session, stream}, err
		})
		if err != nil {
			return err
		}
		for _, at := range found {
			if err := forget(ctx, tx, at[:], sqlDeleteStream, sqlDeleteStreamMessages, sqlDeleteStreamEvents); err != nil {
				return err
			}
		}
		count = len(found)
		return nil
	})
	return count, err
}

func requestsText(ids []string) (string, error) {
	if len(ids) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(ids)
	return string(text), err
}

func scanStream(row scanner) (Stream, error) {
	var found Stream
	var requests string
	var openedAt, heldUntil, doneAt, ackedAt int64
	err := row.Scan(&found.Session, &found.ID, &requests, &openedAt, &found.Owner, &heldUntil, &doneAt, &ackedAt)
	if err != nil {
		return Stream{}, missing(err)
	}
	found.OpenedAt, found.Until = fromMicros(openedAt), fromMicros(heldUntil)
	found.DoneAt, found.AckedAt = fromMicros(doneAt), fromMicros(ackedAt)
	if json.Unmarshal([]byte(requests), &found.Requests) != nil {
		return Stream{}, &CorruptRowError{
			Table: tableStream, Key: streamKey(found.Session, found.ID), Column: "requests", Cause: errors.New("is no JSON array of texts"),
		}
	}
	if len(found.Requests) == 0 {
		found.Requests = nil
	}
	return found, nil
}

func (s *Store) scanMessages(row scanner, of Stream) ([]byte, error) {
	var sealed []byte
	if err := row.Scan(&sealed); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		return nil, err
	}
	return s.reveal(sealed, messagesCell(of.Session, of.ID), streamKey(of.Session, of.ID))
}
