package contract

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// seen is an event of either stream; Directory is empty on /event.
type seen struct {
	Directory string
	Type      string
	Data      string
}

// listener reads one event stream; its channel is closed at the stream's end.
type listener struct{ events <-chan seen }

// listen subscribes and returns when server.connected has come. The stream is still blind then.
func (s *site) listen(t *testing.T, path string) listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	response, err := request(ctx, http.MethodGet, s.url(path, s.directory), nil) //nolint:bodyclose // the reader below does
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, response.Header.Get("Content-Type"), "text/event-stream")
	events := make(chan seen, 10_000)
	go func() {
		defer close(events)
		defer func() { _ = response.Body.Close() }()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- parse(data)
			}
		}
	}()
	l := listener{events}
	require.Equal(t, "server.connected", l.next(t).Type)
	return l
}

func parse(data string) seen {
	var wrapped struct {
		Directory string
		Type      string
		Payload   struct{ Type string }
	}
	_ = json.Unmarshal([]byte(data), &wrapped) // what is not an event is one without a type
	return seen{Directory: wrapped.Directory, Type: wrapped.Type + wrapped.Payload.Type, Data: data}
}

func (l listener) next(t *testing.T) seen {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case event, ok := <-l.events:
		require.True(t, ok, "the stream ended")
		return event
	case <-timer.C:
		require.Fail(t, "no event came in time")
		return seen{}
	}
}

// until reads on to an event of a type and a directory and returns the types before it.
func (l listener) until(t *testing.T, kind, directory string) []string {
	t.Helper()
	var before []string
	for {
		event := l.next(t)
		if event.Type == kind && event.Directory == directory {
			return before
		}
		if event.Directory == directory {
			before = append(before, event.Type)
		}
	}
}

// ends drains the stream and reports whether it has ended.
func (l listener) ends() bool {
	for {
		select {
		case _, open := <-l.events:
			if !open {
				return true
			}
		default:
			return false
		}
	}
}

// sighted makes sure that the streams have got over their blind start: it disposes a directory of its own until the
// global stream tells of it. A stream that was opened earlier sees by then as well.
func (s *site) sighted(t *testing.T, l listener) {
	t.Helper()
	marker := &site{engine: s.engine, directory: s.directory + "-marker"}
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		marker.post(t, "/instance/dispose")
		if testkit.Poll(t, 200*time.Millisecond, func() bool { return l.has("server.instance.disposed", marker.directory) }) {
			return
		}
	}
	require.Fail(t, "the stream stayed blind")
}

// has reads what has come and reports whether such an event was among it.
func (l listener) has(kind, directory string) bool {
	for {
		select {
		case event, open := <-l.events:
			if !open {
				return false
			}
			if event.Type == kind && event.Directory == directory {
				return true
			}
		default:
			return false
		}
	}
}

// eventCases is what the event streams tell.
func eventCases() map[string]func(*testing.T, *site) {
	return map[string]func(*testing.T, *site){
		"a dispose is told with its directory":      checkDisposedEvent,
		"a config patch is told as a dispose":       checkPatchEvent,
		"no event tells of an MCP status":           checkNoStatusEvent,
		"a changed tool list is told by the server": checkToolsChanged,
		"a dispose ends the directory's own stream": checkOwnStreamEnds,
		"a dispose leaves the streams of others on": checkOtherStreamGoesOn,
		"an instance without servers is told as well": func(t *testing.T, s *site) {
			global := s.listen(t, "/global/event")
			s.sighted(t, global)
			s.post(t, "/instance/dispose")
			global.until(t, "server.instance.disposed", s.directory)
		},
	}
}

func checkDisposedEvent(t *testing.T, s *site) {
	withResources(t, s, 0)
	global := s.listen(t, "/global/event")
	s.sighted(t, global)
	s.post(t, "/instance/dispose")
	global.until(t, "server.instance.disposed", s.directory)
	s.post(t, "/instance/dispose")
	global.until(t, "server.instance.disposed", s.directory)
}

func checkPatchEvent(t *testing.T, s *site) {
	withResources(t, s, 0)
	global := s.listen(t, "/global/event")
	s.sighted(t, global)
	ask(t, http.MethodPatch, s.url("/config", s.directory), map[string]any{})
	global.until(t, "server.instance.disposed", s.directory)
}

func checkNoStatusEvent(t *testing.T, s *site) {
	global := s.listen(t, "/global/event")
	s.sighted(t, global)
	up := withResources(t, s, 0)
	s.post(t, "/mcp/cloud/disconnect")
	s.post(t, "/mcp/cloud/connect")
	up.Stop()
	s.register(t, "cloud", remote(up.URL(), 5000))
	s.post(t, "/instance/dispose")
	for _, kind := range global.until(t, "server.instance.disposed", s.directory) {
		require.NotContains(t, kind, "mcp")
	}
}

func checkToolsChanged(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{SSE: true})
	s.register(t, "cloud", remote(up.URL(), 5000))
	testkit.Eventually(t, patience, func() bool { return up.Streams() == 1 }, "a stream is held")
	global := s.listen(t, "/global/event")
	s.sighted(t, global)
	require.Equal(t, 1, up.NotifyToolsChanged())
	global.until(t, "mcp.tools.changed", s.directory)
	require.GreaterOrEqual(t, up.Count("tools/list"), 2, "the tools are listed again")
}

func checkOwnStreamEnds(t *testing.T, s *site) {
	own := s.listen(t, "/event")
	s.sighted(t, s.listen(t, "/global/event"))
	s.post(t, "/instance/dispose")
	own.until(t, "server.instance.disposed", "")
	testkit.Eventually(t, patience, own.ends, "the stream ends behind the event")
}

func checkOtherStreamGoesOn(t *testing.T, s *site) {
	other := &site{engine: s.engine, directory: s.directory + "-other"}
	own := s.listen(t, "/event")
	global := s.listen(t, "/global/event")
	s.sighted(t, global)
	other.post(t, "/instance/dispose")
	global.until(t, "server.instance.disposed", other.directory)
	require.False(t, own.ends())
}
