package cli_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const oneAccount = `
engines: [{id: main, url: "http://127.0.0.1:4096"}]
accounts:
  - id: team
    connections:
      - name: search
        url: http://127.0.0.1:3001/mcp
        tokenSource: {kind: client_credentials, tokenUrl: "http://127.0.0.1:9/token", clientId: c, clientSecret: "${SECRET}"}
workspaces:
  - {id: acme, directory: /srv/acme, engine: main, account: team}
  - {id: beta, directory: /srv/beta, engine: main, account: team}
  - id: lone
    directory: /srv/lone
    engine: main
    connections: [{name: own, url: "http://127.0.0.1:3002/mcp"}]
`

// team has the account applied: acme and beta share search, lone has own.
func team(t *testing.T) *line {
	t.Helper()
	l := prepared(t)
	l.environ = append(l.environ, "SECRET="+canary, "USER=ann")
	path := l.file("team.yaml", oneAccount)
	require.Zero(t, l.run("connection", "apply", "-f", path, "-o", "json"), l.stderr)
	return l
}

// row is what tests read of a line of an apply.
type row struct {
	Workspace, Name, Change, Revision, Account, Engine, Intent, Error string
}

func (l *line) rows() map[string]row {
	rows := map[string]row{}
	for _, r := range document[[]row](l) {
		rows[r.Workspace+"/"+r.Name] = r
	}
	return rows
}

func (l *line) effective(workspace, name string) (got store.Effective) {
	l.t.Helper()
	l.store(func(st *store.Store) {
		var err error
		got, err = st.Effective(l.t.Context(), store.Key{Workspace: workspace, Name: name, Directory: "/srv/" + workspace})
		require.NoError(l.t, err)
	})
	return got
}

func (l *line) decided() (kinds map[string]store.IntentKind) {
	l.t.Helper()
	kinds = map[string]store.IntentKind{}
	l.store(func(st *store.Store) {
		intents, err := st.Intents(l.t.Context(), store.IntentFilter{})
		require.NoError(l.t, err)
		for _, i := range intents {
			kinds[i.Account+i.Workspace+"/"+i.Name] = i.Kind
			require.Equal(l.t, "cli:ann", i.By)
		}
	})
	return kinds
}

// damage runs a statement on the database file, beside the store.
func (l *line) damage(statement string) {
	l.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(l.dataDir, "holdfast.db"))
	require.NoError(l.t, err)
	_, err = db.ExecContext(l.t.Context(), statement)
	require.NoError(l.t, err)
	require.NoError(l.t, db.Close())
}

// forget drops what was asked of workflows so far.
func (l *line) forget() { l.connections = &fakeConnections{describe: l.connections.describe} }

// told are the connections that were signaled.
func (l *line) told() (keys []string) {
	for i, call := range l.connections.calls {
		if call == "ensure" {
			keys = append(keys, l.connections.keys[i].Workspace+"/"+l.connections.keys[i].Name)
		}
	}
	slices.Sort(keys)
	return keys
}

func TestASharedConfigGoesToEveryWorkspaceOfItsAccount(t *testing.T) {
	t.Parallel()
	l := team(t)
	rows := l.rows()
	require.Len(t, rows, 3)
	require.Equal(t, "team", rows["acme/search"].Account)
	require.Empty(t, rows["lone/own"].Account)
	require.Equal(t, rows["acme/search"].Revision, rows["beta/search"].Revision)
	require.Equal(t, "main", rows["beta/search"].Engine)
	require.Equal(t, []string{"acme/search", "beta/search", "lone/own"}, l.told())
	require.Equal(t, []string{"main"}, l.engines.ids)
	got := l.effective("beta", "search")
	require.True(t, got.Shared)
	require.Equal(t, desired.SourceClientCredentials, got.TokenSource.Kind)
	require.Equal(t, canary, got.TokenSource.ClientSecret)
	require.NotContains(t, l.stdout.String()+l.stderr.String(), canary)

	require.Zero(t, l.run("connection", "apply", "-f", l.workDir+"/team.yaml", "-o", "json"), l.stderr)
	for _, r := range l.rows() {
		require.Equal(t, "unchanged", r.Change)
	}
	for _, signal := range l.connections.ensured[3:] {
		require.NotEmpty(t, signal.Revision, "one that is known already is no work for its workflow")
	}
}

func TestASharedConfigThatBreaksARuleWritesNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, config, says string }{
		{"url", `{name: bad, url: "ftp://h/mcp"}`, "bad of account team: cloud_endpoint_invalid"},
		{"token source", `{name: bad, url: "http://h/mcp", tokenSource: {kind: file, path: here}}`, "path must be absolute"},
		{"two tokens", `{name: bad, url: "http://h/mcp", headers: {authorization: x}, tokenSource: {kind: env, variable: V}}`, "not both"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := prepared(t)
			path := l.file("bad.yaml", "accounts:\n  - id: team\n    connections:\n      - "+tc.config+
				"\nworkspaces:\n  - {id: acme, directory: /srv/acme, engine: \"http://127.0.0.1:1\"}\n")
			require.Equal(t, cli.ExitUsage, l.run("connection", "apply", "-f", path))
			require.Contains(t, l.stderr.String(), path+":4: ")
			require.Contains(t, l.stderr.String(), tc.says)
			l.store(func(st *store.Store) {
				places, err := st.Workspaces(t.Context(), store.WorkspaceFilter{})
				require.NoError(t, err)
				require.Empty(t, places)
			})
		})
	}
}

func TestAWorkspaceJoinsAnAccountByAFlagAndKeepsItWithoutOne(t *testing.T) {
	t.Parallel()
	l := team(t)
	flags := []string{
		"connection", "apply", "--workspace", "late", "--directory", "/srv/late", "--engine", "main", "--name", "own", "--url", "http://127.0.0.1:3002/mcp",
	}
	l.forget()
	require.Zero(t, l.run(append(flags, "--account", "team", "-o", "json")...), l.stderr)
	require.Equal(t, "own", document[row](l).Name, "one document: that of the connection that was given")
	require.Equal(t, []string{"late/own", "late/search"}, l.told())
	require.Zero(t, l.run(flags...), l.stderr)
	require.True(t, l.effective("late", "search").Shared, "the account is kept")

	l.forget()
	l.connections.describe = running(standing(delivery.Ready, "r").Delivery)
	require.Zero(t, l.run(append(flags, "--account", "default")...), l.stderr)
	require.Contains(t, l.stderr.String(), "moves from account team to default")
	require.Equal(t, []string{"late/own", "late/search"}, l.told(), "what it has no more is told to let go")
}

func TestTokenSourcesAreGivenByFlags(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.environ = append(l.environ, "SECRET="+canary, "REFRESH="+canary+"r")
	for _, tc := range []struct {
		name string
		args []string
		want desired.TokenSource
	}{
		{"variable", []string{"--token-env", "SEARCH_TOKEN"}, desired.TokenSource{Kind: desired.SourceEnv, Variable: "SEARCH_TOKEN"}},
		{"file", []string{"--token-file", "/run/token"}, desired.TokenSource{Kind: desired.SourceFile, Path: "/run/token"}},
		{
			"client credentials",
			[]string{"--token-url", "http://a/t", "--client-id", "c", "--client-secret-env", "SECRET", "--token-scope", "x", "--token-scope", "y"},
			desired.TokenSource{
				Kind: desired.SourceClientCredentials, TokenURL: "http://a/t", ClientID: "c", ClientSecret: canary, Scopes: []string{"x", "y"},
			},
		},
		{
			"refresh token",
			[]string{"--token-url", "http://a/t", "--client-id", "c", "--refresh-token-env", "REFRESH"},
			desired.TokenSource{Kind: desired.SourceRefreshToken, TokenURL: "http://a/t", ClientID: "c", RefreshToken: canary + "r"},
		},
	} {
		require.Zero(t, l.run(one(tc.args...)...), l.stderr)
		rows, _ := l.wanted()
		require.Equal(t, &tc.want, rows[0].TokenSource, tc.name)
		require.NotContains(t, l.stdout.String()+l.stderr.String(), canary)
	}
}

func TestWrongTokenFlagsAreUsageErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"--token-env", "A", "--token-file", "/b"}, "give one of"},
		{[]string{"--client-id", "c"}, "go with --token-url"},
		{[]string{"--token-url", "http://a/t"}, "needs clientId"},
		{[]string{"--token-url", "http://a/t", "--client-id", "c", "--client-secret-env", canary}, "the variable is not set"},
		{[]string{"--token-env", "A", "--header", "Authorization: " + canary}, "not both"},
	} {
		l := prepared(t)
		require.Equal(t, cli.ExitUsage, l.run(one(tc.args...)...), tc.says)
		require.Contains(t, l.stderr.String(), tc.says)
		require.NotContains(t, l.stderr.String(), canary)
	}
}

func TestDisableHoldsAgainstAnyApplyAndEnableLiftsIt(t *testing.T) {
	t.Parallel()
	l := team(t)
	l.forget()
	require.Zero(t, l.run("connection", "disable", "acme/search", "--reason", "too loud"), l.stderr)
	require.Equal(t, []string{"acme/search"}, l.told(), "and no other workspace")
	require.False(t, *l.effective("acme", "search").Config.Enabled)
	require.True(t, *l.effective("beta", "search").Config.Enabled)

	require.Zero(t, l.run("connection", "apply", "-f", l.workDir+"/team.yaml"), l.stderr)
	require.Contains(t, l.stderr.String(), "acme/search is switched off by cli:ann at ")
	require.Contains(t, l.stderr.String(), "(too loud); next: holdfast connection enable acme/search")
	require.Equal(t, map[string]store.IntentKind{"acme/search": store.IntentDisabled}, l.decided())

	require.Zero(t, l.run("connection", "enable", "acme/search", "-o", "json"), l.stderr)
	require.Equal(t, "changed", l.rows()["acme/search"].Change)
	require.True(t, *l.effective("acme", "search").Config.Enabled)
	require.Zero(t, l.run("connection", "enable", "acme/search", "-o", "json"), l.stderr)
	require.Equal(t, "unchanged", l.rows()["acme/search"].Change)
}

func TestEnableWaitsLikeTheOthers(t *testing.T) {
	t.Parallel()
	l := team(t)
	require.Zero(t, l.run("connection", "enable", "acme/search", "-o", "json"), l.stderr)
	revision := l.rows()["acme/search"].Revision
	l.connections.update = func(string) (connection.Health, error) { return standing(delivery.Ready, revision), nil }
	require.Zero(t, l.run("connection", "enable", "acme/search", "--wait", "ready"), l.stderr)
	require.Contains(t, l.stdout.String(), "ready")
}

func TestRemovingASharedConnectionIsAnIntentOfItsWorkspace(t *testing.T) {
	t.Parallel()
	l := team(t)
	l.connections.update = func(string) (connection.Health, error) {
		require.True(t, l.effective("acme", "search").Removed, "intent is durable first")
		return standing(delivery.NotDesired, ""), nil
	}
	require.Zero(t, l.run("connection", "remove", "acme/search", "-o", "json"), l.stderr)
	require.Equal(t, map[string]any{"wasDesired": true, "disconnected": true, "account": "team"},
		pick(document[map[string]any](l), "wasDesired", "disconnected", "account"))
	require.False(t, l.effective("beta", "search").Removed)

	l.forget()
	require.Zero(t, l.run("connection", "apply", "-f", l.workDir+"/team.yaml"), l.stderr)
	require.Contains(t, l.stderr.String(), "acme/search is removed by cli:ann")
	require.NotContains(t, l.told(), "acme/search", "an account's config never lifts what a workspace wants")
	require.Contains(t, l.stdout.String(), "removed")

	require.Zero(t, l.run("connection", "enable", "acme/search"), l.stderr)
	require.Contains(t, l.told(), "acme/search")
	require.False(t, l.effective("acme", "search").Removed)
}

func TestApplyingAnOwnConfigLiftsItsRemoval(t *testing.T) {
	t.Parallel()
	l := team(t)
	l.store(func(st *store.Store) {
		for _, name := range []string{"own", "kept"} {
			_, err := st.PutIntent(t.Context(), store.Intent{Workspace: "lone", Name: name, Kind: store.IntentRemoved, By: "cli:ann"})
			require.NoError(t, err)
		}
	})
	require.Zero(t, l.run("connection", "apply", "-f", l.workDir+"/team.yaml", "-o", "json"), l.stderr)
	require.Equal(t, "changed", l.rows()["lone/own"].Change)
	require.Equal(t, map[string]store.IntentKind{"lone/kept": store.IntentRemoved}, l.decided())
}

func TestAnAccountIsSwitchedOffOnAndRemovedAsAWhole(t *testing.T) {
	t.Parallel()
	l := team(t)
	l.connections.describe = running(standing(delivery.Ready, "r").Delivery)
	for _, tc := range []struct {
		verb string
		kind store.IntentKind
	}{{"disable", store.IntentDisabled}, {"remove", store.IntentRemoved}, {"enable", store.IntentEnabled}} {
		l.forget()
		require.Zero(t, l.run("account", tc.verb, "team/search", "-o", "json"), l.stderr)
		require.Len(t, document[[]row](l), 2)
		require.Equal(t, []string{"acme/search", "beta/search"}, l.told(), tc.verb)
		require.Equal(t, map[string]store.IntentKind{"team/search": tc.kind}, l.decided())
		require.Equal(t, tc.kind == store.IntentRemoved, l.effective("acme", "search").Removed)
	}
	require.Contains(t, l.fleet.calls, "reconcile-now", "what was removed ends")

	require.Zero(t, l.run("account", "remove", "team/search"), l.stderr)
	require.Zero(t, l.run("connection", "apply", "-f", l.workDir+"/team.yaml"), l.stderr)
	require.Empty(t, l.decided(), "applying it again is a new wish")
	require.Equal(t, cli.ExitNotFound, l.run("account", "enable", "team/other"))
	require.Equal(t, cli.ExitNotFound, l.run("connection", "enable", "acme/other"))
	require.Equal(t, cli.ExitUsage, l.run("account", "enable", "team"))
}

func TestAccountListShowsWhatIsSharedAndNoSecret(t *testing.T) {
	t.Parallel()
	l := team(t)
	require.Zero(t, l.run("account", "disable", "team/search", "--reason", "audit"), l.stderr)
	require.Zero(t, l.run("account", "list", "-o", "json"), l.stderr)
	got := document[[]map[string]any](l)
	require.Len(t, got, 1)
	require.EqualValues(t, 2, got[0]["workspaces"])
	intent, _ := got[0]["intent"].(map[string]any)
	require.Equal(t, "disabled", intent["kind"])
	require.Equal(t, "audit", intent["reason"])
	require.NotContains(t, l.stdout.String(), canary)
	require.Zero(t, l.run("account", "list"), l.stderr)
	require.Contains(t, l.stdout.String(), "team/search")
	require.Contains(t, l.stdout.String(), "client_credentials")
	path := l.file("open.yaml", "accounts:\n  - id: open\n    connections: [{name: s, url: \"http://127.0.0.1:1/mcp\"}]\n")
	require.Zero(t, l.run("connection", "apply", "-f", path), l.stderr)
	require.Zero(t, l.run("account", "list", "--account", "open"), l.stderr)
	require.NotContains(t, l.stdout.String(), "header")
	require.Zero(t, l.run("account", "list", "--account", "none"), l.stderr)
	require.Empty(t, l.stdout.String())
}

func TestListShowsSharedConnectionsThatDoNotRun(t *testing.T) {
	t.Parallel()
	l := team(t)
	require.Zero(t, l.run("connection", "list", "-o", "json"), l.stderr)
	states := map[string]string{}
	for _, r := range document[[]struct{ Workspace, Name, State string }](l) {
		states[r.Workspace+"/"+r.Name] = r.State
	}
	require.Equal(t, map[string]string{"acme/search": "not running", "beta/search": "not running", "lone/own": "not running"}, states)
	require.Zero(t, l.run("account", "remove", "team/search"), l.stderr)
	require.Zero(t, l.run("connection", "list", "-o", "json"), l.stderr)
	require.Len(t, document[[]any](l), 1, "what was removed is not wanted")
}

func TestAnAccountOfManyWorkspacesIsToldOfOneChange(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	text := "engines: [{id: main, url: 'http://127.0.0.1:4096'}]\naccounts:\n  - id: team\n    connections: [{name: search, url: 'http://127.0.0.1:1/mcp'}]\nworkspaces:\n"
	for i := range 100 {
		text += fmt.Sprintf("  - {id: w%d, directory: /srv/w%d, engine: main, account: team}\n", i, i)
	}
	require.Zero(t, l.run("connection", "apply", "-f", l.file("many.yaml", text), "-o", "json"), l.stderr)
	require.Len(t, document[[]row](l), 100)
	require.Len(t, l.told(), 100)
}
