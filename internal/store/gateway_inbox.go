package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

const tableInbox = "mcp_inbox"

func inboxCell(i InboxItem) cell {
	return cell{table: tableInbox, column: "message", row: []string{i.Session, strconv.FormatInt(i.Seq, 10), i.Replica, i.Kind}}
}

// PutInbox leaves a message for the replica that holds a session, and gives its number: of two items the later one has the higher. A
// session that is not there, or terminated, is [ErrNotFound].
func (s *Store) PutInbox(ctx context.Context, item InboxItem) (seq int64, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := alive(ctx, tx, item.Session); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, sqlCount, "inbox").Scan(&item.Seq); err != nil {
			return err
		}
		sealed, err := s.seal.bytes(item.Message, inboxCell(item))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, sqlPutInbox, item.Session, item.Seq, item.Replica, item.Kind, stamp(item.At), sealed)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("put into inbox: %w", err)
	}
	return item.Seq, nil
}

// TakeInbox gives the oldest items that were left for a replica, of all sessions, at most limit of them (0: [DefaultLimit]), and
// removes them: each is given once. An item that cannot be read is removed too, and is a *[CorruptRowError] beside the others. An empty
// inbox costs one read.
func (s *Store) TakeInbox(ctx context.Context, replica string, limit int) ([]InboxItem, error) {
	var filled int
	if err := s.run.countInbox.QueryRowContext(ctx, replica).Scan(&filled); err != nil {
		return nil, fmt.Errorf("look into inbox: %w", err)
	}
	if filled == 0 {
		return nil, nil
	}
	var found []InboxItem
	var damaged error
	err := s.inTransaction(ctx, func(tx *sql.Tx) (err error) {
		last := int64(0)
		found, err = list(ctx, tx, sqlInbox, []any{replica, limited(limit)}, func(row scanner) (InboxItem, error) {
			item, seq, err := s.scanInbox(row)
			last = max(last, seq)
			return item, err
		})
		var corrupt *CorruptRowError
		if errors.As(err, &corrupt) {
			damaged, err = err, nil
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, sqlTakeInbox, replica, last)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("take from inbox: %w", err)
	}
	if damaged != nil {
		return found, fmt.Errorf("take from inbox: %w", damaged)
	}
	return found, nil
}

// scanInbox tells the number of an item also where that cannot be read.
func (s *Store) scanInbox(row scanner) (found InboxItem, seq int64, err error) {
	var at int64
	var sealed []byte
	if err := row.Scan(&found.Session, &found.Seq, &found.Replica, &found.Kind, &at, &sealed); err != nil {
		return InboxItem{}, 0, missing(err)
	}
	found.At, seq = fromMicros(at), found.Seq
	key := described("session", found.Session) + ", seq " + strconv.FormatInt(seq, 10)
	if found.Message, err = s.reveal(sealed, inboxCell(found), key); err != nil {
		return InboxItem{}, seq, err
	}
	return found, seq, nil
}
