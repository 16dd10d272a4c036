package httpclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

const short = time.Second

func newClient(t *testing.T, o httpclient.Options) *httpclient.Client {
	t.Helper()
	client := httpclient.New(o)
	t.Cleanup(client.Close)
	return client
}

func TestEveryFaultHasItsKindAndKeepsItsCause(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script script
		kind   httpclient.Kind
		status int
		cause  error
		code   string
	}{
		"reset before headers": {
			script: func(c net.Conn, _ int64) bool { return reset(c) },
			kind:   httpclient.KindUnreachable, cause: syscall.ECONNRESET, code: "ECONNRESET",
		},
		"closed before headers": {
			script: func(net.Conn, int64) bool { return false },
			kind:   httpclient.KindUnreachable, cause: io.EOF, code: "ECONNRESET",
		},
		"hang before headers": {
			script: func(c net.Conn, _ int64) bool { return hang(c) },
			kind:   httpclient.KindTimeout, cause: context.DeadlineExceeded, code: "ETIMEDOUT",
		},
		"hang in the headers": {
			script: func(c net.Conn, _ int64) bool { return send(c, "HTTP/1.1 200 OK\r\nContent-") && hang(c) },
			kind:   httpclient.KindTimeout, cause: context.DeadlineExceeded, code: "ETIMEDOUT",
		},
		"hang in the body": {
			script: func(c net.Conn, _ int64) bool {
				return send(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ntr") && hang(c)
			},
			kind: httpclient.KindTimeout, status: 200, cause: context.DeadlineExceeded, code: "ETIMEDOUT",
		},
		"body cut off": {
			script: func(c net.Conn, _ int64) bool {
				send(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ntr")
				return false
			},
			kind: httpclient.KindUnreachable, status: 200, cause: io.ErrUnexpectedEOF, code: "ECONNRESET",
		},
		"announced too large": {
			script: func(c net.Conn, _ int64) bool {
				return send(c, "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n") && hang(c)
			},
			kind: httpclient.KindTooLarge, status: 200,
		},
		"unannounced too large": {
			script: func(c net.Conn, _ int64) bool {
				return send(c, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", 2000)) && hang(c)
			},
			kind: httpclient.KindTooLarge, status: 200,
		},
		"server error": {
			script: func(c net.Conn, _ int64) bool {
				return send(c, "HTTP/1.1 503 Unavailable\r\nContent-Length: 4\r\n\r\nbody")
			},
			kind: httpclient.KindStatus, status: 503,
		},
		"server error with a body that breaks off": {
			script: func(c net.Conn, _ int64) bool {
				send(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 40\r\n\r\nbody")
				return false
			},
			kind: httpclient.KindStatus, status: 502,
		},
		"redirect": {
			script: func(c net.Conn, _ int64) bool {
				return send(c, "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
			},
			kind: httpclient.KindStatus, status: 302,
		},
	}
	for name, tc := range tests {
		for _, repeatable := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := serve(t, tc.script)
				client := newClient(t, httpclient.Options{Timeout: short, MaxBody: 1000})

				began := time.Now()
				_, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: server.URL, Repeatable: repeatable})

				var fault *httpclient.Error
				require.ErrorAs(t, err, &fault)
				require.Equal(t, tc.kind, fault.Kind, "%v", err)
				require.Equal(t, tc.status, fault.Status)
				require.Less(t, time.Since(began), 10*short)
				require.NotContains(t, err.Error(), "tell-nobody")
				require.NotContains(t, err.Error(), "body")
				if tc.cause != nil {
					require.ErrorIs(t, err, tc.cause)
				}
				if tc.code != "" {
					require.Equal(t, tc.code, httpclient.Chain(err)[0].Code)
				}
			})
		}
	}
}

func TestRefusedConnectionIsToldWithItsSystemCall(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	require.NoError(t, server.listener.Close())
	client := newClient(t, httpclient.Options{})

	_, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: server.URL, Repeatable: true})

	require.Equal(t, httpclient.KindUnreachable, httpclient.KindOf(err))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	links := httpclient.Chain(err)
	require.Equal(t, "net.OpError", links[0].Name)
	require.Equal(t, "ECONNREFUSED", links[0].Code)
	require.Equal(t, "connect", links[0].Syscall)
	require.Equal(t, -int(syscall.ECONNREFUSED), links[0].Errno)
	require.Contains(t, err.Error(), "do it: server cannot be reached: dial tcp")
}

func TestCallerWhoGivesUpIsNotATimeout(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	server := serve(t, func(c net.Conn, _ int64) bool {
		close(arrived)
		return hang(c)
	})
	client := newClient(t, httpclient.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(errors.New("a reason of its own"))
	}()

	_, err := client.Do(ctx, httpclient.Request{Op: "do it", URL: server.URL})

	require.Equal(t, httpclient.KindCanceled, httpclient.KindOf(err))
	require.ErrorIs(t, err, context.Canceled)
}

func TestCallersDeadlineIsATimeout(t *testing.T) {
	t.Parallel()
	server := serve(t, func(c net.Conn, _ int64) bool { return hang(c) })
	client := newClient(t, httpclient.Options{Timeout: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 2*short)
	defer cancel()

	_, err := client.Do(ctx, httpclient.Request{Op: "do it", URL: server.URL, Repeatable: true})

	require.Equal(t, httpclient.KindTimeout, httpclient.KindOf(err))
	require.Equal(t, int64(3), server.requests.Load(), "half of the time that is left is kept for a further try")
}

func TestProtocolErrorsDoNotQuoteTheServer(t *testing.T) {
	t.Parallel()
	server := serve(t, func(c net.Conn, _ int64) bool {
		send(c, "owt_hidden is no HTTP\r\n\r\n")
		return false
	})
	client := newClient(t, httpclient.Options{})

	_, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: server.URL})

	require.Equal(t, httpclient.KindUnreachable, httpclient.KindOf(err))
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		require.NotContains(t, cause.Error(), "hidden")
		require.NotContains(t, cause.Error(), "tell-nobody")
	}
}

func TestRequestThatCannotBeBuiltSendsNothing(t *testing.T) {
	t.Parallel()
	client := newClient(t, httpclient.Options{})

	_, err := client.Do(t.Context(), httpclient.Request{Op: "do it"})
	require.Equal(t, httpclient.KindRequest, httpclient.KindOf(err))

	_, err = client.Do(t.Context(), httpclient.Request{Op: "do it", Method: "NO METHOD", URL: parse(t, "http://localhost/?a=tell-nobody")})
	require.Equal(t, httpclient.KindRequest, httpclient.KindOf(err))
	require.NotContains(t, err.Error(), "tell-nobody")
}

func TestTemporaryFaultsAreThoseThatPassByThemselves(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault httpclient.Error
		want  bool
	}{
		{httpclient.Error{Kind: httpclient.KindUnreachable}, true},
		{httpclient.Error{Kind: httpclient.KindTimeout}, true},
		{httpclient.Error{Kind: httpclient.KindStatus, Status: http.StatusInternalServerError}, true},
		{httpclient.Error{Kind: httpclient.KindStatus, Status: http.StatusTooManyRequests}, true},
		{httpclient.Error{Kind: httpclient.KindStatus, Status: http.StatusUnauthorized}, false},
		{httpclient.Error{Kind: httpclient.KindStatus, Status: http.StatusNotFound}, false},
		{httpclient.Error{Kind: httpclient.KindMalformed}, false},
		{httpclient.Error{Kind: httpclient.KindRequest}, false},
		{httpclient.Error{Kind: httpclient.KindTooLarge}, false},
		{httpclient.Error{Kind: httpclient.KindCanceled}, false},
	}
	for _, tc := range tests {
		t.Run(string(tc.fault.Kind), func(t *testing.T) {
			t.Parallel()
			require.True(t, tc.fault.Kind.Valid())
			require.Equal(t, tc.want, tc.fault.Temporary())
			require.NotEmpty(t, tc.fault.Error())
		})
	}
	require.False(t, httpclient.Kind("other").Valid())
	require.Equal(t, httpclient.Kind(""), httpclient.KindOf(io.EOF))
}
