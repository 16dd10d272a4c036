package simulator_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const patience = 20 * time.Second

var client = &http.Client{}

func get(t *testing.T, engine *simulator.Engine, path, directory string) string {
	t.Helper()
	return call(t, http.MethodGet, engine.BaseURL()+path+"?directory="+url.QueryEscape(directory), "")
}

func register(t *testing.T, engine *simulator.Engine, directory, config string) string {
	t.Helper()
	return call(t, http.MethodPost, engine.BaseURL()+"/mcp?directory="+url.QueryEscape(directory),
		`{"name":"cloud","config":`+config+`}`)
}

func remote(endpoint *simulator.Endpoint, more string) string {
	return `{"type":"remote","oauth":false,"url":"` + endpoint.URL() + `"` + more + `}`
}

func call(t *testing.T, method, target, body string) string {
	t.Helper()
	text, err := try(t.Context(), method, target, body)
	require.NoError(t, err)
	return text
}

func try(ctx context.Context, method, target, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// subscribe returns the lines of an event stream; the channel ends with the stream.
func subscribe(t *testing.T, target string) <-chan string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	require.NoError(t, err)
	response, err := client.Do(request) //nolint:bodyclose // the reader below does
	require.NoError(t, err)
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer func() { _ = response.Body.Close() }()
		scanner := bufio.NewScanner(response.Body)
		for scanner.Scan() {
			if scanner.Text() != "" {
				lines <- scanner.Text()
			}
		}
	}()
	require.Contains(t, <-lines, "server.connected")
	return lines
}

func next(t *testing.T, lines <-chan string) string {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case line := <-lines:
		return line
	case <-timer.C:
		require.Fail(t, "no event came")
		return ""
	}
}

func TestEventsAreLostWhileAStreamIsBlind(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, simulator.EngineOptions{
		BlindWindow: time.Hour, Heartbeat: 20 * time.Millisecond, BootNoise: -1,
	})
	lines := subscribe(t, engine.BaseURL()+"/global/event")
	testkit.Eventually(t, patience, func() bool { return engine.Streams() == 1 }, "the stream is open")
	engine.Dispose("/srv/a")
	require.Contains(t, next(t, lines), "server.heartbeat")
}

func TestADisposeDoesNotEndABlindStream(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, simulator.EngineOptions{BlindWindow: time.Hour, Heartbeat: 20 * time.Millisecond})
	lines := subscribe(t, engine.BaseURL()+"/event?directory=/srv/a")
	engine.Dispose("/srv/a")
	require.Contains(t, next(t, lines), "server.heartbeat")
	require.Equal(t, 1, engine.Streams())
}

func TestBlockedEventsAreWithheldAndHeartbeatsAreNot(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, simulator.EngineOptions{
		BlindWindow: -1, Heartbeat: 20 * time.Millisecond, BootNoise: -1,
	})
	lines := subscribe(t, engine.BaseURL()+"/global/event")
	testkit.Eventually(t, patience, func() bool { return engine.Streams() == 1 }, "the stream is open")
	engine.BlockEvents(true)
	engine.Dispose("/srv/a")
	require.Contains(t, next(t, lines), "server.heartbeat")
	engine.BlockEvents(false)
	engine.Dispose("/srv/b")
	for line := next(t, lines); !strings.Contains(line, "/srv/b"); line = next(t, lines) {
		require.NotContains(t, line, "/srv/a")
	}
}

func TestABootingEngineNeverAnswers(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, simulator.EngineOptions{HungBoot: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := try(ctx, http.MethodGet, engine.BaseURL()+"/global/health", "")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	engine.SetHungBoot(0)
	require.NoError(t, engine.Restart())
	require.JSONEq(t, `{"healthy":true,"version":"1.18.33"}`, get(t, engine, "/global/health", ""))
}

func TestKillFreesRequestsThatHang(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, simulator.EngineOptions{})
	engine.Inject(simulator.RouteStatus, 1, simulator.Fault{Hang: simulator.HangHeaders})
	failed := make(chan error, 1)
	go func() {
		_, err := try(t.Context(), http.MethodGet, engine.BaseURL()+"/mcp", "")
		failed <- err
	}()
	testkit.Eventually(t, patience, func() bool { return engine.AllCalls("") == 1 }, "the request hangs")
	engine.Kill()
	engine.Kill()
	require.Error(t, <-failed)
}

func TestFaultsHitTheNextRequestsOfTheirRouteOnly(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, simulator.EngineOptions{})
	engine.Inject(simulator.RouteStatus, 2, simulator.AnswerStatus(http.StatusBadGateway))
	require.JSONEq(t, `{}`, get(t, engine, "/session/status", "/srv/a"))
	for _, want := range []int{http.StatusBadGateway, http.StatusBadGateway, http.StatusOK} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, engine.BaseURL()+"/mcp", nil)
		require.NoError(t, err)
		response, err := client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode)
	}
}

func TestCallsAndRegistrationsAreRecordedPerDirectory(t *testing.T) {
	t.Parallel()
	engine, endpoint := newEngine(t, simulator.EngineOptions{}), newEndpoint(t, simulator.EndpointOptions{})
	register(t, engine, "/srv/a", remote(endpoint, `,"headers":{"Authorization":"Bearer x"}`))
	get(t, engine, "/mcp", "/srv/a/")
	get(t, engine, "/mcp", "/srv/b")
	require.Equal(t, 1, engine.Calls(simulator.RouteStatus, "/srv/a"))
	require.Equal(t, 2, engine.Calls(simulator.RouteStatus, ""))
	require.Equal(t, 2, engine.AllCalls("/srv/a"))
	require.Equal(t, 3, engine.AllCalls(""))
	require.Empty(t, engine.Registrations("/srv/b"))
	require.Len(t, engine.Registrations(""), 1)
	registration := engine.Registrations("/srv/a")[0]
	require.Equal(t, "cloud", registration.Name)
	require.Equal(t, map[string]any{"Authorization": "Bearer x"}, registration.Config["headers"])
	require.Equal(t, "Bearer x", endpoint.LastHeader().Get("Authorization"))
}

func TestADisposeAbortsABusySession(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, simulator.EngineOptions{BlindWindow: -1, BootNoise: -1})
	engine.SetBusy("/srv/a", true)
	require.Contains(t, get(t, engine, "/session/status", "/srv/a"), `{"type":"busy"}`)
	require.JSONEq(t, `{}`, get(t, engine, "/session/status", "/srv/b"))
	lines := subscribe(t, engine.BaseURL()+"/global/event")
	testkit.Eventually(t, patience, func() bool { return engine.Streams() == 1 }, "the stream is open")
	engine.Dispose("/srv/a")
	require.Contains(t, next(t, lines), "MessageAbortedError")
	require.Contains(t, next(t, lines), "server.instance.disposed")
	require.JSONEq(t, `{}`, get(t, engine, "/session/status", "/srv/a"))
}
