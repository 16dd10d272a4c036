package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// writerVariable turns the test binary into a process that writes to a store: <folder>|<name of the process>.
const writerVariable = "STORE_TEST_WRITER"

const writesEach = 25

func TestMain(m *testing.M) {
	dir, process, found := strings.Cut(os.Getenv(writerVariable), "|")
	if !found {
		// Each step is a transaction: as many as show what they do to one another. The command line can ask for more.
		_ = flag.Set("rapid.steps", "12")
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	err := writeMany(ctx, dir, process)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// writeMany writes keys of its own and one that all processes write, and prints how many pushes of the shared key it began.
func writeMany(ctx context.Context, dir, process string) error {
	opened, err := openIn(ctx, dir)
	if err != nil {
		return err
	}
	defer opened.Close()
	if _, err := opened.PutEngine(ctx, store.Engine{ID: "e", BaseURL: "http://127.0.0.1:4096", Password: "same"}); err != nil {
		return err
	}
	start := time.Now()
	begun, last := 0, int64(0)
	for i := range writesEach {
		own, shared := key(fmt.Sprintf("%s-%d", process, i)), key("shared")
		for _, each := range []store.Key{own, shared} {
			want := wanted(each)
			want.Config.TimeoutMillis = i + 1
			if _, err := opened.PutDesired(ctx, want); err != nil {
				return err
			}
			if err := opened.PutProbe(ctx, each, store.ProbeState{LastProbeAt: start, Misses: i, Canary: []byte(process)}); err != nil {
				return err
			}
		}
		put, err := opened.PutIntent(ctx, store.Intent{Workspace: process, Name: strconv.Itoa(i % 2), Kind: store.IntentEnabled})
		if err != nil {
			return err
		}
		if put.Revision <= last {
			return fmt.Errorf("revision %d after %d", put.Revision, last)
		}
		last = put.Revision
		err = opened.BeginPush(ctx, shared, store.Push{Generation: int64(i), StartedAt: start, Deadline: start.Add(time.Hour)})
		var inFlight *store.PushInFlightError
		switch {
		case err == nil:
			begun++
		case !errors.As(err, &inFlight):
			return err
		}
	}
	_, err = fmt.Println(begun)
	return err
}

func openIn(ctx context.Context, dir string) (*store.Store, error) {
	owned, err := keys.Open(filepath.Join(dir, "keys"))
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Options{Path: dbPath(dir), Keys: owned})
}

// again opens the store of dir once more, as another process would.
func again(tb testing.TB, dir string) *store.Store {
	tb.Helper()
	opened, err := openIn(tb.Context(), dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, opened.Close()) })
	return opened
}

func dbPath(dir string) string { return filepath.Join(dir, "holdfast.db") }

// open gives a store of its own, with the engine "e" in it.
func open(tb testing.TB) (*store.Store, string) {
	tb.Helper()
	dir := tb.TempDir()
	opened, err := openIn(tb.Context(), dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, opened.Close()) })
	_, err = opened.PutEngine(tb.Context(), store.Engine{ID: "e", BaseURL: "http://127.0.0.1:4096", Username: "opencode", Password: "pass-s3cr3t", UpdatedAt: monday})
	require.NoError(tb, err)
	return opened, dir
}

var monday = time.Date(2026, 3, 2, 10, 0, 0, 123456000, time.UTC)

func key(name string) store.Key {
	return store.Key{Workspace: "w", Name: name, Directory: "/d"}
}

func wanted(at store.Key) store.Desired {
	enabled := true
	return store.Desired{
		Key: at, EngineID: "e", Profile: desired.ProfileGeneric,
		Config: desired.Config{
			Type: "remote", URL: "https://mcp.example/mcp?k=url-s3cr3t", Enabled: &enabled,
			Headers: map[string]string{"Authorization": "Bearer header-s3cr3t"}, OAuth: []byte("false"), TimeoutMillis: 900,
		},
		Metadata: desired.Metadata{
			Token: map[string]any{"organizationId": "org-s3cr3t"}, Org: map[string]any{"id": "o"}, ConnectCatalogEnabled: true,
			ExpectedTools: []string{"echo"},
		},
		UpdatedAt: monday,
	}
}
