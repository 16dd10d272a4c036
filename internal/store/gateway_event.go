package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

const (
	// MaxStreamEvents is how many events of a stream are kept.
	MaxStreamEvents = 64
	// MaxStreamBytes is how long their messages may be together; the newest is kept whatever its length.
	MaxStreamBytes = 2 << 20
)

const tableEvent = "mcp_event"

func eventCell(e Event) cell {
	return cell{table: tableEvent, column: "data", row: []string{e.Session, e.Stream, strconv.FormatInt(e.Seq, 10)}}
}

// AppendEvent writes the next event of a stream and gives its number, whatever the event's own Seq says. The oldest ones are forgotten
// where there are more than [MaxStreamEvents] or [MaxStreamBytes]. A stream that is not there is [ErrNotFound], one that is done
// [ErrStreamDone].
func (s *Store) AppendEvent(ctx context.Context, event Event) (seq int64, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		seq, err = s.append(ctx, tx, event)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("append event: %w", err)
	}
	return seq, nil
}

// Answered appends the response to one of a stream's requests, and takes that from those that wait; with the last one the stream is
// done. The first response to a request is the one that counts: for another one, and for a request that was never of the stream, it is
// [ErrAnswered], and nothing is written.
func (s *Store) Answered(ctx context.Context, session, stream, requestID string, event Event) (seq int64, err error) {
	event.Session, event.Stream, event.Response = session, stream, true
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		left, err := waiting(ctx, tx, session, stream, requestID)
		if err != nil {
			return err
		}
		if seq, err = s.append(ctx, tx, event); err != nil {
			return err
		}
		return s.setRequests(ctx, tx, Stream{Session: session, ID: stream, Requests: left}, event.At)
	})
	if err != nil {
		return 0, fmt.Errorf("append response: %w", err)
	}
	return seq, nil
}

// DropRequest takes a request from those that wait, without a response to it: its client has cancelled it. With the last one the
// stream is done. It tells whether the request was waiting.
func (s *Store) DropRequest(ctx context.Context, session, stream, requestID string, at time.Time) (dropped bool, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		left, err := waiting(ctx, tx, session, stream, requestID)
		if errors.Is(err, ErrAnswered) {
			return nil
		}
		if err != nil {
			return err
		}
		dropped = true
		return s.setRequests(ctx, tx, Stream{Session: session, ID: stream, Requests: left}, at)
	})
	if err != nil {
		return false, fmt.Errorf("drop request: %w", err)
	}
	return dropped, nil
}

// Events reads the events of a stream that come after a number, at most limit of them (0: [DefaultLimit]; at most [MaxLimit]).
func (s *Store) Events(ctx context.Context, session, stream string, after int64, limit int) ([]Event, error) {
	found, err := listBy(ctx, s.run.events, []any{session, stream, after, limited(limit)}, s.scanEvent)
	if err != nil {
		return found, fmt.Errorf("list events: %w", err)
	}
	return found, nil
}

// waiting gives the requests of a stream that wait beside one that has to.
func waiting(ctx context.Context, tx *sql.Tx, session, stream, requestID string) (left []string, err error) {
	row, err := scanStream(tx.QueryRowContext(ctx, sqlStream, session, stream))
	if err != nil {
		return nil, err
	}
	at := slices.Index(row.Requests, requestID)
	if at < 0 {
		return nil, ErrAnswered
	}
	return slices.Delete(row.Requests, at, at+1), nil
}

func (s *Store) setRequests(ctx context.Context, tx *sql.Tx, row Stream, at time.Time) error {
	requests, err := requestsText(row.Requests)
	if err != nil {
		return err
	}
	doneAt := int64(0)
	if len(row.Requests) == 0 {
		doneAt = stamp(at)
		if err := forget(ctx, tx, []any{row.Session, row.ID}, sqlDeleteStreamMessages); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, sqlSetRequests, row.Session, row.ID, requests, len(row.Requests), doneAt)
	return err
}

func (s *Store) append(ctx context.Context, tx *sql.Tx, event Event) (seq int64, err error) {
	var count, bytes int64
	err = tx.StmtContext(ctx, s.run.countEvent).QueryRowContext(ctx, event.Session, event.Stream, len(event.Data)).Scan(&seq, &count, &bytes)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err := scanStream(tx.QueryRowContext(ctx, sqlStream, event.Session, event.Stream)); err != nil {
			return 0, err
		}
		return 0, ErrStreamDone
	}
	if err != nil {
		return 0, err
	}
	event.Seq = seq
	data, err := s.seal.bytes(event.Data, eventCell(event))
	if err != nil {
		return 0, err
	}
	_, err = tx.StmtContext(ctx, s.run.putEvent).ExecContext(ctx, event.Session, event.Stream, seq, len(event.Data), event.Response,
		stamp(event.At), data)
	if err != nil || count <= MaxStreamEvents && bytes <= MaxStreamBytes {
		return seq, err
	}
	return seq, trim(ctx, tx, event, count, bytes)
}

// trim forgets events older than the newest, the oldest first, until the others fit.
func trim(ctx context.Context, tx *sql.Tx, newest Event, count, bytes int64) error {
	type size struct{ seq, bytes int64 }
	older, err := list(ctx, tx, sqlEventSizes, []any{newest.Session, newest.Stream, newest.Seq}, func(row scanner) (each size, err error) {
		err = row.Scan(&each.seq, &each.bytes)
		return each, err
	})
	if err != nil {
		return err
	}
	upTo := int64(0)
	for _, each := range older {
		if count <= MaxStreamEvents && bytes <= MaxStreamBytes {
			break
		}
		upTo, count, bytes = each.seq, count-1, bytes-each.bytes
	}
	if _, err := tx.ExecContext(ctx, sqlTrimEvents, newest.Session, newest.Stream, upTo); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, sqlCountTrimmed, newest.Session, newest.Stream, count, bytes)
	return err
}

func (s *Store) scanEvent(row scanner) (Event, error) {
	var found Event
	var at int64
	var data []byte
	if err := row.Scan(&found.Session, &found.Stream, &found.Seq, &found.Response, &at, &data); err != nil {
		return Event{}, missing(err)
	}
	found.At = fromMicros(at)
	key := streamKey(found.Session, found.Stream) + ", seq " + strconv.FormatInt(found.Seq, 10)
	var err error
	if found.Data, err = s.reveal(data, eventCell(found), key); err != nil {
		return Event{}, err
	}
	return found, nil
}
