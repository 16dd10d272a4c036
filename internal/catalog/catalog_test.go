package catalog_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

func start(tb testing.TB, options upstream.Options) *upstream.Server {
	tb.Helper()
	server, err := upstream.Start(options)
	require.NoError(tb, err)
	tb.Cleanup(server.Close)
	return server
}

// open makes a catalog of one source, called up, and waits until it was listed.
func open(tb testing.TB, server *upstream.Server) *catalog.Sources {
	tb.Helper()
	sources := openFile(tb, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q}}}`, server.URL()), nil)
	require.NoError(tb, sources.Refresh(tb.Context(), ""))
	return sources
}

func openFile(tb testing.TB, text string, change func(*catalog.Params)) *catalog.Sources {
	tb.Helper()
	params := catalog.Params{File: write(tb, text), Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&params)
	}
	sources, err := catalog.New(params)
	require.NoError(tb, err)
	tb.Cleanup(sources.Close)
	return sources
}

func write(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "sources.json")
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func args(tb testing.TB, values map[string]any) json.RawMessage {
	tb.Helper()
	raw, err := json.Marshal(values)
	require.NoError(tb, err)
	return raw
}
