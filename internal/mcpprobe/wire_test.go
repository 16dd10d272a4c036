package mcpprobe_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

func TestEveryRequestCarriesTheConfiguredHeadersAndNoOthersOfOurs(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := mcpprobe.Probe(t.Context(), f.target(func(t *mcpprobe.Target) {
		t.Headers = map[string]string{
			"authorization": "Bearer " + bearer, "X-Api-Key": "key", "User-Agent": "engine/1",
			"Accept": "text/plain", "Mcp-Session-Id": "forged", "Host": "named.example",
		}
	}))
	require.Nil(t, got.Failure)
	seen := f.requests()
	require.Len(t, seen, 4)
	for _, in := range seen {
		require.Equal(t, "Bearer "+bearer, in.Header.Get("Authorization"))
		require.Equal(t, "key", in.Header.Get("X-Api-Key"))
		require.Equal(t, "engine/1", in.Header.Get("User-Agent"))
		require.NotEqual(t, "text/plain", in.Header.Get("Accept"))
		require.NotEqual(t, "forged", in.Header.Get("Mcp-Session-Id"))
		require.Equal(t, "named.example", in.Host)
	}
	require.Empty(t, seen[0].Header.Get("Mcp-Session-Id"))
	require.Equal(t, "2025-06-18", seen[2].Header.Get("Mcp-Protocol-Version"))
}

func TestSessionIsEndedOnceAndNoStreamIsOpened(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	mcpprobe.Probe(t.Context(), f.target())
	require.Equal(t, []string{methodInit, methodNotice, methodList, methodDelete}, f.methods())
	require.Equal(t, "session-of-fake-1", f.requests()[3].Header.Get("Mcp-Session-Id"))
}

func TestKeptSessionIsNotEnded(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := mcpprobe.Probe(t.Context(), f.target(func(t *mcpprobe.Target) { t.KeepSession = true }))
	require.Equal(t, "session-of-fake-1", got.Session.ID)
	require.Equal(t, []string{methodInit, methodNotice, methodList}, f.methods())
}

func TestRedirectToAnotherOriginIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, tc := range []int{301, 302, 303, 307, 308} {
		thief := newFake(t)
		f := newFake(t).on(methodInit, func(w http.ResponseWriter, r *http.Request, _ request) {
			http.Redirect(w, r, thief.URL, tc)
		})
		got := mcpprobe.Probe(t.Context(), f.target())
		requireFailure(t, got, health.CodeToolsMissing, false)
		require.Contains(t, got.Failure.Message, "redirects")
		require.Equal(t, []int{tc}, stepStatuses(got))
		require.Empty(t, thief.requests())
	}
}

func TestRedirectThatRepeatsTheRequestAtTheSameOriginIsFollowed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	inner := f.Config.Handler
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/") {
			http.Redirect(w, r, r.URL.Path+"/", http.StatusTemporaryRedirect)
			return
		}
		inner.ServeHTTP(w, r)
	})
	for name, tc := range sessions {
		got := mcpprobe.Probe(t.Context(), f.target(tc))
		require.Nil(t, got.Failure, name)
	}
}

func TestRedirectLoopEnds(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodInit, func(w http.ResponseWriter, r *http.Request, _ request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	})
	got := mcpprobe.Probe(t.Context(), f.target())
	requireFailure(t, got, health.CodeToolsMissing, false)
	require.Less(t, len(f.requests()), 10)
}

func TestSecretsAreInNoOutputEvenWhenTheEndpointEchoesThem(t *testing.T) {
	t.Parallel()
	const query = "query-SECRET-1234"
	echo := func(in request) string {
		return in.Header.Get("Authorization") + " " + in.Header.Get("X-Api-Key") + " " + query
	}
	greet := func(w http.ResponseWriter, _ *http.Request, in request) {
		w.Header().Set("Mcp-Session-Id", "session-of-fake-1")
		writeResult(w, in, fmt.Sprintf(
			`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":%q,"version":%q}}`, echo(in), echo(in)))
	}
	shout := func(code int) func(http.ResponseWriter, *http.Request, request) {
		return func(w http.ResponseWriter, _ *http.Request, in request) {
			w.Header().Set("X-Request-Id", echo(in))
			w.WriteHeader(code)
			_, _ = io.WriteString(w, echo(in))
		}
	}
	for name, tc := range map[string]func(http.ResponseWriter, *http.Request, request){
		"tool names": func(w http.ResponseWriter, _ *http.Request, in request) { writeResult(w, in, tools("", echo(in))) },
		"error": func(w http.ResponseWriter, r *http.Request, in request) {
			rpcError(-32603, "session not found "+echo(in))(w, r, in)
		},
		"401": shout(401), "403": shout(403), "404": shout(404), "500": shout(500), "200": shout(200),
		"broken http": func(w http.ResponseWriter, _ *http.Request, in request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 "+echo(in)+"\r\n\r\n")
				_ = conn.Close()
			}
		},
		"broken version": func(w http.ResponseWriter, _ *http.Request, in request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_, _ = io.WriteString(conn, in.Header.Get("X-Api-Key")+"\r\n\r\n")
				_ = conn.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, session := range sessions {
				f := newFake(t).on(methodInit, greet).on(methodList, tc)
				target := f.target(session, func(t *mcpprobe.Target) {
					t.URL += "?key=" + query
					t.Headers["X-Api-Key"] = "api-" + bearer
					t.Expected = nil
				})
				got := mcpprobe.Probe(t.Context(), target)
				shown := fmt.Sprintf("%v %+v %#v %v %+v %#v", got, got, got, target, target, target)
				if got.Failure != nil {
					shown += got.Failure.Error() + fmt.Sprintf("%#v", *got.Failure)
				}
				if got.Session != nil {
					shown += fmt.Sprintf("%v %#v %v", *got.Session, *got.Session, slog.AnyValue(*got.Session).Resolve())
					require.NotContains(t, shown, got.Session.ID)
					got.Session = nil
				}
				encoded, err := json.Marshal(got)
				require.NoError(t, err)
				shown += string(encoded)
				for _, secret := range []string{bearer, query, "session-of-earlier"} {
					require.NotContains(t, shown, secret)
				}
			}
		})
	}
}

func TestConfiguredHeaderThatIsNotHTTPIsNotSent(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := mcpprobe.Probe(t.Context(), f.target(func(t *mcpprobe.Target) {
		t.Headers["X-Bad"] = bearer + "\r\nX-Injected: 1"
	}))
	requireFailure(t, got, health.CodeToolsMissing, false)
	require.NotContains(t, got.Failure.Message, bearer)
	require.Empty(t, f.requests())
}

func TestSessionIsEndedAfterAListThatHung(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, silent)
	got := mcpprobe.Probe(t.Context(), f.target(within(500*time.Millisecond), func(t *mcpprobe.Target) { t.KeepSession = true }))
	require.True(t, got.Unreachable)
	require.Nil(t, got.Session)
	require.Equal(t, []string{methodInit, methodNotice, methodList, methodDelete}, f.methods())
}

func TestGoodbyeThatHangsDoesNotHoldTheProbe(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodDelete, silent)
	for name, tc := range sessions {
		target := f.target(within(time.Minute), tc, func(t *mcpprobe.Target) { t.KeepSession = false })
		started := time.Now()
		got := mcpprobe.Probe(t.Context(), target)
		require.Nil(t, got.Failure, name)
		require.Less(t, time.Since(started), 20*time.Second, name)
	}
}

func TestForeignTextsAreShortenedAtARune(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, result(tools("", strings.Repeat("é", 150), "line\nbreak")))
	got := mcpprobe.Probe(t.Context(), f.target(func(t *mcpprobe.Target) { t.Expected = nil }))
	require.Equal(t, []string{strings.Repeat("é", 100) + "…", "line break"}, got.Present)
}

func TestBoundCoversAllRequestsAndGoodbyes(t *testing.T) {
	t.Parallel()
	require.Equal(t, 34*time.Second, mcpprobe.Bound(0))
	require.Equal(t, 8*time.Second, mcpprobe.Bound(time.Second))
}
