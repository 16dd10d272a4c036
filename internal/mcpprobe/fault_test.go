package mcpprobe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

func TestCase35UnreachableEndpointIsUncheckedAndTellsTheCause(t *testing.T) {
	t.Parallel()
	refused := newFake(t)
	refused.Close()
	plain := newFake(t)
	selfSigned := unstarted(t)
	selfSigned.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	selfSigned.StartTLS()
	reset := newFake(t).on(methodInit, func(w http.ResponseWriter, _ *http.Request, _ request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	})
	for _, tc := range []struct {
		name, url, code string
	}{
		{"refused", refused.URL, "ECONNREFUSED"},
		{"unknown host", "http://no-such-host.invalid/mcp", ""},
		{"self-signed", selfSigned.URL, "SELF_SIGNED_CERT"},
		{"tls to a plain server", strings.Replace(plain.URL, "http:", "https:", 1), ""},
		{"reset", reset.URL, "ECONNRESET"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := mcpprobe.Probe(t.Context(), mcpprobe.Target{URL: tc.url, Expected: []string{search}})
			requireFailure(t, got, health.CodeProbeUnreachable, true)
			require.True(t, got.Unreachable)
			require.Empty(t, got.Present)
			require.Empty(t, got.Missing)
			require.Nil(t, got.Session)
			details, err := json.Marshal(got.Failure.Details)
			require.NoError(t, err)
			require.Contains(t, string(details), tc.code)
			require.Contains(t, got.Failure.Details, "causes")
			require.Equal(t, []string{mcpprobe.StepInitialize}, stepNames(got))
			require.NotEmpty(t, got.Trace.Steps[0].Error)
		})
	}
}

func TestEndpointThatHangsIsUnreachableWithinItsDeadline(t *testing.T) {
	t.Parallel()
	endless := events(func(_ request, n int) (string, bool) {
		<-time.After(time.Millisecond)
		return fmt.Sprintf("id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n", n), true
	})
	for _, tc := range []struct {
		name, method string
		answer       func(http.ResponseWriter, *http.Request, request)
		canary       bool
	}{
		{"silent at initialize", methodInit, silent, false},
		{"silent at the notice", methodNotice, silent, false},
		{"silent at the list", methodList, silent, false},
		{"hung in the body of initialize", methodInit, hang, false},
		{"hung in the body of the list", methodList, hang, false},
		{"endless stream", methodList, endless, false},
		{"endless stream at initialize", methodInit, endless, false},
		{"silent to the canary", methodList, silent, true},
		{"hung in the body to the canary", methodList, hang, true},
		{"endless stream to the canary", methodList, endless, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t).on(tc.method, tc.answer)
			target := f.target(within(300 * time.Millisecond))
			if tc.canary {
				canary(&target)
			}
			started := time.Now()
			got := mcpprobe.Probe(t.Context(), target)
			require.Less(t, time.Since(started), mcpprobe.Bound(target.RequestTimeout))
			requireFailure(t, got, health.CodeProbeUnreachable, true)
			require.True(t, got.Unreachable)
			require.Contains(t, got.Failure.Details["error"], "300ms")
			require.Contains(t, got.Trace.Steps[len(got.Trace.Steps)-1].Error, "300ms")
		})
	}
}

func TestSlowEndpointWithinItsDeadlineIsHealthy(t *testing.T) {
	t.Parallel()
	slow := func(w http.ResponseWriter, r *http.Request, in request) {
		select {
		case <-time.After(150 * time.Millisecond):
		case <-r.Context().Done():
		}
		writeResult(w, in, tools("", search, execute))
	}
	f := newFake(t).on(methodList, slow)
	got := mcpprobe.Probe(t.Context(), f.target())
	require.Nil(t, got.Failure)
	require.GreaterOrEqual(t, got.Trace.Steps[2].LatencyMillis, int64(150))
}

func TestStreamThatStaysOpenAfterTheAnswerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	open := events(func(in request, n int) (string, bool) {
		if n > 0 {
			return ": still here\n\n", true
		}
		return "data: {\"jsonrpc\":\"2.0\",\"id\":" + string(in.ID) + ",\"result\":" + tools("", search, execute) + "}\n\n", true
	})
	for _, tc := range []func(*mcpprobe.Target){canary, func(*mcpprobe.Target) {}} {
		f := newFake(t).on(methodList, open)
		started := time.Now()
		got := mcpprobe.Probe(t.Context(), f.target(tc))
		require.Nil(t, got.Failure)
		require.Less(t, time.Since(started), 5*time.Second)
	}
}

func TestHugeAnswersAreCutOff(t *testing.T) {
	t.Parallel()
	chunk := strings.Repeat("x", 1<<20)
	hugeJSON := func(w http.ResponseWriter, _ *http.Request, _ request) {
		w.Header().Set("Content-Type", "application/json")
		for range 64 {
			if _, err := w.Write([]byte(chunk)); err != nil {
				return
			}
		}
	}
	hugeEvent := events(func(_ request, n int) (string, bool) {
		if n == 0 {
			return "data: ", true
		}
		return chunk, n < 64
	})
	for _, tc := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request, request)
	}{{"json", hugeJSON}, {"event", hugeEvent}} {
		for _, session := range []func(*mcpprobe.Target){canary, func(*mcpprobe.Target) {}} {
			f := newFake(t).on(methodList, tc.answer)
			got := mcpprobe.Probe(t.Context(), f.target(session))
			requireFailure(t, got, health.CodeToolsMissing, false)
			require.Contains(t, got.Failure.Message, "size limit", tc.name)
		}
	}
}

func TestCallerWhoGivesUpIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := newFake(t).on(methodInit, func(_ http.ResponseWriter, r *http.Request, _ request) {
		cancel()
		<-r.Context().Done()
	})
	started := time.Now()
	got := mcpprobe.Probe(ctx, f.target(within(time.Minute)))
	require.Less(t, time.Since(started), 10*time.Second)
	require.True(t, got.Unreachable)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
}

func TestServerThatAsksWithoutEndIsCutOff(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, events(func(_ request, n int) (string, bool) {
		return fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":\"s%d\",\"method\":\"ping\"}\n\n", n), true
	}))
	got := mcpprobe.Probe(t.Context(), f.target(within(time.Second)))
	require.NotNil(t, got.Failure)
	require.Less(t, len(f.requests()), 200)
}
