package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestIntentsOfAccountAndWorkspaceAreWeighed(t *testing.T) {
	t.Parallel()
	const none, on, off, removed = store.IntentKind(""), store.IntentEnabled, store.IntentDisabled, store.IntentRemoved
	for _, tc := range []struct {
		account, workspace store.IntentKind
		decides            store.IntentKind // of which kind the deciding one is
		byAccount          bool
	}{
		{none, none, none, false},
		{none, on, on, false},
		{none, off, off, false},
		{none, removed, removed, false},
		{on, none, on, true},
		{on, on, on, false},
		{on, off, off, false},
		{on, removed, removed, false},
		{off, none, off, true},
		{off, on, off, true},
		{off, off, off, true},
		{off, removed, removed, false},
		{removed, none, removed, true},
		{removed, on, removed, true},
		{removed, off, removed, true},
		{removed, removed, removed, true},
	} {
		t.Run("account "+string(tc.account)+", workspace "+string(tc.workspace), func(t *testing.T) {
			t.Parallel()
			own := wanted(key("a"))
			got, ok := store.Merge(store.Layers{
				Key: own.Key, Own: &own, Workspace: &store.Workspace{ID: "w", Directory: "/d", EngineID: "e", Account: "acme"},
				OfAccount: intent("acme", "", tc.account), OfPlace: intent("", "w", tc.workspace),
			})
			require.True(t, ok)
			require.Equal(t, tc.decides == removed, got.Removed)
			if tc.decides == none {
				require.Nil(t, got.Intent)
				require.True(t, *got.Config.Enabled, "as the config has it")
				return
			}
			require.Equal(t, tc.decides, got.Intent.Kind)
			require.Equal(t, tc.byAccount, got.Intent.Account != "")
			if tc.decides == removed {
				require.Equal(t, store.Desired{Key: own.Key, EngineID: "e"}, got.Desired, "nothing but where it was")
				return
			}
			require.Equal(t, tc.decides == on, *got.Config.Enabled)
		})
	}
}

func TestLayersArePutTogether(t *testing.T) {
	t.Parallel()
	own := wanted(key("a"))
	shared := store.AccountDesired{
		Account: "acme", Name: "a", Profile: desired.ProfileOpenWork, Config: desired.Config{Type: "remote", URL: "https://shared"},
		Metadata: desired.Metadata{ConnectCatalogEnabled: true}, TokenSource: &desired.TokenSource{Kind: desired.SourceEnv, Variable: "T"},
		UpdatedAt: monday,
	}
	place := store.Workspace{ID: "w", Directory: "/d", EngineID: "f", Account: "acme"}
	ofShared := store.Desired{
		Key: key("a"), EngineID: "f", Profile: shared.Profile, Config: shared.Config, Metadata: shared.Metadata,
		TokenSource: shared.TokenSource, UpdatedAt: monday,
	}
	ownElsewhere := own
	ownElsewhere.EngineID = "f"
	noEngine := own
	noEngine.EngineID = ""
	const ownCredential = "connection/w/a/4823e769dbaf8fb9"
	for _, tc := range []struct {
		name   string
		layers store.Layers
		want   store.Effective
	}{
		{
			name: "own config, unknown workspace", layers: store.Layers{Own: &own},
			want: store.Effective{Desired: own, Credential: ownCredential},
		},
		{
			name: "own config, engine of the workspace", layers: store.Layers{Own: &own, Workspace: &place},
			want: store.Effective{Desired: ownElsewhere, Account: "acme", Credential: ownCredential},
		},
		{
			name: "own config, workspace without an engine", layers: store.Layers{Own: &own, Workspace: &store.Workspace{ID: "w", Directory: "/d", Account: "acme"}},
			want: store.Effective{Desired: noEngine, Account: "acme", Credential: ownCredential},
		},
		{
			name: "shared config", layers: store.Layers{Shared: &shared, Workspace: &place},
			want: store.Effective{Desired: ofShared, Account: "acme", Shared: true, Credential: "account/acme/a"},
		},
		{
			name: "shared config over the own one", layers: store.Layers{Own: &own, Shared: &shared, Workspace: &place},
			want: store.Effective{Desired: ofShared, Account: "acme", Shared: true, Credential: "account/acme/a"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.layers.Key = key("a")
			got, ok := store.Merge(tc.layers)
			require.True(t, ok)
			require.Equal(t, tc.want, got)
		})
	}
	_, ok := store.Merge(store.Layers{Key: key("a"), Workspace: &place, OfPlace: intent("", "w", store.IntentEnabled)})
	require.False(t, ok, "an intent alone makes no connection")
}

func TestNothingThatTakesAwayIsUndoneByAnotherIntent(t *testing.T) {
	t.Parallel()
	kinds := rapid.SampledFrom([]store.IntentKind{"", store.IntentEnabled, store.IntentDisabled, store.IntentRemoved})
	rank := func(e store.Effective) int {
		switch {
		case e.Removed:
			return 0
		case !*e.Config.Enabled:
			return 1
		default:
			return 2
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		own := wanted(key("a"))
		*own.Config.Enabled = rapid.Bool().Draw(t, "enabled")
		before := *own.Config.Enabled
		account, workspace := kinds.Draw(t, "account"), kinds.Draw(t, "workspace")
		layers := store.Layers{
			Key: own.Key, Own: &own, Workspace: &store.Workspace{ID: "w", Directory: "/d", EngineID: "e", Account: "acme"},
			OfAccount: intent("acme", "", account), OfPlace: intent("", "w", workspace),
		}
		if rapid.Bool().Draw(t, "shared") {
			layers.Shared = &store.AccountDesired{Account: "acme", Name: "a", Profile: own.Profile, Config: own.Config}
		}
		got, ok := store.Merge(layers)
		require.True(t, ok)
		require.Equal(t, layers.Shared != nil, got.Shared)
		require.Equal(t, before, *own.Config.Enabled, "what was put in is left as it is")
		require.Equal(t, account == store.IntentRemoved || workspace == store.IntentRemoved, got.Removed)
		require.Equal(t, "e", got.EngineID, "also of a removed one: it is taken out of there")

		for _, stricter := range []store.IntentKind{store.IntentDisabled, store.IntentRemoved} {
			with := layers
			with.OfAccount = intent("acme", "", stricter)
			most := map[store.IntentKind]int{store.IntentDisabled: 1, store.IntentRemoved: 0}[stricter]
			after, _ := store.Merge(with)
			require.LessOrEqual(t, rank(after), most, "what an account takes away is away")
		}
	})
}

func TestNoTwoConfigsShareACredential(t *testing.T) {
	t.Parallel()
	names := rapid.StringMatching(`[ab/%]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) store.Key {
			return store.Key{Workspace: names.Draw(t, label+" workspace"), Name: names.Draw(t, label+" name"), Directory: names.Draw(t, label+" directory")}
		}
		one, other := draw("one"), draw("other")
		require.Equal(t, one == other, store.ConnectionCredential(one) == store.ConnectionCredential(other))
		require.Equal(t, one.Workspace == other.Workspace && one.Name == other.Name,
			store.AccountCredential(one.Workspace, one.Name) == store.AccountCredential(other.Workspace, other.Name))
		require.NotEqual(t, store.AccountCredential(one.Workspace, one.Name), store.ConnectionCredential(one))
	})
}

// intent is nil for no kind.
func intent(account, workspace string, kind store.IntentKind) *store.Intent {
	if kind == "" {
		return nil
	}
	return &store.Intent{Account: account, Workspace: workspace, Name: "a", Kind: kind, Revision: 1}
}
