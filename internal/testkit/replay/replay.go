package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// dir holds, beside a workflow's package, a folder of fixtures for each release.
const dir = "testdata/replay"

// suffix is that of a fixture: a history in Temporal's JSON, compressed.
const suffix = ".json.gz"

// All holds a workflow against every fixture of the package under test. Each release must have been recorded with the scenarios; one of
// several runs is numbered. It fails when this code would not continue the workflows of a released version.
func All(t *testing.T, fn any, name string, scenarios ...string) {
	t.Helper()
	for release, paths := range Fixtures(t) {
		told := make([]string, 0, len(paths))
		for _, path := range paths {
			told = append(told, Name(path))
			t.Run(release+"/"+Name(path), func(t *testing.T) {
				t.Parallel()
				require.NoError(t, Replay(fn, name, Read(t, path)))
			})
		}
		require.Subset(t, told, scenarios, release)
	}
}

// Fixtures are the paths of all fixtures of the package under test, by release. It fails where there are none.
func Fixtures(tb testing.TB) map[string][]string {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*"+suffix))
	require.NoError(tb, err)
	require.NotEmpty(tb, paths, "no fixtures: record them with `make record RELEASE=…`")
	releases := map[string][]string{}
	for _, path := range paths {
		release := filepath.Base(filepath.Dir(path))
		releases[release] = append(releases[release], path)
	}
	return releases
}

// Name is the scenario that a fixture tells.
func Name(path string) string { return filepath.Base(path[:len(path)-len(suffix)]) }

// Path is where a fixture of a package belongs.
func Path(pkg, release, name string) string { return filepath.Join(pkg, dir, release, name+suffix) }

// Read reads a fixture.
func Read(tb testing.TB, path string) *historypb.History {
	tb.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(tb, err)
	unzipped, err := gzip.NewReader(bytes.NewReader(raw))
	require.NoError(tb, err)
	history, err := client.HistoryFromJSON(unzipped, client.HistoryJSONOptions{})
	require.NoError(tb, err)
	return history
}

// Write writes a fixture, without the names of those who took part: they name this machine.
func Write(tb testing.TB, path string, history *historypb.History) {
	tb.Helper()
	raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(history)
	require.NoError(tb, err)
	var fields any
	require.NoError(tb, json.Unmarshal(raw, &fields))
	anonymise(fields)
	raw, err = json.Marshal(fields)
	require.NoError(tb, err)
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	_, err = writer.Write(raw)
	require.NoError(tb, err)
	require.NoError(tb, writer.Close())
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(tb, os.WriteFile(path, zipped.Bytes(), 0o600))
}

func anonymise(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			if _, ok := below.(string); ok && name == "identity" {
				v[name] = "recorder"
				continue
			}
			anonymise(below)
		}
	case []any:
		for _, below := range v {
			anonymise(below)
		}
	}
}

// Replay runs a workflow, registered as workers register it, against a history.
func Replay(fn any, name string, history *historypb.History) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableRegistrationAliasing: true})
	if err != nil {
		return err
	}
	replayer.RegisterWorkflowWithOptions(fn, workflow.RegisterOptions{Name: name})
	return replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), history)
}
