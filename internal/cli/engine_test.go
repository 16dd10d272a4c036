package cli_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestEnginesAreListedWithWhatUsesThem(t *testing.T) {
	t.Parallel()
	l := bare(t)
	l.store(func(*store.Store) {})
	require.Zero(t, l.run("engine", "list"))
	require.Contains(t, l.stderr.String(), "holdfast connection apply")

	l = team(t)
	l.store(func(st *store.Store) {
		_, err := st.PutEngine(t.Context(), store.Engine{ID: "idle", BaseURL: "http://127.0.0.1:1", Password: canary})
		require.NoError(t, err)
	})
	require.Zero(t, l.run("engine", "list", "-o", "json"), l.stderr)
	type item struct {
		ID                      string
		PasswordStored          bool
		Workspaces, Connections int
	}
	require.Equal(t, []item{{ID: "idle", PasswordStored: true}, {ID: "main", Workspaces: 3, Connections: 3}}, document[[]item](l))
	require.NotContains(t, l.stdout.String(), canary)
	require.Zero(t, l.run("engine", "list"), l.stderr)
	require.Regexp(t, `idle +http://127.0.0.1:1 +opencode +stored +0 +0`, l.stdout.String())
	require.Regexp(t, `main +http://127.0.0.1:4096 +- +none +3 +3`, l.stdout.String())
}

func TestAnEngineInUseStaysAndNamesWhatUsesIt(t *testing.T) {
	t.Parallel()
	l := team(t)
	require.Equal(t, cli.ExitError, l.run("engine", "remove", "main"))
	require.Contains(t, l.stderr.String(), "engine main is used by 3 connections")
	for _, one := range []string{"acme/search in /srv/acme", "beta/search in /srv/beta", "lone/own in /srv/lone"} {
		require.Contains(t, l.stderr.String(), one)
	}
	require.Equal(t, cli.ExitNotFound, l.run("engine", "remove", "http://u:"+canary+"@h"))
	require.NotContains(t, l.stderr.String(), canary)
	require.Equal(t, cli.ExitUsage, l.run("engine", "remove"))
}

func TestAnEngineThatNothingUsesIsForgotten(t *testing.T) {
	t.Parallel()
	l := team(t)
	require.Zero(t, l.run("account", "remove", "team/search"), l.stderr)
	require.Zero(t, l.run("connection", "remove", "lone/own"), l.stderr)
	l.store(func(st *store.Store) { // as another program leaves it that removes by an intent alone
		_, err := st.PutDesired(t.Context(), shadowed())
		require.NoError(t, err)
		_, err = st.PutIntent(t.Context(), store.Intent{Workspace: "lone", Name: "kept", Kind: store.IntentRemoved, By: "cli:ann"})
		require.NoError(t, err)
	})
	require.Zero(t, l.run("engine", "remove", "main", "-o", "json"), l.stderr)
	got := document[struct {
		ID         string
		Workspaces []string
	}](l)
	require.Equal(t, "main", got.ID)
	require.Equal(t, []string{"acme in /srv/acme", "beta in /srv/beta", "lone in /srv/lone"}, got.Workspaces)
	rows, engines := l.wanted()
	require.Empty(t, engines)
	require.Len(t, rows, 1, "a config that may be wanted again is kept")
	l.store(func(st *store.Store) {
		places, err := st.Workspaces(t.Context(), store.WorkspaceFilter{Account: "team"})
		require.NoError(t, err)
		require.Len(t, places, 2, "they keep their account")
	})
	require.Zero(t, l.run("connection", "apply", "-f", l.workDir+"/team.yaml"), l.stderr)
	require.Contains(t, l.stderr.String(), "workspace acme in /srv/acme gets engine main")
	require.Equal(t, "main", l.effective("acme", "search").EngineID)
}

func TestDoctorSaysOfAnIdleEngineHowToForgetIt(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.store(func(st *store.Store) {
		_, err := st.PutEngine(t.Context(), store.Engine{ID: "idle", BaseURL: "http://127.0.0.1:1"})
		require.NoError(t, err)
	})
	down(l)
	l.run("doctor", "-o", "json")
	got := document[diagnosis](l)
	require.Equal(t, "info", got.levels()["engine idle"])
	for _, one := range got.Findings {
		if one.Subject == "engine idle" {
			require.Contains(t, one.Action, "holdfast engine remove idle")
		}
	}
	l.run("doctor", "--engine", "http://127.0.0.1:1", "-o", "json")
	require.Equal(t, "fail", document[diagnosis](l).levels()["engine idle"], "one that is asked for is asked")
}

// shadowed is an own config lone/kept.
func shadowed() store.Desired {
	on := true
	return store.Desired{
		Key: store.Key{Workspace: "lone", Name: "kept", Directory: "/srv/lone"}, EngineID: "main", Profile: desired.ProfileGeneric,
		Config:   desired.Config{Type: "remote", URL: "http://127.0.0.1:3001/mcp", Enabled: &on, OAuth: json.RawMessage("false")},
		Metadata: desired.DefaultMetadata(),
	}
}
