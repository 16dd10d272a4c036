package store

import (
	"context"
	"database/sql"
	"fmt"
)

// AmendToken writes what has changed beside the token itself, under the sequence that it has: a refresh token that was
// exchanged, another time to renew. It needs the lease as PutToken does, and looks at neither Sequence nor Dropped: a token
// that was dropped meanwhile stays so. Without an access token the row keeps the refresh token alone, as a dropped one. A
// row that was not there is a dropped one too, under the sequence 0.
func (s *Store) AmendToken(ctx context.Context, lease TokenLease, token Token) error {
	if token.Credential != lease.Credential {
		return fmt.Errorf("amend a token: the lease is for credential %q, the token for %q", lease.Credential, token.Credential)
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := stillHeld(ctx, tx, lease); err != nil {
			return err
		}
		return s.writeTokenBy(ctx, tx, sqlAmendToken, token)
	})
	if err != nil {
		return fmt.Errorf("amend token of credential %q: %w", token.Credential, err)
	}
	return nil
}
