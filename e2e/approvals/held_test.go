package approvals_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// hastyProxy keeps an answer's headers back until there is a first byte of its body, and drops connections on which nothing comes for a
// while: as proxies of hosts do.
func hastyProxy(t *testing.T, target string, idle time.Duration) string {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		patience := time.AfterFunc(idle, cancel)
		defer patience.Stop()
		sent, err := http.NewRequestWithContext(ctx, r.Method, target+r.URL.RequestURI(), r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		sent.Header, sent.ContentLength = r.Header.Clone(), r.ContentLength
		response, err := transport.RoundTrip(sent)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = response.Body.Close() }()
		headers := sync.OnceFunc(func() {
			for name, values := range response.Header {
				w.Header()[name] = values
			}
			w.WriteHeader(response.StatusCode)
		})
		part := make([]byte, 64<<10)
		for {
			n, err := response.Body.Read(part)
			if n > 0 {
				patience.Reset(idle)
				headers()
				_, _ = w.Write(part[:n]) // its client may have gone
				_ = http.NewResponseController(w).Flush()
			}
			if err == io.EOF {
				headers()
				return
			}
			if err != nil {
				panic(http.ErrAbortHandler)
			}
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// beforeKeepAlive is less than the time after which the gateway says that a stream lives: what comes within it came at once.
const beforeKeepAlive = 14 * time.Second

// firstBytes holds A14: what is held sends headers and something more at once, so that no proxy keeps it back or drops it.
func firstBytes(t *testing.T, u *user) {
	name := testkit.UniqueName()
	w := u.wire(u.gateway.URL, "browser")
	asked := w.call(gatehost.ToolExecute, executing("mail.put", putting(name)), nil)
	behind := w.at(hastyProxy(t, u.gateway.URL, beforeKeepAlive))

	listener := behind.listen(t.Context(), "")
	defer listener.close()
	require.Equal(t, "no", listener.response.Header.Get("X-Accel-Buffering"))
	require.Equal(t, "keepalive", listener.event().comment)

	held := behind.begin(t.Context(), gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID}, nil)
	defer held.close()
	require.True(t, held.streams())
	require.Equal(t, "no", held.response.Header.Get("X-Accel-Buffering"))
	require.NotEmpty(t, held.event().id)
	require.Equal(t, http.StatusOK, u.decide(asked.ExecutionID, approval.ActionAccept).status)
	require.Equal(t, "wrote "+name, held.result().Text)
	require.Equal(t, 1, u.runs(name))
}
