package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// IntentKind is what somebody wants of a connection, whatever its config says.
type IntentKind string

// Kinds of intents.
const (
	IntentEnabled  IntentKind = "enabled"
	IntentDisabled IntentKind = "disabled"
	IntentRemoved  IntentKind = "removed"
)

// Valid reports whether k is a known kind.
func (k IntentKind) Valid() bool {
	return k == IntentEnabled || k == IntentDisabled || k == IntentRemoved
}

// Intent is what somebody wants of the connections of one name: in a whole account, or in all directories of one workspace.
type Intent struct {
	Account   string // exactly one of Account and Workspace is set
	Workspace string
	Name      string
	Kind      IntentKind
	Revision  int64 // from 1 on; of two intents of the store the later one has the higher
	By        string
	Reason    string

	UpdatedAt time.Time // given as zero, the time of writing is taken
}

// String names the intent.
func (i Intent) String() string {
	if i.Account != "" {
		return fmt.Sprintf("%s of account %s", i.Name, i.Account)
	}
	return fmt.Sprintf("%s of workspace %s", i.Name, i.Workspace)
}

// IntentFilter selects intents; an empty field selects all.
type IntentFilter struct {
	Account   string
	Workspace string
	Name      string
}

// PutIntent writes an intent over the one that is there, and gives it back with its new revision.
func (s *Store) PutIntent(ctx context.Context, want Intent) (Intent, error) {
	return s.putIntent(ctx, want, intentRules{})
}

// PutIntentIf is PutIntent where the intent still has the revision that the change is based on, 0 for none: else it gives a
// *StaleIntentError.
func (s *Store) PutIntentIf(ctx context.Context, want Intent, expect int64) (Intent, error) {
	return s.putIntent(ctx, want, intentRules{allowed: func(tx *sql.Tx) error {
		stored, err := scanIntent(tx.QueryRowContext(ctx, sqlIntent, want.Account, want.Workspace, want.Name))
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if stored.Revision != expect {
			return &StaleIntentError{Intent: want, Expected: expect, Found: stored.Revision}
		}
		return nil
	}})
}

// Intents reads the intents that the filter selects, in the order of account, workspace and name.
func (s *Store) Intents(ctx context.Context, filter IntentFilter) ([]Intent, error) {
	found, err := list(ctx, s.read, sqlIntents, []any{filter.Account, filter.Workspace, filter.Name}, scanIntent)
	if err != nil {
		return found, fmt.Errorf("list intents: %w", err)
	}
	return found, nil
}

// DeleteIntent takes an intent back and tells whether it was there. Exactly one of account and workspace is set.
func (s *Store) DeleteIntent(ctx context.Context, account, workspace, name string) (existed bool, err error) {
	result, err := s.exec(ctx, sqlDeleteIntent, account, workspace, name)
	if err != nil {
		return false, fmt.Errorf("delete intent (%s): %w", Intent{Account: account, Workspace: workspace, Name: name}, err)
	}
	return affected(result)
}

// intentRules are what has to hold in the transaction that writes an intent; nil: nothing more.
type intentRules struct {
	allowed func(tx *sql.Tx) error
	written func(tx *sql.Tx, written Intent) error
}

func (s *Store) putIntent(ctx context.Context, want Intent, rules intentRules) (Intent, error) {
	switch {
	case (want.Account == "") == (want.Workspace == ""):
		return Intent{}, errors.New("put intent: either an account or a workspace is needed")
	case want.Name == "":
		return Intent{}, errors.New("put intent: a name is needed")
	case !want.Kind.Valid():
		return Intent{}, fmt.Errorf("put intent (%s): there is no kind %q", want, want.Kind)
	}
	at := stamp(want.UpdatedAt)
	want.UpdatedAt = fromMicros(at)
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if rules.allowed != nil {
			if err := rules.allowed(tx); err != nil {
				return err
			}
		}
		if err := tx.QueryRowContext(ctx, sqlCount, "intent").Scan(&want.Revision); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, sqlPutIntent, want.Account, want.Workspace, want.Name, string(want.Kind), want.Revision,
			want.By, want.Reason, at)
		if err != nil || rules.written == nil {
			return err
		}
		return rules.written(tx, want)
	})
	var stale *StaleIntentError
	if errors.As(err, &stale) {
		return Intent{}, stale
	}
	if err != nil {
		return Intent{}, fmt.Errorf("put intent (%s): %w", want, err)
	}
	return want, nil
}

func scanIntent(row scanner) (Intent, error) {
	var raw intentRow
	if err := row.Scan(raw.targets()...); err != nil {
		return Intent{}, missing(err)
	}
	return *raw.intent(), nil
}

// intentRow is a row as it is stored; NULL where an outer join found none.
type intentRow struct {
	account, workspace, name, kind, by, reason sql.NullString
	revision, updatedAt                        sql.NullInt64
}

// targets are in the order of intentColumns.
func (r *intentRow) targets() []any {
	return []any{&r.account, &r.workspace, &r.name, &r.kind, &r.revision, &r.by, &r.reason, &r.updatedAt}
}

// intent is nil where there is none.
func (r *intentRow) intent() *Intent {
	if !r.name.Valid {
		return nil
	}
	return &Intent{
		Account: r.account.String, Workspace: r.workspace.String, Name: r.name.String, Kind: IntentKind(r.kind.String),
		Revision: r.revision.Int64, By: r.by.String, Reason: r.reason.String, UpdatedAt: fromMicros(r.updatedAt.Int64),
	}
}
