package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const eventsPath = "/api/v1/connections/w1/own/events"

// events opens a viewer's stream of one connection.
func (r *rig) events(last string) (lines <-chan string, end func()) {
	r.t.Helper()
	return r.follow(auth.RoleViewer, eventsPath, last)
}

// next is the next line that begins so.
func next(t *testing.T, lines <-chan string, prefix string) string {
	t.Helper()
	for line := range lines {
		if strings.HasPrefix(line, prefix) {
			return strings.TrimPrefix(line, prefix)
		}
	}
	t.Fatalf("the stream ended before a line with %q", prefix)
	return ""
}

func TestChangesOfStateAreSentAsTheyHappen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := r.key("own")
	r.connections.move(key, delivery.Registering)
	r.connections.move(key, delivery.Ready)
	lines, end := r.events("")
	require.Equal(t, "2", next(t, lines, "id: "), "the last one tells how it stands")
	require.Equal(t, "transition", next(t, lines, "event: "))
	require.Contains(t, next(t, lines, "data: "), `"to":"ready"`)
	next(t, lines, ": alive")
	r.connections.move(key, delivery.Stale)
	require.Equal(t, "3", next(t, lines, "id: "))
	r.connections.fail(connection.ErrNoWorker)
	next(t, lines, ": alive")
	r.connections.fail(nil)
	r.connections.move(key, delivery.Registering)
	require.Equal(t, "4", next(t, lines, "id: "), "an outage is waited out")
	end()

	lines, _ = r.events("1")
	for _, id := range []string{"2", "3", "4"} {
		require.Equal(t, id, next(t, lines, "id: "), "who comes back misses nothing")
	}
	r.connections.mu.Lock()
	r.connections.moves[connection.ID(key)] = nil
	r.connections.mu.Unlock()
	r.connections.move(key, delivery.Ready)
	require.Equal(t, "1", next(t, lines, "id: "), "another life is counted from 1")
	r.api.Drain()
	for range lines { // the stream ends with the gateway
	}
}

func TestAStreamThatCannotBeginSaysWhy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ask := func(q request) answer {
		q.method = http.MethodGet
		return r.do(q)
	}
	ask(request{path: eventsPath}).requireError(http.StatusUnauthorized, "unauthorized")
	ask(request{path: eventsPath, role: auth.RoleViewer, header: map[string]string{"Last-Event-ID": "x"}}).requireError(http.StatusBadRequest, "invalid_payload")
	ask(request{path: "/api/v1/connections/w1/none/events", role: auth.RoleViewer}).requireError(http.StatusNotFound, "connection_not_found")
	r.connections.fail(connection.ErrNoWorker)
	ask(request{path: eventsPath, role: auth.RoleViewer}).requireError(http.StatusServiceUnavailable, "no_worker")
	r.temporalDown.Store(true)
	testkit.Eventually(t, 5*time.Second, func() bool {
		return ask(request{path: eventsPath, role: auth.RoleViewer}).code() == "temporal_unavailable"
	}, "Temporal is seen to be gone")
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	owner := r.tokens[auth.RoleOwner]
	open := func() func() {
		_, end := r.events("")
		return end
	}
	var ends []func()
	refused := func(reason string) {
		t.Helper()
		testkit.Eventually(t, time.Minute, func() bool { // a busy machine's store may not say who asks
			got := r.do(request{method: http.MethodGet, path: eventsPath, role: auth.RoleViewer})
			require.Equal(t, http.StatusServiceUnavailable, got.status)
			return got.code() == "busy" && strings.Contains(string(got.body), reason)
		}, "one more is refused")
	}
	for range 16 {
		for range 16 {
			ends = append(ends, open())
		}
		refused("You have 16 streams")
		made, _, err := auth.NewTokens(r.store, nil).Create(t.Context(), auth.Request{Name: "next", Role: auth.RoleViewer})
		require.NoError(t, err)
		r.tokens[auth.RoleViewer] = made.Reveal()
	}
	refused("another gateway")
	r.tokens[auth.RoleViewer] = owner
	for _, end := range ends {
		end()
	}
	testkit.Eventually(t, time.Minute, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL+eventsPath, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+owner)
		res, err := (&http.Client{}).Do(req)
		require.NoError(t, err)
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	}, "places are given back")
}

func TestAHeadHoldsNoStream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 40 {
		got := r.raw(request{method: http.MethodHead, path: eventsPath, role: auth.RoleViewer})
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, "text/event-stream; charset=utf-8", got.header.Get("Content-Type"))
	}
}

func TestAStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(p *api.Params) { p.Settings.AskAgain = 20 * time.Millisecond })
	lines, _ := r.events("")
	next(t, lines, ": alive")
	tokens := auth.NewTokens(r.store, nil)
	require.NoError(t, tokens.Revoke(t.Context(), strings.Split(r.tokens[auth.RoleViewer], "_")[1]))
	for range lines { // until it ends
	}
	r.raw(request{method: http.MethodGet, path: eventsPath, role: auth.RoleViewer}).requireError(http.StatusUnauthorized, "unauthorized")
}

func TestAnEventThatIsYetToComeBringsNothingBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.move(r.key("own"), delivery.Registering)
	r.connections.move(r.key("own"), delivery.Ready)
	lines, _ := r.events("99")
	next(t, lines, ": alive")
	r.connections.move(r.key("own"), delivery.Stale)
	require.Equal(t, "3", next(t, lines, "id: "), "only what is new")
}
