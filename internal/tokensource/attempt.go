package tokensource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// keepTries is how often the store is asked to keep a rotated refresh token: the only copy that there is.
	keepTries = 3
	// lookAgain is how soon a source is asked again that gave the same token although it is due for renewal.
	lookAgain = 5 * time.Second
)

// attempt is one turn at minting.
type attempt struct {
	*Minter

	wish

	holder string

	lease store.TokenLease
	row   store.Token // as it is under the lease
	sent  string      // the refresh token that was exchanged, if any
}

// mint takes the lease and mints under it, unless another process's token turns up.
func (m *Minter) mint(ctx context.Context, w wish) (flown, error) {
	a := &attempt{Minter: m, wish: w, holder: m.nextHolder()}
	got, found, err := a.waitForTurn(ctx)
	if err != nil || found {
		return flown{Outcome: got}, err
	}
	defer a.release(ctx)
	return a.run(ctx)
}

// waitForTurn returns with the lease, or with the token of who had it.
func (a *attempt) waitForTurn(ctx context.Context) (Outcome, bool, error) {
	wait, cancel := context.WithTimeout(ctx, a.turn())
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		got, found, err := a.try(ctx)
		var held *store.LeaseHeldError
		if err == nil || !errors.As(err, &held) {
			return got, found, err
		}
		select {
		case <-tick.C:
		case <-wait.Done():
			if ctx.Err() != nil {
				return Outcome{}, false, ctx.Err()
			}
			return Outcome{}, false, busy()
		}
	}
}

// try looks for a token that serves, then takes the lease and looks again: it may have come in between.
func (a *attempt) try(ctx context.Context) (Outcome, bool, error) {
	row, err := a.Minter.row(ctx, a.key)
	if err != nil {
		return Outcome{}, false, err
	}
	if a.serves(row, a.wish) {
		return outcomeOf(row), true, nil
	}
	if err := a.take(ctx, a.mintLease()); err != nil {
		return Outcome{}, false, err
	}
	a.row, err = a.Minter.row(ctx, a.key)
	if err == nil && !a.serves(a.row, a.wish) {
		return Outcome{}, false, nil
	}
	a.release(ctx)
	return outcomeOf(a.row), err == nil, err
}

// take takes the lease, or takes it anew for longer.
func (a *attempt) take(ctx context.Context, ttl time.Duration) error {
	lease, err := a.store.AcquireTokenLease(ctx, a.key, a.holder, a.now(), ttl)
	if err != nil {
		return fmt.Errorf("take the lease to mint: %w", err)
	}
	a.lease = lease
	return nil
}

// release is best effort: a lease that is left behind runs out.
func (a *attempt) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseMargin)
	defer cancel()
	_ = a.store.ReleaseTokenLease(ctx, a.lease)
}

// run mints, keeps what must not be lost, verifies and publishes.
func (a *attempt) run(ctx context.Context) (flown, error) {
	got, err := a.obtain(ctx)
	if unkept := a.keepRefreshToken(ctx, got); unkept != nil {
		a.kept.put(a.candidate(got))
		return flown{}, cmp.Or(err, unkept)
	}
	if err != nil {
		return flown{}, err
	}
	if err := a.verify(ctx, got); err != nil {
		return flown{}, err
	}
	out, err := a.publish(ctx, got)
	return flown{Outcome: out, fresh: true}, err
}

// obtain asks the source, unless an earlier attempt has left a token that only waits for its endpoint, the source has asked
// to be left alone, or the endpoint has just refused what it gave. With an error there may be a refresh token to keep.
func (a *attempt) obtain(ctx context.Context) (Minted, error) {
	now := a.now()
	a.sent = a.refreshToken()
	if kept, ok := a.kept.candidate(a.candidate(Minted{}), now); ok {
		if kept.AccessToken != "" {
			a.sent = kept.sent
			return kept.Minted, nil
		}
		a.sent = kept.RefreshToken // that of an answer without a token, and stored nowhere
	}
	if err := a.kept.quiet(a.key, a.digest, now); err != nil {
		return Minted{}, err
	}
	if !cheap(a.Source) {
		if err := a.kept.refused(a.refusal(""), now); err != nil {
			return Minted{}, err
		}
	}
	source, err := a.sources.For(a.Source)
	if err != nil {
		return Minted{}, err
	}
	within, cancel := context.WithTimeout(ctx, a.sources.timeout)
	defer cancel()
	got, err := source.Mint(within, Previous{RefreshToken: a.sent})
	var failed *Error
	if errors.As(err, &failed) && failed.RetryAfter > 0 {
		a.kept.hush(a.key, a.digest, failed, now)
	}
	return got, err
}

// refreshToken is the newest one that is known, empty for sources without.
func (a *attempt) refreshToken() string {
	if a.row.RefreshToken != "" {
		return a.row.RefreshToken
	}
	return a.Source.RefreshToken
}

// keepRefreshToken stores a rotated refresh token at once and whatever happens next: its server has forgotten the one
// before. The access token beside it stays the one that is current.
func (a *attempt) keepRefreshToken(ctx context.Context, got Minted) error {
	if got.RefreshToken == "" || got.RefreshToken == a.refreshToken() {
		return nil
	}
	next := a.row
	if next.SourceDigest != a.digest {
		next = store.Token{
			Credential: a.key, SourceDigest: a.digest, Sequence: a.row.Sequence, MintedAt: a.now(), Dropped: true,
		}
	}
	next.RefreshToken = got.RefreshToken
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTries*leaseMargin)
	defer cancel()
	var err error
	for range keepTries {
		if err = a.store.AmendToken(ctx, a.lease, next); err == nil || errors.Is(err, store.ErrLeaseLost) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("keep the rotated refresh token in the store: %w", err)
	}
	a.row = next
	return nil
}

// verify asks the endpoint about the token. One that could not be asked about is kept for the next attempt, so that an
// endpoint that is down does not have a token minted for each look at it.
func (a *attempt) verify(ctx context.Context, got Minted) error {
	if a.Verify == nil {
		return nil
	}
	var held *store.LeaseHeldError
	switch err := a.take(ctx, a.verifyLease()); {
	case errors.As(err, &held):
		return fmt.Errorf("verify what was minted: %w", store.ErrLeaseLost)
	case err != nil:
		a.kept.put(a.candidate(got))
		return err
	}
	within, cancel := context.WithTimeout(ctx, a.verifyWithin)
	defer cancel()
	failure := a.Verify(within, got.AccessToken)
	switch {
	case failure == nil:
		return nil
	case failure.Retryable:
		a.kept.put(a.candidate(got))
		return &Error{Failure: *failure}
	default:
		return a.refuse(got, *failure)
	}
}

// publish makes the token the current one. The same token as before stays under its sequence: nobody has to be given it
// again, unless it was dropped since.
func (a *attempt) publish(ctx context.Context, got Minted) (Outcome, error) {
	now := a.now()
	next := store.Token{
		Credential: a.key, SourceDigest: a.digest, AccessToken: got.AccessToken, RefreshToken: got.RefreshToken,
		MintedAt: now, ExpiresAt: got.ExpiresAt, RenewAt: RenewAt(now, got.ExpiresAt, a.margin(), a.jitter()),
	}
	same := a.row.SourceDigest == a.digest && a.row.AccessToken == got.AccessToken && !a.row.Dropped
	write := a.store.PutToken
	if same {
		write = a.store.AmendToken
		next.MintedAt = a.row.MintedAt
		if soonest := now.Add(lookAgain); !next.RenewAt.IsZero() && next.RenewAt.Before(soonest) {
			next.RenewAt = soonest
		}
	}
	if err := write(ctx, a.lease, next); err != nil {
		if !errors.Is(err, store.ErrLeaseLost) {
			a.kept.put(a.candidate(got))
		}
		return Outcome{}, fmt.Errorf("write what was minted: %w", err)
	}
	a.kept.forget(a.key)
	written, err := a.store.Token(ctx, a.key)
	if err != nil {
		return Outcome{}, fmt.Errorf("read what was minted: %w", err)
	}
	out := outcomeOf(written)
	out.Minted = !same
	return out, nil
}

func (a *attempt) margin() time.Duration {
	return time.Duration(a.Source.MarginSeconds) * time.Second
}

// candidate is a token of this attempt that is not current yet. It waits no longer than until it would be renewed.
func (a *attempt) candidate(got Minted) candidate {
	now := a.now()
	until := now.Add(keepCandidate)
	if renew := RenewAt(now, got.ExpiresAt, a.margin(), 0); !renew.IsZero() && renew.Before(until) {
		until = renew
	}
	return candidate{
		key: a.key, digest: a.digest, sequence: a.row.Sequence, dropped: a.row.Dropped, sent: a.sent,
		cheap: cheap(a.Source),
		until: until, Minted: got,
	}
}
