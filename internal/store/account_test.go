package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestSharedConfigsArePutReadAndDeleted(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	want := sharedConfig("acme", "a")
	changed, err := opened.PutAccountDesired(ctx, want)
	require.NoError(t, err)
	require.True(t, changed)
	got, err := opened.AccountDesired(ctx, "acme", "a")
	require.NoError(t, err)
	require.Equal(t, want, got)

	later := want
	later.UpdatedAt = monday.Add(time.Hour)
	changed, err = opened.PutAccountDesired(ctx, later)
	require.NoError(t, err)
	require.False(t, changed)

	putShared(t, opened, sharedConfig("acme", "b"))
	putShared(t, opened, sharedConfig("other", "a"))
	ofOne, err := opened.ListAccountDesired(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, []store.AccountDesired{want, sharedConfig("acme", "b")}, ofOne)
	all, err := opened.ListAccountDesired(ctx, "")
	require.NoError(t, err)
	require.Len(t, all, 3)

	existed, err := opened.DeleteAccountDesired(ctx, "acme", "a")
	require.NoError(t, err)
	require.True(t, existed)
	existed, err = opened.DeleteAccountDesired(ctx, "acme", "a")
	require.NoError(t, err)
	require.False(t, existed)
	_, err = opened.AccountDesired(ctx, "acme", "a")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestAnyDifferenceOfASharedConfigIsWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(d *store.AccountDesired)
	}{
		{"profile", func(d *store.AccountDesired) { d.Profile = desired.ProfileOpenWork }},
		{"header", func(d *store.AccountDesired) { d.Config.Headers["Authorization"] = "Bearer other" }},
		{"metadata", func(d *store.AccountDesired) { d.Metadata.Org["id"] = "other" }},
		{"token source", func(d *store.AccountDesired) { d.TokenSource.RefreshToken = "other" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, _ := open(t)
			putShared(t, opened, sharedConfig("acme", "a"))
			other := sharedConfig("acme", "a")
			tc.change(&other)
			changed, err := opened.PutAccountDesired(t.Context(), other)
			require.NoError(t, err)
			require.True(t, changed)
			got, err := opened.AccountDesired(t.Context(), "acme", "a")
			require.NoError(t, err)
			require.Equal(t, other, got)
		})
	}
}

func TestASharedConfigMustNameAccountNameAndProfile(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	for _, tc := range []struct {
		name   string
		change func(d *store.AccountDesired)
	}{
		{"account", func(d *store.AccountDesired) { d.Account = "" }},
		{"name", func(d *store.AccountDesired) { d.Name = "" }},
		{"profile", func(d *store.AccountDesired) { d.Profile = "other" }},
	} {
		want := sharedConfig("acme", "a")
		tc.change(&want)
		_, err := opened.PutAccountDesired(t.Context(), want)
		require.ErrorContains(t, err, tc.name)
	}
}

func TestADamagedSharedConfigDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	putShared(t, opened, sharedConfig("acme", "a"))
	putShared(t, opened, sharedConfig("acme", "b"))
	tamper(t, dir, `UPDATE account_desired SET token_source = x'00' WHERE name = 'a'`)
	found, err := opened.ListAccountDesired(t.Context(), "acme")
	requireCorrupt(t, err, "account_desired", "token_source", "a of account acme")
	require.Len(t, found, 1)
	changed, err := opened.PutAccountDesired(t.Context(), sharedConfig("acme", "a"))
	require.NoError(t, err)
	require.True(t, changed, "putting it anew repairs it")
}
