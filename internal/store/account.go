package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// AccountDesired is a desired config that all workspaces of an account share.
type AccountDesired struct {
	Account     string
	Name        string
	Profile     desired.Profile
	Config      desired.Config       // sealed at rest
	Metadata    desired.Metadata     // sealed at rest
	TokenSource *desired.TokenSource // nil: headers as given; sealed at rest

	UpdatedAt time.Time // of the last change; given as zero, the time of writing is taken
}

// String leaves the config out.
func (d AccountDesired) String() string { return d.Name + " of account " + d.Account }

// GoString leaves the config out of %#v.
func (d AccountDesired) GoString() string { return d.String() }

const tableAccountDesired = "account_desired"

func accountCell(row AccountDesired, column string) cell {
	return cell{table: tableAccountDesired, column: column, row: []string{row.Account, row.Name, string(row.Profile)}}
}

// PutAccountDesired writes a shared config. Equal content is not written again and keeps its time; changed tells whether it was
// written.
func (s *Store) PutAccountDesired(ctx context.Context, want AccountDesired) (changed bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("put shared config (%s): %w", want, err)
		}
	}()
	if want.Account == "" || want.Name == "" {
		return false, errors.New("an account and a name are needed")
	}
	if !want.Profile.Valid() {
		return false, fmt.Errorf("there is no profile %q", want.Profile)
	}
	text, err := encode(want.content())
	if err != nil {
		return false, err
	}
	return s.putChanged(ctx, change{
		query: sqlAccountDesired, args: []any{want.Account, want.Name},
		same: func(row scanner) (bool, error) {
			stored, err := s.scanAccountDesired(row)
			if err != nil && !replaceable(err) {
				return false, err
			}
			if err != nil || stored.Profile != want.Profile {
				return false, nil
			}
			return text.sameAs(stored.content())
		},
		write: func(tx *sql.Tx) error { return s.writeAccountDesired(ctx, tx, want, text) },
	})
}

// AccountDesired reads a shared config: ErrNotFound, or a *CorruptRowError.
func (s *Store) AccountDesired(ctx context.Context, account, name string) (AccountDesired, error) {
	found, err := s.scanAccountDesired(s.read.QueryRowContext(ctx, sqlAccountDesired, account, name))
	if err != nil {
		return AccountDesired{}, fmt.Errorf("read shared config (%s): %w", AccountDesired{Account: account, Name: name}, err)
	}
	return found, nil
}

// DeleteAccountDesired removes a shared config, also one that cannot be read, and what was minted for it. It tells whether it was
// there.
func (s *Store) DeleteAccountDesired(ctx context.Context, account, name string) (existed bool, err error) {
	existed, err = s.deleteWithToken(ctx, AccountCredential(account, name), sqlDeleteAccountDesired, account, name)
	if err != nil {
		return false, fmt.Errorf("delete shared config (%s): %w", AccountDesired{Account: account, Name: name}, err)
	}
	return existed, nil
}

// ListAccountDesired reads the shared configs of an account, of all accounts where it is empty, in the order of account and name.
// Rows that cannot be read do not hide the others: the answer has the good ones also when the error joins a *CorruptRowError for
// each bad one.
func (s *Store) ListAccountDesired(ctx context.Context, account string) ([]AccountDesired, error) {
	found, err := list(ctx, s.read, sqlListAccountDesired, []any{account}, s.scanAccountDesired)
	if err != nil {
		return found, fmt.Errorf("list shared configs: %w", err)
	}
	return found, nil
}

func (s *Store) writeAccountDesired(ctx context.Context, tx *sql.Tx, want AccountDesired, text plaintext) error {
	sealed, err := s.sealContent(text, func(column string) cell { return accountCell(want, column) })
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, sqlPutAccountDesired, want.Account, want.Name, string(want.Profile),
		sealed.config, sealed.metadata, sealed.source, stamp(want.UpdatedAt))
	return err
}

func (s *Store) scanAccountDesired(row scanner) (AccountDesired, error) {
	var raw accountRow
	if err := row.Scan(raw.targets()...); err != nil {
		return AccountDesired{}, missing(err)
	}
	return s.openAccountDesired(raw)
}

// accountRow is a row as it is stored; NULL where an outer join found none.
type accountRow struct {
	account, name, profile sql.NullString
	sealed                 sealedContent
	updatedAt              sql.NullInt64
}

// targets are in the order of accountColumns.
func (r *accountRow) targets() []any {
	return []any{&r.account, &r.name, &r.profile, &r.sealed.config, &r.sealed.metadata, &r.sealed.source, &r.updatedAt}
}

func (r *accountRow) there() bool { return r.account.Valid }

// clear is what can be read without keys.
func (r *accountRow) clear() AccountDesired {
	return AccountDesired{
		Account: r.account.String, Name: r.name.String, Profile: desired.Profile(r.profile.String),
		UpdatedAt: fromMicros(r.updatedAt.Int64),
	}
}

func (s *Store) openAccountDesired(raw accountRow) (AccountDesired, error) {
	found := raw.clear()
	opened, err := s.openContent(raw.sealed, found.Profile, func(column string) cell { return accountCell(found, column) })
	if err != nil {
		return AccountDesired{}, damaged(err, tableAccountDesired, found.String())
	}
	found.Config, found.Metadata, found.TokenSource = opened.config, opened.metadata, opened.source
	return found, nil
}

func (d AccountDesired) content() content {
	return content{config: d.Config, metadata: d.Metadata, source: d.TokenSource}
}
