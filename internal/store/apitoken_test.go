package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

func apiToken(id string) store.APIToken {
	return store.APIToken{
		ID: id, Name: "laptop", Role: "viewer", Hash: []byte("hash-s3cr3t"), CreatedAt: monday, CreatedBy: "owner",
		ExpiresAt: monday.Add(time.Hour),
	}
}

func TestAPITokensArePutReadUsedAndRevoked(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	_, err := opened.APITokenByID(ctx, "a")
	require.ErrorIs(t, err, store.ErrNotFound)
	want := apiToken("a")
	require.NoError(t, opened.PutAPIToken(ctx, want))
	require.NoError(t, opened.PutAPIToken(ctx, apiToken("b")))

	require.NoError(t, opened.TouchAPIToken(ctx, "a", monday.Add(time.Minute)))
	require.NoError(t, opened.TouchAPIToken(ctx, "a", monday), "an earlier use that is noted later")
	require.NoError(t, opened.TouchAPIToken(ctx, "none", monday))
	want.Role, want.Account = "owner", "ann"
	require.NoError(t, opened.PutAPIToken(ctx, want))
	want.LastUsedAt = monday.Add(time.Minute)
	got, err := opened.APITokenByID(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, want, got)

	for _, first := range []bool{true, false} {
		revoked, err := opened.RevokeAPIToken(ctx, "a", monday.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, first, revoked)
	}
	require.ErrorIs(t, opened.PutAPIToken(ctx, want), store.ErrRevoked)
	want.RevokedAt, want.Hash = monday.Add(time.Hour), nil
	all, err := opened.APITokens(ctx)
	require.NoError(t, err)
	require.Equal(t, []store.APIToken{want, apiToken("b")}, all)
}

func TestAnAPITokenNeedsIDRoleAndHash(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	for _, change := range []func(a *store.APIToken){
		func(a *store.APIToken) { a.ID = "" },
		func(a *store.APIToken) { a.Role = "" },
		func(a *store.APIToken) { a.Hash = nil },
	} {
		bad := apiToken("a")
		change(&bad)
		require.ErrorContains(t, opened.PutAPIToken(t.Context(), bad), "needed")
	}
}

func TestNobodyRaisesAnAPITokenWithoutKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, tamper string }{
		{"another role", `UPDATE api_token SET role = 'owner' WHERE id = 'a'`},
		{"a longer life", `UPDATE api_token SET expires_at = 0 WHERE id = 'a'`},
		{"another account", `UPDATE api_token SET account = 'ann' WHERE id = 'a'`},
		{"the hash of another", `UPDATE api_token SET hash = (SELECT hash FROM api_token WHERE id = 'b') WHERE id = 'a'`},
		{"a hash in clear", `UPDATE api_token SET hash = x'0102' WHERE id = 'a'`},
		{"not revoked any more", `UPDATE api_token SET hash = NULL WHERE id = 'a'`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, dir := open(t)
			require.NoError(t, opened.PutAPIToken(t.Context(), apiToken("a")))
			require.NoError(t, opened.PutAPIToken(t.Context(), apiToken("b")))
			tamper(t, dir, tc.tamper)
			_, err := opened.APITokenByID(t.Context(), "a")
			requireCorrupt(t, err, "api_token", "hash", `"a"`)
			all, err := opened.APITokens(t.Context())
			requireCorrupt(t, err, "api_token", "hash", `"a"`)
			require.Equal(t, []store.APIToken{apiToken("b")}, all)
		})
	}
}
