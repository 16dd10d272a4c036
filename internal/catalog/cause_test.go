package catalog_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
)

func TestTheLogSaysWhyASourceIsDownAndHoldsNoSecret(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	socket, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, socket.Close())
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "s3cr3t", http.StatusBadGateway) }))
	t.Cleanup(broken.Close)
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	plain := filepath.Join(t.TempDir(), "plain-file")
	require.NoError(t, os.WriteFile(plain, []byte("x"), 0o600))
	for _, tc := range []struct {
		name   string
		source map[string]any
		cause  string
	}{
		{"a missing program", map[string]any{"command": "holdfast-nowhere", "args": []string{"s3cr3t"}}, `program "holdfast-nowhere" not found`},
		{"a missing file", map[string]any{"command": filepath.Join(t.TempDir(), "gone"), "env": map[string]string{"A": "s3cr3t"}}, `program "gone" not found`},
		{"no program", map[string]any{"command": plain}, `program "plain-file" may not be run`},
		{"a missing folder", map[string]any{"command": "true", "cwd": filepath.Join(t.TempDir(), "gone")}, `the folder of program "true" cannot be entered`},
		{"a program that ends", map[string]any{"command": "true", "args": []string{"s3cr3t"}}, `program "true" ended`},
		{"nobody listens", map[string]any{"url": "http://" + socket.Addr().String() + "/mcp?key=s3cr3t"}, "connection refused"},
		{"an answer that is none", map[string]any{"url": broken.URL + "/mcp?key=s3cr3t"}, "it answered 502"},
		{"an untrusted certificate", map[string]any{"url": untrusted.URL + "/mcp?key=s3cr3t"}, "its certificate is not trusted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"up": tc.source}})
			require.NoError(t, err)
			log := &logText{}
			sources := openFile(t, string(file), func(p *catalog.Params) { p.Log = log.logger() })
			require.Error(t, sources.Refresh(t.Context(), ""))
			require.Contains(t, log.String(), "cause="+strconv.Quote(tc.cause))
			require.NotContains(t, log.String(), "s3cr3t")
		})
	}
}
