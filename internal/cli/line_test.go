package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

// line is a command line on a data folder of its own, with fakes in place of Temporal.
type line struct {
	t       *testing.T
	dataDir string
	workDir string
	environ []string

	connections *fakeConnections
	engines     *fakeEngines
	fleet       *fakeFleet
	runs        *fakeRuns
	sessions    *fakeMCPSessions
	dialling    *sync.Mutex // several commands may run at once
	dialled     []temporalclient.Options
	dialFault   error

	stdout, stderr *buffer
}

// buffer may be read while a command writes to it.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// bare has no keysets and no store yet.
func bare(t *testing.T) *line {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	l := &line{
		t: t, dataDir: filepath.Join(t.TempDir(), "data"), workDir: work, environ: []string{"HOME=/nowhere"},
		connections: &fakeConnections{}, engines: &fakeEngines{}, fleet: &fakeFleet{}, sessions: &fakeMCPSessions{},
		stdout: &buffer{}, stderr: &buffer{}, dialling: &sync.Mutex{},
	}
	l.runs = &fakeRuns{line: l}
	return l
}

// prepared has what setup makes.
func prepared(t *testing.T) *line {
	t.Helper()
	l := bare(t)
	l.store(func(*store.Store) {})
	return l
}

// store opens the store as another process would.
func (l *line) store(use func(*store.Store)) {
	l.t.Helper()
	keyset, err := keys.Open(filepath.Join(l.dataDir, "keys"))
	require.NoError(l.t, err)
	opened, err := store.Open(l.t.Context(), store.Options{Path: filepath.Join(l.dataDir, "holdfast.db"), Keys: keyset})
	require.NoError(l.t, err)
	use(opened)
	require.NoError(l.t, opened.Close())
}

// wanted are the rows of the store.
func (l *line) wanted() (rows []store.Desired, engines []store.Engine) {
	l.t.Helper()
	l.store(func(st *store.Store) {
		var err error
		rows, err = st.ListDesired(l.t.Context(), store.Filter{})
		require.NoError(l.t, err)
		engines, err = st.Engines(l.t.Context())
		require.NoError(l.t, err)
	})
	return rows, engines
}

// want puts a connection acme/search.
func (l *line) want(directory string) store.Key {
	l.t.Helper()
	key := store.Key{Workspace: "acme", Name: "search", Directory: directory}
	on := true
	l.store(func(st *store.Store) {
		_, err := st.PutEngine(l.t.Context(), store.Engine{ID: "127.0.0.1-4096", BaseURL: "http://127.0.0.1:4096"})
		require.NoError(l.t, err)
		_, err = st.PutDesired(l.t.Context(), store.Desired{
			Key: key, EngineID: "127.0.0.1-4096", Profile: desired.ProfileGeneric,
			Config:   desired.Config{Type: "remote", URL: "http://127.0.0.1:3001/mcp", Enabled: &on, OAuth: json.RawMessage("false")},
			Metadata: desired.DefaultMetadata(),
		})
		require.NoError(l.t, err)
	})
	return key
}

// run executes one command. Output of earlier ones is forgotten.
func (l *line) run(args ...string) int {
	l.t.Helper()
	l.stdout, l.stderr = &buffer{}, &buffer{}
	app := cli.New(cli.Options{
		Build: buildinfo.Build{Version: "1.2.3", Go: "go1.26"}, Stdout: l.stdout, Stderr: l.stderr,
		Environ: slices.Concat(l.environ, []string{"HOLDFAST_DATA_DIR=" + l.dataDir}), WorkDir: l.workDir, PollEvery: time.Millisecond,
		Connect: l.connect,
	})
	return app.Run(l.t.Context(), args)
}

func (l *line) connect(_ context.Context, o temporalclient.Options, _ string) (*cli.Remote, error) {
	l.dialling.Lock()
	defer l.dialling.Unlock()
	l.dialled = append(l.dialled, o)
	if l.dialFault != nil {
		return nil, l.dialFault
	}
	return &cli.Remote{Namespace: "default", Connections: l.connections, Engines: l.engines, Fleet: l.fleet, Sessions: l.sessions, Executions: l.runs}, nil
}

// document decodes what was printed.
func document[T any](l *line) T {
	l.t.Helper()
	var out T
	require.NoError(l.t, json.Unmarshal([]byte(l.stdout.String()), &out), "stdout: %s\nstderr: %s", l.stdout, l.stderr)
	return out
}

// file writes a file into the working folder.
func (l *line) file(name, content string) string {
	l.t.Helper()
	path := filepath.Join(l.workDir, name)
	require.NoError(l.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
