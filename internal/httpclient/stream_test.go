package httpclient_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

func TestStreamDeliversUntilItsEnd(t *testing.T) {
	t.Parallel()
	server := serve(t, func(c net.Conn, _ int64) bool {
		send(c, streamHead+"hello")
		return false
	})
	stream, err := newClient(t, httpclient.Options{}).Open(t.Context(), httpclient.Request{Op: "watch", URL: server.URL}, time.Minute)
	require.NoError(t, err)
	t.Cleanup(stream.Close)

	all, err := io.ReadAll(stream)

	require.NoError(t, err)
	require.Equal(t, "hello", string(all))
	require.Equal(t, "text/event-stream", stream.Header.Get("Content-Type"))
}

func TestStreamFaultsHaveTheirKinds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script script
		kind   httpclient.Kind
		cause  error
	}{
		"silence": {
			func(c net.Conn, _ int64) bool { return send(c, streamHead) && hang(c) },
			httpclient.KindTimeout, httpclient.ErrSilent,
		},
		"reset": {
			func(c net.Conn, _ int64) bool { send(c, streamHead); return reset(c) },
			httpclient.KindUnreachable, nil,
		},
		"no headers": {
			func(c net.Conn, _ int64) bool { return hang(c) },
			httpclient.KindTimeout, nil,
		},
		"closed before headers": {
			func(net.Conn, int64) bool { return false },
			httpclient.KindUnreachable, io.EOF,
		},
		"refused by status": {
			func(c net.Conn, _ int64) bool { return send(c, "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n") },
			httpclient.KindStatus, nil,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, tc.script)
			client := newClient(t, httpclient.Options{Timeout: short})
			stream, err := client.Open(t.Context(), httpclient.Request{Op: "watch", URL: server.URL}, short)
			if err == nil {
				t.Cleanup(stream.Close)
				_, err = io.ReadAll(stream)
			}
			require.Equal(t, tc.kind, httpclient.KindOf(err), "%v", err)
			if tc.cause != nil {
				require.ErrorIs(t, err, tc.cause)
			}
		})
	}
}

func TestSlowReaderIsNotASilentServer(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	server := serve(t, func(c net.Conn, _ int64) bool {
		send(c, streamHead+"a")
		<-more
		send(c, "b")
		return false
	})
	stream, err := newClient(t, httpclient.Options{}).Open(t.Context(), httpclient.Request{Op: "watch", URL: server.URL}, short)
	require.NoError(t, err)
	t.Cleanup(stream.Close)
	one := make([]byte, 1)
	_, err = io.ReadFull(stream, one)
	require.NoError(t, err)

	<-time.After(2 * short) // the reader is busy elsewhere for longer than silence may last
	close(more)
	_, err = io.ReadFull(stream, one)
	require.NoError(t, err)
	require.Equal(t, "b", string(one))
}

func TestStreamEndsWithItsContextAndWithClose(t *testing.T) {
	t.Parallel()
	ends := map[string]func(cancel context.CancelFunc, s *httpclient.Stream){
		"context": func(cancel context.CancelFunc, _ *httpclient.Stream) { cancel() },
		"close":   func(_ context.CancelFunc, s *httpclient.Stream) { s.Close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(c net.Conn, _ int64) bool { return send(c, streamHead) && hang(c) })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := newClient(t, httpclient.Options{}).Open(ctx, httpclient.Request{Op: "watch", URL: server.URL}, time.Minute)
			require.NoError(t, err)
			t.Cleanup(stream.Close)
			failed := make(chan error, 1)
			go func() {
				_, err := io.ReadAll(stream)
				failed <- err
			}()
			end(cancel, stream)
			require.Equal(t, httpclient.KindCanceled, httpclient.KindOf(<-failed))
		})
	}
}
