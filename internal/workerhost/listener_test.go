package workerhost_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/workerhost"
)

func TestTheLogSaysWhereAServerIsReached(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := workerhost.NewListener("gateway", "127.0.0.1:0", http.NotFoundHandler(), slog.New(slog.NewTextHandler(&log, nil)), func(error) {})
	require.NoError(t, l.Start(t.Context()))
	require.NoError(t, l.Stop(t.Context()))
	require.Contains(t, log.String(), "level=INFO msg=serving component=gateway address="+l.Address())
}
