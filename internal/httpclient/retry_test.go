package httpclient_test

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

func TestRepeatableRequestIsSentAgainOnANewConnection(t *testing.T) {
	t.Parallel()
	faults := map[string]script{
		"reset":            func(c net.Conn, _ int64) bool { return reset(c) },
		"closed":           func(net.Conn, int64) bool { return false },
		"never answered":   func(c net.Conn, _ int64) bool { return hang(c) },
		"reset in a body":  func(c net.Conn, _ int64) bool { send(c, okAnswer[:len(okAnswer)-2]); return reset(c) },
		"silent in a body": func(c net.Conn, _ int64) bool { send(c, okAnswer[:len(okAnswer)-2]); return hang(c) },
	}
	for name, first := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(c net.Conn, n int64) bool {
				if n == 1 {
					return first(c, n)
				}
				return send(c, okAnswer)
			})
			client := newClient(t, httpclient.Options{Timeout: 4 * time.Second})

			resp, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: server.URL, Repeatable: true})

			require.NoError(t, err)
			require.Equal(t, "true", string(resp.Body))
			require.Equal(t, int64(2), server.requests.Load())
			require.Equal(t, int64(2), server.connections.Load())
		})
	}
}

func TestBootingServerIsTriedAThirdTime(t *testing.T) {
	t.Parallel()
	server := serve(t, func(c net.Conn, n int64) bool {
		if n < 3 {
			return hang(c)
		}
		return send(c, okAnswer)
	})
	client := newClient(t, httpclient.Options{})

	resp, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: server.URL, Repeatable: true})

	require.NoError(t, err)
	require.Equal(t, "true", string(resp.Body))
	require.Equal(t, int64(3), server.connections.Load())
}

func TestConnectionThatBreaksIsMadeGoodOnce(t *testing.T) {
	t.Parallel()
	server := serve(t, func(net.Conn, int64) bool { return false })
	client := newClient(t, httpclient.Options{})

	_, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: server.URL, Repeatable: true})

	require.Error(t, err)
	require.Equal(t, int64(2), server.requests.Load())
}

func TestAnswersAreFinal(t *testing.T) {
	t.Parallel()
	server := serve(t, func(c net.Conn, _ int64) bool {
		return send(c, "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")
	})
	client := newClient(t, httpclient.Options{})

	resp, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: server.URL, Repeatable: true})

	require.Equal(t, httpclient.KindStatus, httpclient.KindOf(err))
	require.Equal(t, http.StatusInternalServerError, resp.Status)
	require.Equal(t, int64(1), server.requests.Load())
}

func TestRequestWithEffectsIsSentOnce(t *testing.T) {
	t.Parallel()
	server := serve(t, func(c net.Conn, _ int64) bool { return reset(c) })
	client := newClient(t, httpclient.Options{})

	_, err := client.Do(t.Context(), httpclient.Request{
		Op: "do it", Method: http.MethodPost, URL: server.URL, Body: []byte(`{}`),
	})

	require.Error(t, err)
	require.Equal(t, int64(1), server.requests.Load())
}

func TestOnlyRepeatableRequestsUseKeptConnections(t *testing.T) {
	t.Parallel()
	server := serve(t, func(c net.Conn, _ int64) bool { return send(c, okAnswer) })
	client := newClient(t, httpclient.Options{})
	call := func(repeatable bool) {
		_, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: server.URL, Repeatable: repeatable})
		require.NoError(t, err)
	}

	call(true)
	call(true)
	require.Equal(t, int64(1), server.connections.Load())
	call(false)
	call(false)
	require.Equal(t, int64(3), server.connections.Load())
}

func TestKeptConnectionToARestartedServerIsNoticed(t *testing.T) {
	t.Parallel()
	server := serve(t, func(c net.Conn, n int64) bool {
		// The second request comes over the first one's connection, to a server that has just gone.
		return n != 2 && send(c, okAnswer) || n == 2 && reset(c)
	})
	client := newClient(t, httpclient.Options{})
	for range 2 {
		_, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: server.URL, Repeatable: true})
		require.NoError(t, err)
	}
	require.Equal(t, int64(3), server.requests.Load())
	require.Equal(t, int64(2), server.connections.Load())
}

func TestRequestTimeoutReplacesTheClients(t *testing.T) {
	t.Parallel()
	server := serve(t, func(c net.Conn, _ int64) bool { return hang(c) })
	client := newClient(t, httpclient.Options{Timeout: time.Hour})

	_, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: server.URL, Timeout: short})

	require.Equal(t, httpclient.KindTimeout, httpclient.KindOf(err))
}
