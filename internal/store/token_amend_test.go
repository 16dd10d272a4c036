package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const credential = "account/a/cloud"

func lease(tb testing.TB, s *store.Store) store.TokenLease {
	tb.Helper()
	taken, err := s.AcquireTokenLease(tb.Context(), credential, "holder", monday, time.Minute)
	require.NoError(tb, err)
	return taken
}

func storedToken(tb testing.TB, s *store.Store) store.Token {
	tb.Helper()
	found, err := s.Token(tb.Context(), credential)
	require.NoError(tb, err)
	return found
}

func TestAmendingKeepsTheSequenceAndADrop(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	held := lease(t, s)
	token := store.Token{
		Credential: credential, SourceDigest: "d", AccessToken: "access-1", RefreshToken: "refresh-1",
		MintedAt: monday, ExpiresAt: monday.Add(time.Hour), RenewAt: monday.Add(30 * time.Minute),
	}
	require.NoError(t, s.PutToken(t.Context(), held, token))
	token.RefreshToken, token.RenewAt = "refresh-2", monday.Add(time.Minute)
	require.NoError(t, s.AmendToken(t.Context(), held, token))
	token.Sequence = 1
	require.Equal(t, token, storedToken(t, s))

	dropped, err := s.DropToken(t.Context(), credential, 1)
	require.NoError(t, err)
	require.True(t, dropped)
	require.NoError(t, s.AmendToken(t.Context(), held, token))
	require.True(t, storedToken(t, s).Dropped, "the drop came in between and was undone")
}

func TestARefreshTokenIsKeptBeforeThereIsAnAccessToken(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	held := lease(t, s)
	token := store.Token{Credential: credential, SourceDigest: "d", RefreshToken: "refresh-1", MintedAt: monday}
	require.NoError(t, s.AmendToken(t.Context(), held, token))
	token.Dropped = true
	require.Equal(t, token, storedToken(t, s))

	token.AccessToken = "access-1"
	require.NoError(t, s.PutToken(t.Context(), held, token))
	require.Equal(t, int64(1), storedToken(t, s).Sequence)
	require.False(t, storedToken(t, s).Dropped)
	other := store.Token{Credential: credential, SourceDigest: "e", RefreshToken: "refresh-2", MintedAt: monday}
	require.NoError(t, s.AmendToken(t.Context(), held, other))
	other.Sequence, other.Dropped = 1, true
	require.Equal(t, other, storedToken(t, s))
}

func TestOnlyTheHolderOfTheLeaseAmends(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	held := lease(t, s)
	token := store.Token{Credential: credential, SourceDigest: "d", RefreshToken: "refresh-1", MintedAt: monday}
	require.NoError(t, s.ReleaseTokenLease(t.Context(), held))
	require.ErrorIs(t, s.AmendToken(t.Context(), held, token), store.ErrLeaseLost)
	_, err := s.Token(t.Context(), credential)
	require.ErrorIs(t, err, store.ErrNotFound)
	token.Credential = "another"
	require.Error(t, s.AmendToken(t.Context(), lease(t, s), token))
}

func TestAmendingMakesNoTokenCurrent(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	held := lease(t, s)
	token := store.Token{Credential: credential, AccessToken: "access", RefreshToken: "refresh", MintedAt: monday}
	require.NoError(t, s.AmendToken(t.Context(), held, token))
	token.Dropped = true
	require.Equal(t, token, storedToken(t, s), "it has no sequence yet")
	require.NoError(t, s.PutToken(t.Context(), held, token))
	token.Sequence, token.Dropped = 1, false
	require.Equal(t, token, storedToken(t, s))
	token.AccessToken = ""
	require.NoError(t, s.AmendToken(t.Context(), held, token))
	token.Dropped = true
	require.Equal(t, token, storedToken(t, s))
}
