package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Token is what was minted last for a credential.
type Token struct {
	// Credential is the credential of a config, or one of its sources: the credential, "#" and a name of the source.
	Credential   string
	SourceDigest string // of the token source that it was minted from
	Sequence     int64  // from 1 on, one more with each token of the credential; 0: only a refresh token so far
	AccessToken  string `json:"-"` // sealed at rest; empty: none yet, or forgotten with its config
	RefreshToken string `json:"-"` // sealed at rest; empty: none

	MintedAt  time.Time
	ExpiresAt time.Time // zero: unknown
	RenewAt   time.Time // zero: never
	Dropped   bool      // distrusted: not to be sent any more
}

// String leaves the secrets out.
func (t Token) String() string {
	return fmt.Sprintf("token %d of credential %q", t.Sequence, t.Credential)
}

// GoString leaves the secrets out of %#v.
func (t Token) GoString() string { return t.String() }

const tableToken = "credential_token" //nolint:gosec // a name, no credential

func tokenCell(token Token, column string) cell {
	return cell{table: tableToken, column: column, row: []string{token.Credential, token.SourceDigest}}
}

// Token reads the last token of a credential, a dropped one too: ErrNotFound, or a *CorruptRowError.
func (s *Store) Token(ctx context.Context, credential string) (Token, error) {
	found, err := s.scanToken(s.run.token.QueryRowContext(ctx, credential))
	if err != nil {
		return Token{}, fmt.Errorf("read token of credential %q: %w", credential, err)
	}
	return found, nil
}

// PutToken writes the token that the lease was taken for, under the next sequence; it looks at neither its Sequence nor its
// Dropped. ErrLeaseLost when the lease was released or somebody took one after it. A lease that has run out, but that nobody else
// has taken, still writes: a refresh token that was exchanged would be lost otherwise.
func (s *Store) PutToken(ctx context.Context, lease TokenLease, token Token) error {
	if token.Credential != lease.Credential {
		return fmt.Errorf("put a token: the lease is for credential %q, the token for %q", lease.Credential, token.Credential)
	}
	if token.AccessToken == "" {
		return fmt.Errorf("put token of credential %q: an access token is needed", token.Credential)
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := stillHeld(ctx, tx, lease); err != nil {
			return err
		}
		return s.writeTokenBy(ctx, tx, sqlPutToken, token)
	})
	if err != nil {
		return fmt.Errorf("put token of credential %q: %w", token.Credential, err)
	}
	return nil
}

// DropToken marks a token as not to be sent any more, and tells whether it was not marked before. sequence is the token that is
// distrusted, and with it all before: a newer one stays. 0 stands for any.
func (s *Store) DropToken(ctx context.Context, credential string, sequence int64) (dropped bool, err error) {
	result, err := s.exec(ctx, sqlDropToken, credential, sequence)
	if err != nil {
		return false, fmt.Errorf("drop token of credential %q: %w", credential, err)
	}
	return affected(result)
}

// writeTokenBy runs a statement that takes the columns of a token.
func (s *Store) writeTokenBy(ctx context.Context, tx *sql.Tx, statement string, token Token) error {
	sealed := [2][]byte{} // NULL where there is nothing to seal
	for i, each := range []struct{ column, secret string }{{"access_token", token.AccessToken}, {"refresh_token", token.RefreshToken}} {
		if each.secret == "" {
			continue
		}
		var err error
		if sealed[i], err = s.seal.bytes([]byte(each.secret), tokenCell(token, each.column)); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, statement, token.Credential, token.SourceDigest, sealed[0], sealed[1],
		toMicros(token.MintedAt), toMicros(token.ExpiresAt), toMicros(token.RenewAt))
	return err
}

func (s *Store) scanToken(row scanner) (Token, error) {
	var found Token
	var access, refresh []byte
	var mintedAt, expiresAt, renewAt int64
	err := row.Scan(&found.Credential, &found.SourceDigest, &found.Sequence, &access, &refresh, &mintedAt, &expiresAt, &renewAt, &found.Dropped)
	if err != nil {
		return Token{}, missing(err)
	}
	found.MintedAt, found.ExpiresAt, found.RenewAt = fromMicros(mintedAt), fromMicros(expiresAt), fromMicros(renewAt)
	secrets := [2]string{}
	for i, each := range []struct {
		column string
		sealed []byte
	}{{"access_token", access}, {"refresh_token", refresh}} {
		if each.sealed == nil {
			continue
		}
		plain, err := s.seal.open(each.sealed, tokenCell(found, each.column))
		if err != nil {
			return Token{}, &CorruptRowError{Table: tableToken, Key: fmt.Sprintf("credential %q", found.Credential), Column: each.column, Cause: err}
		}
		secrets[i] = string(plain)
	}
	found.AccessToken, found.RefreshToken = secrets[0], secrets[1]
	return found, nil
}

// stillHeld keeps the row from changing until the transaction ends, because no other writer can write.
func stillHeld(ctx context.Context, tx *sql.Tx, lease TokenLease) error {
	var holder string
	var fence int64
	err := tx.QueryRowContext(ctx, sqlLease, lease.Credential).Scan(&holder, &fence, new(int64))
	if errors.Is(err, sql.ErrNoRows) || err == nil && (holder != lease.Holder || fence != lease.Fence) {
		return ErrLeaseLost
	}
	return err
}
