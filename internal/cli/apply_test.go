package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const canary = "cAnArY-5ecret"

// one are the flags that every connection needs.
func one(more ...string) []string {
	return append([]string{
		"connection", "apply", "--workspace", "acme", "--directory", "project", "--engine", "http://LOCALHOST:4096/", "--name", "search",
		"--url", "http://127.0.0.1:3001/mcp",
	}, more...)
}

func TestApplyWritesWhatTheFlagsSay(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	target := filepath.Join(l.workDir, "target")
	require.NoError(t, os.Mkdir(target, 0o755))
	require.NoError(t, os.Symlink(target, filepath.Join(l.workDir, "project")))
	l.environ = append(l.environ, "TOKEN=Bearer "+canary, "PASSWORD="+canary)
	l.file("team", "blue\n")
	require.Zero(t, l.run(one(
		"--header", "X-Trace: a:b", "--header-env", "Authorization=TOKEN", "--header-file", "X-Team=team", "--timeout", "2500",
		"--expect-tool", "b", "--expect-tool", "a", "--engine-username", "me", "--engine-password-env", "PASSWORD",
	)...), l.stderr)

	rows, engines := l.wanted()
	require.Len(t, rows, 1)
	require.Equal(t, store.Key{Workspace: "acme", Name: "search", Directory: target}, rows[0].Key)
	require.Equal(t, map[string]string{"X-Trace": "a:b", "Authorization": "Bearer " + canary, "X-Team": "blue"}, rows[0].Config.Headers)
	require.Equal(t, 2500, rows[0].Config.TimeoutMillis)
	require.Equal(t, []string{"a", "b"}, rows[0].Metadata.ExpectedTools)
	require.True(t, *rows[0].Config.Enabled)
	require.Equal(t, "false", string(rows[0].Config.OAuth))
	require.Equal(t, "http://localhost:4096", engines[0].BaseURL)
	require.Equal(t, [2]string{"me", canary}, [2]string{engines[0].Username, engines[0].Password})
	require.Equal(t, []string{engines[0].ID}, l.engines.ids)
	require.Equal(t, []string{"ensure", "describe"}, l.connections.asked())
	require.NotContains(t, l.stdout.String()+l.stderr.String(), canary)
}

func TestApplyingTheSameAgainChangesNothing(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Zero(t, l.run(one("-o", "json")...), l.stderr)
	first := document[map[string]any](l)
	require.Equal(t, "changed", first["change"])
	before, _ := l.wanted()
	require.Zero(t, l.run(one("-o", "json")...), l.stderr)
	second := document[map[string]any](l)
	require.Equal(t, "unchanged", second["change"])
	require.Equal(t, first["revision"], second["revision"])
	after, _ := l.wanted()
	require.Equal(t, before, after)
}

func TestABrokenApplyChangesNothingAndTellsNoSecret(t *testing.T) {
	t.Parallel()
	openwork := []string{"--profile", "openwork"}
	for _, tc := range []struct {
		name string
		args []string
		says string
	}{
		{"nothing", []string{"connection", "apply"}, "missing: --workspace, --directory, --engine, --name, --url"},
		{"header without colon", one("--header", canary), "--header number 1"},
		{"header without quotes", one("--header", "Authorization:", canary), "quote values"},
		{"header without a value", one("--header", "Authorization:"), "has no value"},
		{"header twice", one("--header", "A: "+canary, "--header", "a: "+canary), "given twice"},
		{"value in place of a variable", one("--header-env", "Authorization="+canary), "not set"},
		{"variable that is not set", one("--header-env", "Authorization=SEARCH_AUTH_2"), "the variable SEARCH_AUTH_2 is not set"},
		{"value in place of a file", one("--header-file", "Authorization="+canary), "cannot be read"},
		{"password in place of a variable", one("--engine-password-env", canary), "not set"},
		{"password twice", one("--engine-password-env", "A", "--engine-password-file", "b"), "not both"},
		{"timeout out of range", one("--timeout", "601s"), "--timeout"},
		{"timeout with a number behind it", one("--timeout", "5s5"), "--timeout"},
		{"engine without a scheme", one("--engine", "u:"+canary+"@127.0.0.1"), "--engine is neither a URL nor the id of a known engine"},
		{"timeout in words", one("--timeout", "soon"), "--timeout"},
		{"unknown profile", one("--profile", "other"), "--profile"},
		{"engine with credentials", one("--engine", "http://u:"+canary+"@h:1"), "credentials"},
		{"unknown engine", one("--engine", "elsewhere"), "neither a URL nor the id"},
		{"tools of openwork", one(append(openwork, "--expect-tool", "x")...), "--expect-tool"},
		{"file and flags", one("-f", "x.yaml"), "not both"},
		{"url with credentials", one("--url", "http://u:"+canary+"@h/mcp"), "Next: "},
		{"url of another scheme", one("--url", "ftp://h/mcp?t="+canary), "cloud_endpoint_invalid"},
		{"url that openwork does not take", one(append(openwork, "--url", "http://h/mcp")...), "cloud_endpoint_invalid"},
		{"no token for openwork", one(append(openwork, "--url", "http://h/mcp/agent")...), "invalid_mcp_token"},
		{"header that HTTP cannot send", one("--header", "X: é"+canary), "cloud_endpoint_invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := prepared(t)
			require.Equal(t, cli.ExitUsage, l.run(tc.args...), l.stderr)
			require.Contains(t, l.stderr.String(), tc.says)
			require.NotContains(t, l.stderr.String()+l.stdout.String(), canary)
			require.Empty(t, l.dialled)
			rows, engines := l.wanted()
			require.Empty(t, rows)
			require.Empty(t, engines)
			require.Empty(t, l.connections.asked())
		})
	}
}

const twoWorkspaces = `
engines:
  - {id: main, url: "http://127.0.0.1:4096", password: "${PASSWORD}"}
workspaces:
  - id: acme
    directory: a
    engine: main
    connections:
      - {name: search, url: "http://127.0.0.1:3001/mcp", headers: {Authorization: "Bearer ${TOKEN}"}}
      - {name: files, url: "http://127.0.0.1:3002/mcp", enabled: false}
  - id: other
    directory: b
    engine: main
    connections:
      - {name: search, url: %q}
`

func TestAManifestIsAppliedWhole(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.environ = append(l.environ, "TOKEN="+canary, "PASSWORD="+canary)
	path := l.file("all.yaml", fmt.Sprintf(twoWorkspaces, "http://127.0.0.1:3003/mcp"))
	require.Zero(t, l.run("connection", "apply", "-f", path, "-o", "json"), l.stderr)
	require.Len(t, document[[]map[string]any](l), 3)
	rows, engines := l.wanted()
	require.Len(t, rows, 3)
	require.False(t, *rows[0].Config.Enabled, "switched off is wanted, and kept")
	require.Equal(t, "main", engines[0].ID)
	require.Equal(t, []string{"main"}, l.engines.ids, "one watch for an engine")
	require.NotContains(t, l.stdout.String()+l.stderr.String(), canary)
}

func TestAManifestWithOneFaultWritesNothing(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.environ = append(l.environ, "TOKEN="+canary, "PASSWORD="+canary)
	path := l.file("all.yaml", fmt.Sprintf(twoWorkspaces, "ftp://127.0.0.1/mcp"))
	require.Equal(t, cli.ExitUsage, l.run("connection", "apply", "-f", path))
	require.Contains(t, l.stderr.String(), path+":15: other/search: cloud_endpoint_invalid")
	rows, engines := l.wanted()
	require.Empty(t, rows)
	require.Empty(t, engines)
	require.Empty(t, l.connections.asked())
}

func TestAManifestWithUnknownKeysNamesFileAndLine(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	path := l.file("all.yaml", "workspaces:\n  - id: acme\n    directroy: a\n")
	require.Equal(t, cli.ExitUsage, l.run("connection", "apply", "-f", path))
	require.Contains(t, l.stderr.String(), path+":3")
}

func TestCredentialsThatAreNotGivenAgainAreKept(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.store(func(st *store.Store) {
		_, err := st.PutEngine(t.Context(), store.Engine{ID: "main", BaseURL: "http://localhost:4096", Username: "me", Password: canary})
		require.NoError(t, err)
	})
	require.Zero(t, l.run(one()...), l.stderr)
	rows, engines := l.wanted()
	require.Len(t, engines, 1, "the engine is known by its URL")
	require.Equal(t, "main", rows[0].EngineID)
	require.Equal(t, canary, engines[0].Password)

	require.Zero(t, l.run(one("--engine", "main", "--engine-username", "")...), l.stderr)
	_, engines = l.wanted()
	require.Equal(t, store.Engine{ID: "main", BaseURL: "http://localhost:4096", Password: canary, UpdatedAt: engines[0].UpdatedAt}, engines[0])
}

func TestNothingIsWrittenWhenTemporalIsDown(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.dialFault = fmt.Errorf("down")
	require.Equal(t, cli.ExitError, l.run(one()...))
	rows, engines := l.wanted()
	require.Empty(t, rows)
	require.Empty(t, engines)
}

func TestWithoutAWaitTheAnswerIsNeverAboutAnotherRevision(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.connections.describe = running(standing(delivery.Ready, "an older one").Delivery)
	require.Zero(t, l.run(one("-o", "json")...), l.stderr)
	got := document[struct {
		Revision string
		Snapshot connection.Snapshot
	}](l)
	require.Equal(t, delivery.Pending, got.Snapshot.State)
	require.Equal(t, got.Revision, *got.Snapshot.DesiredRevision)
}

func TestApplyWaitsForItsOwnRevision(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Zero(t, l.run(one("-o", "json")...), l.stderr)
	revision, _ := document[map[string]any](l)["revision"].(string)

	looks := 0
	l.connections.update = func(string) (connection.Health, error) { return standing(delivery.Ready, "an older one"), nil }
	l.connections.health = func() (connection.Health, error) {
		if looks++; looks < 3 {
			return standing(delivery.Registering, revision), nil
		}
		return standing(delivery.Ready, revision), nil
	}
	require.Zero(t, l.run(one("--wait", "ready", "-o", "json")...), l.stderr)
	got := document[struct{ Snapshot connection.Snapshot }](l)
	require.Equal(t, delivery.Ready, got.Snapshot.State)
	require.Equal(t, revision, *got.Snapshot.AppliedRevision)
}

func TestApplyThatNeedsAPersonEndsAtOnceWithTheDocument(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Zero(t, l.run(one("-o", "json")...), l.stderr)
	revision, _ := document[map[string]any](l)["revision"].(string)
	failure := health.InvalidToken(health.StageTransportAuth, health.AliasAuthInvalid, "refused")
	l.connections.update = func(string) (connection.Health, error) {
		h := standing(delivery.Failed, revision)
		h.FirstFailure, h.Delivery.Failure = &failure, &failure
		return h, nil
	}
	require.Equal(t, cli.ExitNotReady, l.run(one("--wait", "ready", "--wait-timeout", "1h", "-o", "json")...))
	require.Contains(t, l.stderr.String(), failure.RecommendedAction)
	got := document[struct {
		Error    string
		Snapshot connection.Snapshot
	}](l)
	require.Equal(t, health.CodeInvalidToken, got.Snapshot.Failure.Code)
	require.Contains(t, got.Error, "invalid_mcp_token")
}
