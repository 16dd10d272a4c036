package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const ofAccount = "account/acme/a"

func TestATokenComesBackAsItWasPut(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	_, err := opened.Token(ctx, ofAccount)
	require.ErrorIs(t, err, store.ErrNotFound)

	lease := acquire(t, opened, "me", monday)
	want := store.Token{
		Credential: ofAccount, SourceDigest: "digest", Sequence: 77, AccessToken: "access", RefreshToken: "refresh",
		MintedAt: monday, ExpiresAt: monday.Add(time.Hour), RenewAt: monday.Add(time.Minute), Dropped: true,
	}
	require.NoError(t, opened.PutToken(ctx, lease, want))
	want.Sequence, want.Dropped = 1, false
	requireToken(t, opened, want)

	next := store.Token{Credential: ofAccount, SourceDigest: "other", AccessToken: "access 2"}
	require.NoError(t, opened.PutToken(ctx, lease, next))
	next.Sequence = 2
	requireToken(t, opened, next)
}

func TestADistrustedTokenIsDroppedAndANewerOneStays(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	drop := func(sequence int64, want bool) {
		dropped, err := opened.DropToken(ctx, ofAccount, sequence)
		require.NoError(t, err)
		require.Equal(t, want, dropped, "sequence %d", sequence)
	}
	drop(0, false)
	lease := acquire(t, opened, "me", monday)
	token := store.Token{Credential: ofAccount, AccessToken: "access", RefreshToken: "refresh"}
	require.NoError(t, opened.PutToken(ctx, lease, token))
	require.NoError(t, opened.PutToken(ctx, lease, token))
	drop(1, false)
	token.Sequence = 2
	requireToken(t, opened, token)
	drop(2, true)
	token.Dropped = true
	requireToken(t, opened, token)
	drop(2, false)
	require.NoError(t, opened.PutToken(ctx, lease, token))
	token.Sequence, token.Dropped = 3, false
	requireToken(t, opened, token)
	drop(7, true)
	require.NoError(t, opened.PutToken(ctx, lease, token))
	drop(0, true)
}

func TestALeaseIsHeldByOne(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		holder  string
		after   time.Duration
		release bool
		refused bool
	}{
		{"by another at the same time", "other", 0, false, true},
		{"by another before it runs out", "other", 59 * time.Second, false, true},
		{"by another once it has run out", "other", time.Minute, false, false},
		{"by another once it is released", "other", time.Second, true, false},
		{"by the holder itself", "me", time.Second, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, dir := open(t)
			ctx := t.Context()
			first := acquire(t, opened, "me", monday)
			require.Equal(t, store.TokenLease{Credential: ofAccount, Holder: "me", Fence: 1, Until: monday.Add(time.Minute)}, first)
			if tc.release {
				require.NoError(t, opened.ReleaseTokenLease(ctx, first))
			}
			handle := again(t, dir)
			second, err := handle.AcquireTokenLease(ctx, ofAccount, tc.holder, monday.Add(tc.after), time.Minute)
			if tc.refused {
				var held *store.LeaseHeldError
				require.ErrorAs(t, err, &held)
				require.Equal(t, first.Until, held.Until)
				require.Equal(t, ofAccount, held.Credential)
				require.NoError(t, opened.PutToken(ctx, first, store.Token{Credential: ofAccount, AccessToken: "first"}))
				return
			}
			require.NoError(t, err)
			require.Equal(t, int64(2), second.Fence)

			err = opened.PutToken(ctx, first, store.Token{Credential: ofAccount, AccessToken: "first"})
			require.ErrorIs(t, err, store.ErrLeaseLost)
			require.NoError(t, opened.ReleaseTokenLease(ctx, first), "releasing what is lost does nothing")
			require.NoError(t, handle.PutToken(ctx, second, store.Token{Credential: ofAccount, AccessToken: "second"}))
			requireToken(t, opened, store.Token{Credential: ofAccount, AccessToken: "second", Sequence: 1})
		})
	}
}

func TestOnlyTheHolderOfALeaseWrites(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	token := store.Token{Credential: ofAccount, AccessToken: "access"}
	lease := acquire(t, opened, "me", monday)
	stolen, renumbered, elsewhere := lease, lease, lease
	stolen.Holder, renumbered.Fence, elsewhere.Credential = "other", 2, "connection/w/a/d"
	for _, bad := range []store.TokenLease{stolen, renumbered} {
		require.ErrorIs(t, opened.PutToken(ctx, bad, token), store.ErrLeaseLost)
	}
	require.ErrorContains(t, opened.PutToken(ctx, elsewhere, token), "credential")
	require.ErrorIs(t, opened.PutToken(ctx, elsewhere, store.Token{Credential: elsewhere.Credential, AccessToken: "x"}), store.ErrLeaseLost)
	require.ErrorContains(t, opened.PutToken(ctx, lease, store.Token{Credential: ofAccount}), "access token")
	require.NoError(t, opened.ReleaseTokenLease(ctx, lease))
	require.ErrorIs(t, opened.PutToken(ctx, lease, token), store.ErrLeaseLost, "after its release")
	_, err := opened.Token(ctx, ofAccount)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = opened.AcquireTokenLease(ctx, ofAccount, "", monday, time.Minute)
	require.ErrorContains(t, err, "holder")
}

func TestALeaseThatRanOutWritesWhileNobodyHasTakenIt(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	lease := acquire(t, opened, "me", monday)
	late := store.Token{Credential: ofAccount, AccessToken: "late", MintedAt: lease.Until.Add(time.Hour)}
	require.NoError(t, opened.PutToken(t.Context(), lease, late), "the refresh token behind it is used up")
	acquire(t, again(t, dir), "other", lease.Until.Add(time.Hour))
	require.ErrorIs(t, opened.PutToken(t.Context(), lease, late), store.ErrLeaseLost)
}

// Each minter sees the token that was put before it, takes the lease, and puts one that is made from it. If two of them ever
// wrote from one predecessor, the chain would be shorter than the count.
func TestNoMintIsLostAmongManyProcesses(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	handles := []*store.Store{opened, again(t, dir)}
	const minters = 6
	var clock, put, lost atomic.Int64
	var group errgroup.Group
	for i := range minters {
		group.Go(func() error {
			for attempt := range 20 {
				holder := fmt.Sprintf("%d-%d", i, attempt)
				// Time passes fast enough for leases to run out under their holders.
				now := monday.Add(time.Duration(clock.Add(1)) * time.Second)
				err := mint(t.Context(), handles[i%2], holder, now)
				var held *store.LeaseHeldError
				switch {
				case err == nil:
					put.Add(1)
				case errors.Is(err, store.ErrLeaseLost):
					lost.Add(1)
				case !errors.As(err, &held):
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	got, err := opened.Token(t.Context(), ofAccount)
	require.NoError(t, err)
	require.Equal(t, put.Load(), got.Sequence, "whoever lost the lease has written nothing")
	require.Len(t, got.AccessToken, int(put.Load()), "each was made from the one before")
}

func mint(ctx context.Context, handle *store.Store, holder string, now time.Time) error {
	lease, err := handle.AcquireTokenLease(ctx, ofAccount, holder, now, 3*time.Second)
	if err != nil {
		return err
	}
	before, err := handle.Token(ctx, ofAccount)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := handle.PutToken(ctx, lease, store.Token{Credential: ofAccount, AccessToken: before.AccessToken + "x"}); err != nil {
		return err
	}
	return handle.ReleaseTokenLease(ctx, lease)
}

func TestASealedTokenIsReadOnlyInItsOwnCell(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, tamper, column string }{
		{"of another credential", `DELETE FROM credential_token WHERE credential = 'account/acme/a'; UPDATE credential_token SET credential = 'account/acme/a'`, "access_token"},
		{"of another source", `UPDATE credential_token SET source_digest = 'other'`, "access_token"},
		{"refresh token as access token", `UPDATE credential_token SET access_token = refresh_token`, "access_token"},
		{"damaged", `UPDATE credential_token SET refresh_token = x'00'`, "refresh_token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, dir := open(t)
			lease := acquire(t, opened, "me", monday)
			token := store.Token{Credential: ofAccount, SourceDigest: "d", AccessToken: "access-s3cr3t", RefreshToken: "refresh-s3cr3t"}
			require.NoError(t, opened.PutToken(t.Context(), lease, token))
			other, err := opened.AcquireTokenLease(t.Context(), "account/acme/b", "me", monday, time.Minute)
			require.NoError(t, err)
			token.Credential = other.Credential
			require.NoError(t, opened.PutToken(t.Context(), other, token))
			tamper(t, dir, tc.tamper)
			_, err = opened.Token(t.Context(), ofAccount)
			requireCorrupt(t, err, "credential_token", tc.column, ofAccount)
			require.NotContains(t, err.Error(), "s3cr3t")

			token.Credential = ofAccount
			require.NoError(t, opened.PutToken(t.Context(), lease, token), "minting anew repairs it")
			_, err = opened.Token(t.Context(), ofAccount)
			require.NoError(t, err)
		})
	}
}

func TestTokensAreForgottenWithTheirConfig(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	put(t, opened, wanted(key("a")))
	putShared(t, opened, sharedConfig("acme", "a"))
	for _, tc := range []struct {
		credential string
		remove     func() (bool, error)
	}{
		{store.ConnectionCredential(key("a")), func() (bool, error) { return opened.DeleteDesired(ctx, key("a")) }},
		{store.AccountCredential("acme", "a"), func() (bool, error) { return opened.DeleteAccountDesired(ctx, "acme", "a") }},
	} {
		lease, err := opened.AcquireTokenLease(ctx, tc.credential, "me", monday, time.Minute)
		require.NoError(t, err)
		token := store.Token{Credential: tc.credential, AccessToken: "access", RefreshToken: "refresh", MintedAt: monday}
		require.NoError(t, opened.PutToken(ctx, lease, token))
		source, other := token, token
		source.Credential, other.Credential = tc.credential+"#source", tc.credential+"b#source"
		for _, each := range []store.Token{source, other} {
			of, err := opened.AcquireTokenLease(ctx, each.Credential, "me", monday, time.Minute)
			require.NoError(t, err)
			require.NoError(t, opened.PutToken(ctx, of, each))
		}
		existed, err := tc.remove()
		require.NoError(t, err)
		require.True(t, existed)
		got, err := opened.Token(ctx, source.Credential)
		require.NoError(t, err)
		require.Equal(t, store.Token{Credential: source.Credential, Sequence: 1, MintedAt: monday, Dropped: true}, got)
		got, err = opened.Token(ctx, other.Credential)
		require.NoError(t, err)
		require.Equal(t, "access", got.AccessToken, "another config whose name begins alike")
		got, err = opened.Token(ctx, tc.credential)
		require.NoError(t, err)
		require.Equal(t, store.Token{Credential: tc.credential, Sequence: 1, MintedAt: monday, Dropped: true}, got)
		require.NoError(t, opened.PutToken(ctx, lease, token))
		got, err = opened.Token(ctx, tc.credential)
		require.NoError(t, err)
		require.Equal(t, int64(2), got.Sequence, "no number stands for two tokens")
	}
}

func acquire(t *testing.T, opened *store.Store, holder string, now time.Time) store.TokenLease {
	t.Helper()
	lease, err := opened.AcquireTokenLease(t.Context(), ofAccount, holder, now, time.Minute)
	require.NoError(t, err)
	return lease
}

func requireToken(t *testing.T, opened *store.Store, want store.Token) {
	t.Helper()
	got, err := opened.Token(t.Context(), want.Credential)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
