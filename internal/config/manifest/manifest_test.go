package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
	"github.com/holdfast-mcp/holdfast/internal/config/strictyaml"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

const full = `
engines:
  - {id: main, url: "HTTP://Engine.Example:80/", username: opencode, password: "${PASSWORD}"}
workspaces:
  - id: w1
    directory: /srv/../srv/one
    engine: main
    connections:
      - name: cloud
        profile: openwork
        url: https://api.openworklabs.com/mcp
        headers: {Authorization: "Bearer ${TOKEN}", X-Price: "$$5 and $5"}
        timeout: ${TIMEOUT}
        enabled: true
        oauth: false
        expectedTools: [search_capabilities]
        tokenMetadata: {organizationId: "${ORG}", expiresAt: 2026-01-01T00:00:00Z, scopes: 3}
        org: {id: "${ORG}"}
---
workspaces:
  - id: w2
    directory: two
    engine: http://127.0.0.1:4096
    connections:
      - {name: plain, url: "http://127.0.0.1:1/mcp", enabled: false, timeout: 900}
`

var variables = lookup(map[string]string{"PASSWORD": "p ${TOKEN} $$", "TOKEN": "t: {x}", "TIMEOUT": "2500", "ORG": "007"})

func TestAWholeManifestIsRead(t *testing.T) {
	t.Parallel()
	file := manifestFile(t, full)
	read, err := manifest.Load(variables, file)
	require.NoError(t, err)

	require.Len(t, read.Engines, 2)
	require.Equal(t, "main", read.Engines[0].ID)
	require.Equal(t, "http://engine.example", read.Engines[0].URL)
	require.Equal(t, "p ${TOKEN} $$", read.Engines[0].Password, "what a variable holds is not expanded again")
	require.Equal(t, "127.0.0.1-4096", read.Engines[1].ID, "an engine named only by its URL")

	require.Len(t, read.Workspaces, 2)
	one, two := read.Workspaces[0], read.Workspaces[1]
	require.Equal(t, "/srv/one", one.Directory)
	require.Equal(t, "main", one.Engine)
	require.Equal(t, file+":5", one.Where())
	require.Equal(t, filepath.Join(resolved(t, filepath.Dir(file)), "two"), two.Directory)
	require.Equal(t, "127.0.0.1-4096", two.Engine)

	cloud := one.Connections[0]
	require.Equal(t, map[string]string{"Authorization": "Bearer t: {x}", "X-Price": "$5 and $5"}, cloud.Headers)
	require.Equal(t, 2500, cloud.TimeoutMillis)
	require.Equal(t, map[string]any{"organizationId": "007", "expiresAt": "2026-01-01T00:00:00Z", "scopes": 3}, cloud.TokenMetadata)
	require.Equal(t, map[string]any{"id": "007"}, cloud.Org, "an expanded value is text")
	require.Equal(t, []string{"search_capabilities"}, cloud.ExpectedTools)
	require.Equal(t, manifest.ProfileGeneric, two.Connections[0].Profile)
}

func TestAConnectionsBodyIsInTheFormThatNormalisationTakes(t *testing.T) {
	t.Parallel()
	read, err := manifest.Load(variables, manifestFile(t, full))
	require.NoError(t, err)
	body, err := read.Workspaces[0].Connections[0].Body()
	require.NoError(t, err)
	require.JSONEq(t, `{
		"config": {"type":"remote","url":"https://api.openworklabs.com/mcp","enabled":true,"oauth":false,"timeout":2500,
			"headers":{"Authorization":"Bearer t: {x}","X-Price":"$5 and $5"}},
		"expectedTools": ["search_capabilities"],
		"tokenMetadata": {"organizationId":"007","expiresAt":"2026-01-01T00:00:00Z","scopes":3},
		"org": {"id":"007"}}`, string(body))
	body, err = read.Workspaces[1].Connections[0].Body()
	require.NoError(t, err)
	require.JSONEq(t, `{"config": {"type":"remote","url":"http://127.0.0.1:1/mcp","enabled":false,"oauth":false,"timeout":900}}`, string(body))
}

func TestAccountsShareConnectionsAndATokenMayHaveASource(t *testing.T) {
	t.Parallel()
	read, err := manifest.Load(variables, manifestFile(t, `
accounts:
  - id: team
    connections:
      - name: search
        url: http://u/mcp
        tokenSource: {kind: client_credentials, tokenUrl: "http://a/token", clientId: c, clientSecret: "${PASSWORD}", scopes: [a, b], margin: 5m}
workspaces:
  - {id: w1, directory: /d, engine: http://e, account: team}
  - id: w2
    directory: /d
    engine: http://e
    connections: [{name: own, url: "http://u/mcp", tokenSource: {kind: env, variable: OWN_TOKEN}}]
`))
	require.NoError(t, err)
	require.Equal(t, "team", read.Accounts[0].ID)
	require.Equal(t, manifest.ProfileGeneric, read.Accounts[0].Connections[0].Profile)
	source, err := read.Accounts[0].Connections[0].TokenSource.Desired()
	require.NoError(t, err)
	require.Equal(t, &desired.TokenSource{
		Kind: desired.SourceClientCredentials, TokenURL: "http://a/token", ClientID: "c", ClientSecret: "p ${TOKEN} $$",
		Scopes: []string{"a", "b"}, MarginSeconds: 300,
	}, source)
	require.Equal(t, "team", read.Workspaces[0].Account)
	require.Empty(t, read.Workspaces[1].Account, "none is given: whoever applies it keeps what is known")
	require.Equal(t, "OWN_TOKEN", read.Workspaces[1].Connections[0].TokenSource.Variable, "a name, not its value")
}

func TestSeveralFilesAreReadAsOne(t *testing.T) {
	t.Parallel()
	engines := manifestFile(t, "engines: [{id: e, url: 'http://e'}]\n")
	first := manifestFile(t, workspace("w", "e", "a"))
	second := manifestFile(t, workspace("w", "e", "b"))
	read, err := manifest.Load(variables, first, second, engines)
	require.NoError(t, err)
	require.Len(t, read.Workspaces, 2)
	require.Len(t, read.Engines, 1)

	again := manifestFile(t, workspace("w", "http://e/", "a"))
	_, err = manifest.Load(variables, first, again, engines)
	require.ErrorContains(t, err, again+`:5: connection "a" of workspace "w" is given twice, first at `+first+":5")
}

func TestTheAccountOfOnePartOfAWorkspaceIsThatOfAllParts(t *testing.T) {
	t.Parallel()
	part := "  - {id: w, directory: /d, engine: http://e%s}\n"
	for _, tc := range []struct{ first, second string }{{", account: team", ""}, {"", ", account: team"}} {
		read, err := manifest.Load(variables, manifestFile(t, "workspaces:\n"+fmt.Sprintf(part+part, tc.first, tc.second)))
		require.NoError(t, err)
		require.Equal(t, [2]string{"team", "team"}, [2]string{read.Workspaces[0].Account, read.Workspaces[1].Account})
	}
}

func TestAnEngineThatNoFileGivesIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	file := manifestFile(t, `
workspaces:
  - {id: a, directory: /a, engine: known}
  - {id: b, directory: /b, engine: known}
  - {id: c, directory: /c, engine: 127.0.0.1-4096}
  - {id: d, directory: /d, engine: "http://127.0.0.1:4096"}
`)
	read, err := manifest.Load(variables, file)
	require.NoError(t, err)
	require.Len(t, read.Elsewhere, 1, "the other is the one that a later workspace gives")
	require.Equal(t, "known", read.Elsewhere[0].ID)
	require.Equal(t, file+":3", read.Elsewhere[0].Where())
}

func TestAFaultNamesFileAndLineAndNoValue(t *testing.T) {
	t.Parallel()
	head := "workspaces:\n  - id: w\n    directory: /d\n    engine: http://e\n    connections:\n"
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", head + "      - name: a\n        url: http://u\n        header: {A: s3cr3t}\n", `:8: unknown key "header" in workspaces[0].connections[0]`},
		{"unknown key at the top", "engine: []\n", `:1: unknown key "engine" in the document: known are engines, accounts, workspaces`},
		{"internal field", head + "      - {name: a, url: http://u, place: {}}\n", `:6: unknown key "place"`},
		{"key twice", head + "      - name: a\n        url: http://u\n        url: http://s3cr3t\n", `:8: key "url" is given twice in workspaces[0].connections[0], first at line 7`},
		{"key twice in free values", head + "      - {name: a, url: http://u, org: {id: s3cr3t, id: b}}\n", `:6: key "id" is given twice`},
		{"unset variable", head + "      - name: a\n        url: http://u\n        headers:\n          A: s3cr3t ${NOT_SET}\n", ":9: workspaces[0].connections[0].headers.A: variable NOT_SET is not set"},
		{"no variable", head + "      - {name: a, url: 'http://u${-s3cr3t}'}\n", ":6: workspaces[0].connections[0].url: ${ does not begin a variable"},
		{"text for a number", head + "      - {name: a, url: http://u, timeout: s3cr3t}\n", ":6: workspaces[0].connections[0].timeout must be a whole number"},
		{"text for a number by variable", head + "      - {name: a, url: http://u, timeout: '${SECRET}'}\n", ":6: workspaces[0].connections[0].timeout must be a whole number"},
		{"text for a truth value", head + "      - {name: a, url: http://u, enabled: s3cr3t}\n", "enabled must be true or false"},
		{"number too large", head + "      - {name: a, url: http://u, timeout: 99999999999999999999}\n", "timeout must be a whole number"},
		{"timeout out of range", head + "      - {name: a, url: http://u, timeout: 600001}\n", ":6: timeout is out of range"},
		{"list for a mapping", head + "      - {name: a, url: http://u, headers: [s3cr3t]}\n", "headers must be a mapping"},
		{"mapping for a list", "workspaces: {id: s3cr3t}\n", ":1: workspaces must be a list"},
		{"infinity", head + "      - {name: a, url: http://u, org: {n: .inf}}\n", "org.n must be a finite number"},
		{"unknown profile", head + "      - {name: a, url: http://u, profile: s3cr3t}\n", ":6: profile must be generic or openwork"},
		{"no name", head + "      - {url: http://s3cr3t}\n", ":6: connection needs name"},
		{"no url", head + "      - {name: a}\n", ":6: connection needs url"},
		{"no directory", "workspaces:\n  - {id: w, engine: http://e}\n", ":2: workspace needs directory"},
		{"workspace's engine with credentials", "workspaces:\n  - {id: w, directory: /d, engine: 'http://u:s3cr3t@h'}\n", ":2: workspace's engine must not hold credentials"},
		{"engine without url", "engines:\n  - id: e\n", ":2: engine needs a url"},
		{"engine's credentials in the url", "engines:\n  - url: http://u:s3cr3t@h\n", ":2: engine's url must not hold credentials"},
		{"engine's query", "engines:\n  - url: http://h?k=s3cr3t\n", ":2: engine's url must not have a query"},
		{"engine twice", "engines:\n  - {id: e, url: http://a}\n  - {id: e, url: http://b}\n", `:3: engine "e" is given twice, first at`},
		{"engine's url twice", "engines:\n  - {id: e, url: http://a}\n  - {id: f, url: 'http://A:80/'}\n", `:3: the url of engine "f" is that of engine "e"`},
		{"account without id", "accounts:\n  - connections: []\n", ":2: account needs id"},
		{"account's connection without url", "accounts:\n  - id: a\n    connections:\n      - name: s\n", ":4: connection needs url"},
		{"account's connection twice", "accounts:\n  - id: a\n    connections: [{name: s, url: http://u}]\n  - id: a\n    connections: [{name: s, url: http://s3cr3t}]\n", `:5: connection "s" of account "a" is given twice, first at`},
		{"account with a directory", "accounts:\n  - id: a\n    directory: /d\n", `:3: unknown key "directory" in accounts[0]`},
		{"workspace with two accounts", "workspaces:\n  - {id: w, directory: /d, engine: http://e, account: a}\n  - {id: w, directory: /d, engine: http://e, account: b}\n", `:3: workspace "w" has another account here than at`},
		{"workspace with two engines", "workspaces:\n  - {id: w, directory: /d, engine: http://e}\n  - {id: w, directory: /d, engine: http://f}\n", `:3: workspace "w" has another engine here than at`},
		{"unknown key of a token source", head + "      - {name: a, url: http://u, tokenSource: {kind: literal, token: s3cr3t}}\n", `:6: unknown key "token" in workspaces[0].connections[0].tokenSource`},
		{"margin of a token source", head + "      - {name: a, url: http://u, tokenSource: {kind: literal, value: s3cr3t, margin: soon}}\n", ":6: tokenSource.margin must be a duration"},
		{"broken", "workspaces:\n  - {id: s3cr3t\n", "not valid YAML"},
		{"variable without quotes in braces", "engines: [{url: ${SECRET}, password: s3cr3t}]\n", "not valid YAML: did not find expected ',' or '}': inside { } a value with ${NAME} needs quotes"},
		{"alias of nothing", "workspaces: *s3cr3t\n", "not valid YAML"},
		{"a plain text", "s3cr3t\n", ":1: the document must be a mapping"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := manifestFile(t, tc.text)
			_, err := manifest.Load(lookup(map[string]string{"SECRET": "s3cr3t"}), file)
			require.ErrorContains(t, err, file)
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "s3cr3t")
		})
	}
}

func TestAllFaultsOfAFileAreReported(t *testing.T) {
	t.Parallel()
	_, err := manifest.Load(variables, manifestFile(t, "a: 1\nb: 2\nengines: [{url: '${NONE}'}]\n"))
	require.ErrorContains(t, err, `:1: unknown key "a"`)
	require.ErrorContains(t, err, `:2: unknown key "b"`)
	require.ErrorContains(t, err, ":3: engines[0].url: variable NONE is not set")
}

func TestAnchorsAreSharedAndExpandedOnce(t *testing.T) {
	t.Parallel()
	read, err := manifest.Load(lookup(map[string]string{"T": "${T}"}), manifestFile(t, `
workspaces:
  - id: w
    directory: /d
    engine: http://e
    connections:
      - &base
        name: a
        url: http://u
        headers: &h {Authorization: "${T}"}
      - <<: *base
        name: b
      - {name: c, url: http://u, headers: *h}
`))
	require.NoError(t, err)
	for _, connection := range read.Workspaces[0].Connections {
		require.Equal(t, map[string]string{"Authorization": "${T}"}, connection.Headers)
		require.Equal(t, "http://u", connection.URL)
	}
}

func TestAnAnchorInsideItselfIsRefused(t *testing.T) {
	t.Parallel()
	_, err := manifest.Load(variables, manifestFile(t, "workspaces:\n  - id: w\n    directory: /d\n    engine: http://e\n    connections: [{name: a, url: http://u, org: &o {o: *o}}]\n"))
	require.Error(t, err)
}

func TestLinksInDirectoriesAreResolved(t *testing.T) {
	t.Parallel()
	base := resolved(t, t.TempDir())
	require.NoError(t, os.Mkdir(filepath.Join(base, "real"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(base, "link")))
	require.Equal(t, filepath.Join(base, "real"), manifest.CleanDirectory(base, "./link/"))
	require.Equal(t, filepath.Join(base, "real", "later"), manifest.CleanDirectory(base, "link/later"))
	require.Equal(t, "/not/here", manifest.CleanDirectory(base, "/not/./here/"))
}

func TestEngineIDs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ url, want string }{
		{"http://127.0.0.1:4096", "127.0.0.1-4096"},
		{"HTTP://Host/", "host-80"},
		{"https://host", "host-443"},
		{"https://host:443/", "host-443"},
		{"http://[::1]:4096", "--1-4096"},
		{"not a url", ""},
		{"ftp://host", ""},
	} {
		t.Run(tc.url, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, manifest.EngineID(tc.url))
		})
	}
	require.NotEqual(t, manifest.EngineID("http://h/a-b"), manifest.EngineID("http://h/a/b"))
}

func TestNoFileMakesTheReaderFall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "any.yaml")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(),
			rapid.Custom(func(t *rapid.T) string {
				lines := rapid.SliceOf(rapid.SampledFrom(strings.Split(full, "\n"))).Draw(t, "lines")
				return strings.Join(lines, "\n")
			}),
		).Draw(t, "text")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = manifest.Load(variables, file)
	})
}

func lookup(values map[string]string) strictyaml.Lookup {
	return func(name string) (string, bool) {
		value, set := values[name]
		return value, set
	}
}

func workspace(id, engine, name string) string {
	return "workspaces:\n  - id: " + id + "\n    directory: /d\n    engine: " + engine + "\n    connections: [{name: " + name + ", url: 'http://u'}]\n"
}

func manifestFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func resolved(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return path
}
