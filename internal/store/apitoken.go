package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// APIToken lets a caller use the REST API. The token itself is not stored.
type APIToken struct {
	ID        string // the public part of the token
	Name      string
	Role      string
	Hash      []byte `json:"-"` // of the secret part; sealed at rest; nil once revoked
	CreatedAt time.Time
	CreatedBy string
	Account   string // whose sessions and executions its bearer's are; empty: of nobody else, "token:<id>"

	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // zero: never
	RevokedAt  time.Time // zero: it is not
}

// String leaves the hash out.
func (t APIToken) String() string { return fmt.Sprintf("API token %q", t.ID) }

// GoString leaves the hash out of %#v.
func (t APIToken) GoString() string { return t.String() }

const tableAPIToken = "api_token"

// apiTokenCell has what the token allows: whoever has no keys can neither write a token, nor raise one, nor make it another's. The
// account is left out where there is none, because there was none in the first releases.
func apiTokenCell(token APIToken) cell {
	expiry := strconv.FormatInt(toMicros(token.ExpiresAt), 10)
	row := []string{token.ID, token.Role, expiry}
	if token.Account != "" {
		row = append(row, token.Account)
	}
	return cell{table: tableAPIToken, column: "hash", row: row}
}

// PutAPIToken writes an API token over the one of the same id. It leaves alone when that was last used, and does not bring a
// revoked one back: ErrRevoked.
func (s *Store) PutAPIToken(ctx context.Context, token APIToken) error {
	if token.ID == "" || token.Role == "" || len(token.Hash) == 0 {
		return errors.New("put API token: an id, a role and a hash are needed")
	}
	hash, err := s.seal.bytes(token.Hash, apiTokenCell(token))
	if err != nil {
		return fmt.Errorf("put API token %q: %w", token.ID, err)
	}
	result, err := s.exec(ctx, sqlPutAPIToken, token.ID, token.Name, token.Role, hash, stamp(token.CreatedAt),
		token.CreatedBy, toMicros(token.ExpiresAt), token.Account)
	if err != nil {
		return fmt.Errorf("put API token %q: %w", token.ID, err)
	}
	written, err := affected(result)
	if err == nil && !written {
		err = ErrRevoked
	}
	if err != nil {
		return fmt.Errorf("put API token %q: %w", token.ID, err)
	}
	return nil
}

// APITokens reads all API tokens, revoked ones too, in the order of their ids. Rows that cannot be read do not hide the others:
// the answer has the good ones also when the error joins a *CorruptRowError for each bad one.
func (s *Store) APITokens(ctx context.Context) ([]APIToken, error) {
	found, err := list(ctx, s.read, sqlAPITokens, nil, s.scanAPIToken)
	if err != nil {
		return found, fmt.Errorf("list API tokens: %w", err)
	}
	return found, nil
}

// APITokenByID reads an API token: ErrNotFound, or a *CorruptRowError.
func (s *Store) APITokenByID(ctx context.Context, id string) (APIToken, error) {
	row, err := s.point.read(ctx, sqlAPIToken, id)
	if err != nil {
		return APIToken{}, fmt.Errorf("read API token %q: %w", id, missing(err))
	}
	found, err := s.scanAPIToken(row)
	if err != nil {
		return APIToken{}, fmt.Errorf("read API token %q: %w", id, err)
	}
	return found, nil
}

// RevokeAPIToken ends an API token for good and forgets its hash; it tells whether it was there and not revoked before.
func (s *Store) RevokeAPIToken(ctx context.Context, id string, at time.Time) (revoked bool, err error) {
	result, err := s.exec(ctx, sqlRevokeAPIToken, id, stamp(at))
	if err != nil {
		return false, fmt.Errorf("revoke API token %q: %w", id, err)
	}
	return affected(result)
}

// TouchAPIToken notes that an API token was used. An earlier time than the one that is noted changes nothing.
func (s *Store) TouchAPIToken(ctx context.Context, id string, at time.Time) error {
	if _, err := s.exec(ctx, sqlTouchAPIToken, id, stamp(at)); err != nil {
		return fmt.Errorf("note use of API token %q: %w", id, err)
	}
	return nil
}

func (s *Store) scanAPIToken(row scanner) (APIToken, error) {
	var found APIToken
	var hash []byte
	var createdAt, expiresAt, lastUsedAt, revokedAt int64
	err := row.Scan(&found.ID, &found.Name, &found.Role, &hash, &createdAt, &found.CreatedBy, &expiresAt,
		&lastUsedAt, &revokedAt, &found.Account)
	if err != nil {
		return APIToken{}, missing(err)
	}
	found.CreatedAt, found.ExpiresAt = fromMicros(createdAt), fromMicros(expiresAt)
	found.LastUsedAt, found.RevokedAt = fromMicros(lastUsedAt), fromMicros(revokedAt)
	if hash == nil && !found.RevokedAt.IsZero() {
		return found, nil
	}
	at := apiTokenCell(found)
	if found.Hash, err = s.seal.open(hash, at); err != nil {
		return APIToken{}, &CorruptRowError{Table: at.table, Key: fmt.Sprintf("id %q", found.ID), Column: at.column, Cause: err}
	}
	return found, nil
}
