package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// TokenLease is the right to mint the next token of a credential.
type TokenLease struct {
	Credential string
	Holder     string
	Fence      int64     // from 1 on, one more with each lease of the credential
	Until      time.Time // when others may take it
}

// AcquireTokenLease takes the lease of a credential at the time now. While another holder has it and it has not run out, the error
// is a *LeaseHeldError. The same holder gets a new one at once, which ends the one it had: each attempt to mint should have a
// holder of its own.
func (s *Store) AcquireTokenLease(ctx context.Context, credential, holder string, now time.Time, ttl time.Duration) (TokenLease, error) {
	if credential == "" || holder == "" || ttl <= 0 {
		return TokenLease{}, errors.New("acquire lease: a credential, a holder and a time to live are needed")
	}
	lease := TokenLease{Credential: credential, Holder: holder, Until: fromMicros(now.Add(ttl).UnixMicro())}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, sqlAcquireLease, credential, holder, toMicros(lease.Until), toMicros(now)).Scan(&lease.Fence)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var until int64
		if err := tx.QueryRowContext(ctx, sqlLease, credential).Scan(new(string), new(int64), &until); err != nil {
			return err
		}
		return &LeaseHeldError{Credential: credential, Until: fromMicros(until)}
	})
	var held *LeaseHeldError
	if errors.As(err, &held) {
		return TokenLease{}, held
	}
	if err != nil {
		return TokenLease{}, fmt.Errorf("acquire lease of credential %q: %w", credential, err)
	}
	return lease, nil
}

// ReleaseTokenLease lets others take the lease at once. One that is lost already is left to who has it.
func (s *Store) ReleaseTokenLease(ctx context.Context, lease TokenLease) error {
	if _, err := s.exec(ctx, sqlReleaseLease, lease.Credential, lease.Holder, lease.Fence); err != nil {
		return fmt.Errorf("release lease of credential %q: %w", lease.Credential, err)
	}
	return nil
}
