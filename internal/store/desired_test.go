package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestADesiredConfigComesBackAsItWasPut(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	want := wanted(key("a"))
	changed, err := opened.PutDesired(t.Context(), want)
	require.NoError(t, err)
	require.True(t, changed)
	got, err := opened.Desired(t.Context(), want.Key)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestAnyDesiredConfigComesBackAsItWasPut(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	text := rapid.StringMatching(`.{1,20}`)
	rapid.Check(t, func(t *rapid.T) {
		want := store.Desired{
			Key:     store.Key{Workspace: text.Draw(t, "workspace"), Name: text.Draw(t, "name"), Directory: rapid.StringMatching(`.{0,20}`).Draw(t, "directory")},
			Profile: rapid.SampledFrom([]desired.Profile{desired.ProfileGeneric, desired.ProfileOpenWork}).Draw(t, "profile"),
			Config: desired.Config{
				Type: "remote", URL: text.Draw(t, "url"), TimeoutMillis: rapid.IntRange(1, 600_000).Draw(t, "timeout"),
				Headers: rapid.MapOfN(text, text, 1, 4).Draw(t, "headers"), OAuth: []byte("false"),
			},
			Metadata:  desired.Metadata{Org: map[string]any{"id": text.Draw(t, "org")}},
			UpdatedAt: monday,
		}
		if rapid.Bool().Draw(t, "with a token source") {
			want.TokenSource = source(text.Draw(t, "secret"))
		}
		if _, err := opened.PutDesired(ctx, want); err != nil {
			t.Fatal(err)
		}
		got, err := opened.Desired(ctx, want.Key)
		require.NoError(t, err)
		require.Equal(t, want, got)
		if changed, err := opened.PutDesired(ctx, want); changed || err != nil {
			t.Fatalf("put again: changed %v, %v", changed, err)
		}
	})
}

func TestEqualContentIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	want := wanted(key("a"))
	_, err := opened.PutDesired(t.Context(), want)
	require.NoError(t, err)

	later := wanted(key("a"))
	later.UpdatedAt = monday.Add(time.Hour)
	changed, err := opened.PutDesired(t.Context(), later)
	require.NoError(t, err)
	require.False(t, changed)
	got, err := opened.Desired(t.Context(), want.Key)
	require.NoError(t, err)
	require.Equal(t, monday, got.UpdatedAt)
}

func TestAnyDifferenceIsWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(d *store.Desired)
	}{
		{"engine", func(d *store.Desired) { d.EngineID = "" }},
		{"profile", func(d *store.Desired) { d.Profile = desired.ProfileOpenWork }},
		{"header", func(d *store.Desired) { d.Config.Headers["Authorization"] = "Bearer other" }},
		{"enabled", func(d *store.Desired) { *d.Config.Enabled = false }},
		{"oauth", func(d *store.Desired) { d.Config.OAuth = []byte("{}") }},
		{"metadata", func(d *store.Desired) { d.Metadata.Org["id"] = "other" }},
		{"token source", func(d *store.Desired) { d.TokenSource = source("one") }},
		{"expected tools", func(d *store.Desired) { d.Metadata.ExpectedTools = nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, _ := open(t)
			_, err := opened.PutDesired(t.Context(), wanted(key("a")))
			require.NoError(t, err)
			other := wanted(key("a"))
			other.UpdatedAt = monday.Add(time.Hour)
			tc.change(&other)
			changed, err := opened.PutDesired(t.Context(), other)
			require.NoError(t, err)
			require.True(t, changed)
			got, err := opened.Desired(t.Context(), other.Key)
			require.NoError(t, err)
			require.Equal(t, other, got)
		})
	}
}

func TestEveryChangeOfTheTokenSourceIsWritten(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	for _, tc := range []struct {
		name    string
		source  *desired.TokenSource
		changed bool
	}{
		{"none", nil, true},
		{"none again", nil, false},
		{"added", source("one"), true},
		{"again", source("one"), false},
		{"another secret", source("two"), true},
		{"no scopes and empty scopes are the same", func() *desired.TokenSource {
			same := source("two")
			same.Scopes = []string{}
			return same
		}(), false},
		{"taken away", nil, true},
	} {
		own, shared := wanted(key("a")), sharedConfig("acme", "a")
		own.TokenSource, shared.TokenSource = tc.source, tc.source
		changed, err := opened.PutDesired(t.Context(), own)
		require.NoError(t, err, tc.name)
		require.Equal(t, tc.changed, changed, tc.name)
		changed, err = opened.PutAccountDesired(t.Context(), shared)
		require.NoError(t, err, tc.name)
		require.Equal(t, tc.changed, changed, tc.name)
	}
}

func source(secret string) *desired.TokenSource {
	return &desired.TokenSource{
		Kind: desired.SourceClientCredentials, TokenURL: "https://auth.example/token", ClientID: "c", ClientSecret: secret,
	}
}

func TestWhatIsNotThereIsSaidSo(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	_, err := opened.Desired(t.Context(), key("none"))
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorContains(t, err, "none")
	existed, err := opened.DeleteDesired(t.Context(), key("none"))
	require.NoError(t, err)
	require.False(t, existed)
	_, err = opened.Engine(t.Context(), "none")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestADeletedConfigIsGone(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	_, err := opened.PutDesired(t.Context(), wanted(key("a")))
	require.NoError(t, err)
	existed, err := opened.DeleteDesired(t.Context(), key("a"))
	require.NoError(t, err)
	require.True(t, existed)
	_, err = opened.Desired(t.Context(), key("a"))
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestListsAreFilteredAndInOrder(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	_, err := opened.PutEngine(t.Context(), store.Engine{ID: "f", BaseURL: "http://127.0.0.1:4097"})
	require.NoError(t, err)
	for _, each := range []struct{ workspace, name, engine string }{{"w2", "a", "f"}, {"w1", "b", "e"}, {"w1", "a", "e"}, {"w3", "a", ""}} {
		want := wanted(store.Key{Workspace: each.workspace, Name: each.name, Directory: "/d"})
		want.EngineID = each.engine
		_, err := opened.PutDesired(t.Context(), want)
		require.NoError(t, err)
	}
	for _, tc := range []struct {
		filter store.Filter
		want   []string
	}{
		{store.Filter{}, []string{"w1/a", "w1/b", "w2/a", "w3/a"}},
		{store.Filter{Workspace: "w1"}, []string{"w1/a", "w1/b"}},
		{store.Filter{Name: "a"}, []string{"w1/a", "w2/a", "w3/a"}},
		{store.Filter{EngineID: "f"}, []string{"w2/a"}},
		{store.Filter{Workspace: "w1", Name: "a", EngineID: "e"}, []string{"w1/a"}},
		{store.Filter{Workspace: "none"}, nil},
	} {
		found, err := opened.ListDesired(t.Context(), tc.filter)
		require.NoError(t, err)
		var names []string
		for _, each := range found {
			names = append(names, each.Workspace+"/"+each.Name)
		}
		require.Equal(t, tc.want, names, "%+v", tc.filter)
	}
	used, err := opened.EnginesInUse(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"e", "f"}, used)
	found, err := opened.KeysByEngine(t.Context(), "e")
	require.NoError(t, err)
	require.Equal(t, []store.Key{{Workspace: "w1", Name: "a", Directory: "/d"}, {Workspace: "w1", Name: "b", Directory: "/d"}}, found)
}

func TestAnEngineMustBePutBeforeItIsNamed(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	want := wanted(key("a"))
	want.EngineID = "none"
	_, err := opened.PutDesired(t.Context(), want)
	require.ErrorIs(t, err, store.ErrUnknownEngine)
}

func TestADesiredConfigMustNameWorkspaceNameAndProfile(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	for _, tc := range []struct {
		name   string
		change func(d *store.Desired)
	}{
		{"workspace", func(d *store.Desired) { d.Workspace = "" }},
		{"name", func(d *store.Desired) { d.Name = "" }},
		{"profile", func(d *store.Desired) { d.Profile = "other" }},
	} {
		want := wanted(key("a"))
		tc.change(&want)
		_, err := opened.PutDesired(t.Context(), want)
		require.ErrorContains(t, err, tc.name)
	}
}

func TestEnginesArePutReadAndDeleted(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	want := store.Engine{ID: "e", BaseURL: "http://127.0.0.1:4096", Username: "opencode", Password: "pass-s3cr3t", UpdatedAt: monday}
	got, err := opened.Engine(t.Context(), "e")
	require.NoError(t, err)
	require.Equal(t, want, got)

	again := want
	again.UpdatedAt = monday.Add(time.Hour)
	changed, err := opened.PutEngine(t.Context(), again)
	require.NoError(t, err)
	require.False(t, changed)

	again.Password = "other"
	changed, err = opened.PutEngine(t.Context(), again)
	require.NoError(t, err)
	require.True(t, changed)
	all, err := opened.Engines(t.Context())
	require.NoError(t, err)
	require.Equal(t, []store.Engine{again}, all)

	_, err = opened.PutDesired(t.Context(), wanted(key("a")))
	require.NoError(t, err)
	_, err = opened.DeleteEngine(t.Context(), "e")
	require.ErrorIs(t, err, store.ErrEngineInUse)
	_, err = opened.DeleteDesired(t.Context(), key("a"))
	require.NoError(t, err)
	existed, err := opened.DeleteEngine(t.Context(), "e")
	require.NoError(t, err)
	require.True(t, existed)
}
