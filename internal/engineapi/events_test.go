package engineapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

const (
	connected = `data: {"payload":{"id":"evt_1","type":"server.connected","properties":{}}}` + "\n\n"
	heartbeat = `data: {"payload":{"id":"evt_2","type":"server.heartbeat","properties":{}}}` + "\n\n"
	disposed  = `data: {"directory":"/srv/a","project":"global","payload":{"type":"server.instance.disposed","properties":{"directory":"/srv/a"},"id":"evt_3"}}` + "\n\n"
	allGone   = `data: {"directory":"global","payload":{"type":"global.disposed","properties":{},"id":"evt_4"}}` + "\n\n"
	noise     = `data: {"directory":"/srv/a","payload":{"type":"message.part.updated","properties":{"text":"\"server.instance.disposed\""}}}` + "\n\n" +
		`data: {"directory":"/srv/a","payload":{"type":"plugin.added","properties":{"id":"x"}}}` + "\n\n"
)

// stream answers with the parts, then waits for the client to go, or ends when hold is false.
func stream(hold bool, parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range parts {
			_, _ = io.WriteString(w, part)
		}
		if hold {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
}

func subscribe(t *testing.T, handler http.HandlerFunc) *engineapi.EventStream {
	t.Helper()
	events, err := clientFor(t, startEngine(t, handler)).Events(t.Context())
	require.NoError(t, err)
	t.Cleanup(events.Close)
	return events
}

func next(t *testing.T, events *engineapi.EventStream) (engineapi.Event, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return events.Next(ctx)
}

func TestStreamPassesOnWhatConcernsConnectionsAndNothingElse(t *testing.T) {
	t.Parallel()
	began := time.Now()
	events := subscribe(t, stream(true, connected, noise, heartbeat, disposed, noise, ": a comment\n\n", allGone))
	require.False(t, events.ConnectedAt.Before(began))

	event, err := next(t, events)
	require.NoError(t, err)
	require.Equal(t, engineapi.EventInstanceDisposed, event.Type)
	require.Equal(t, "/srv/a", event.Directory)
	require.JSONEq(t, `{"directory":"/srv/a"}`, string(event.Properties))

	event, err = next(t, events)
	require.NoError(t, err)
	require.Equal(t, engineapi.EventGlobalDisposed, event.Type)
	require.Zero(t, events.Skipped())
}

func TestEventsBeforeTheEndAreDeliveredAndTheEndIsRepeated(t *testing.T) {
	t.Parallel()
	events := subscribe(t, stream(false, connected, disposed, "data: {\"cut"))
	_, err := next(t, events)
	require.NoError(t, err)
	for range 2 {
		_, err = next(t, events)
		require.ErrorIs(t, err, engineapi.ErrStreamEnded)
		require.Equal(t, httpclient.KindUnreachable, httpclient.KindOf(err))
	}
}

func TestBrokenStreamIsUnreachable(t *testing.T) {
	t.Parallel()
	events := subscribe(t, func(w http.ResponseWriter, r *http.Request) {
		stream(false, connected)(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	_, err := next(t, events)
	require.Equal(t, httpclient.KindUnreachable, httpclient.KindOf(err))
}

func TestCallerWhoStopsWaitingDoesNotEndTheStream(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	events := subscribe(t, func(w http.ResponseWriter, r *http.Request) {
		stream(false, connected)(w, r)
		_ = http.NewResponseController(w).Flush()
		<-more
		stream(true, disposed)(w, r)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := events.Next(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	close(more)
	event, err := next(t, events)
	require.NoError(t, err)
	require.Equal(t, engineapi.EventInstanceDisposed, event.Type)
}

func TestHugeAndUnreadableEventsAreSkippedAndCounted(t *testing.T) {
	t.Parallel()
	huge := `data: {"payload":{"type":"server.huge","properties":"` + strings.Repeat("x", 3<<20) + `"}}` + "\n\n"
	lines := strings.Repeat("data: "+strings.Repeat("x", 600<<10)+"\n", 3) + "\n"
	broken := `data: {"payload":{"type":"server.broken"` + "\n\n"
	events := subscribe(t, stream(true, connected, huge, lines, broken, disposed))
	event, err := next(t, events)
	require.NoError(t, err)
	require.Equal(t, engineapi.EventInstanceDisposed, event.Type)
	require.Equal(t, int64(3), events.Skipped())
}

func TestEndlessLineEndsTheStream(t *testing.T) {
	t.Parallel()
	events := subscribe(t, func(w http.ResponseWriter, r *http.Request) {
		stream(false, connected)(w, r)
		chunk := strings.Repeat("x", 1<<20)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	})
	_, err := next(t, events)
	require.Equal(t, httpclient.KindTooLarge, httpclient.KindOf(err))
}

func TestLineEndingsAndSplitDataDoNotMatter(t *testing.T) {
	t.Parallel()
	split := "data: {\"directory\":\"/srv/a\",\r\ndata:\"payload\":{\"type\":\r\ndata: \"server.instance.disposed\"}}\r\n\r\n"
	events := subscribe(t, stream(true, "\n\n", connected, split))
	event, err := next(t, events)
	require.NoError(t, err)
	require.Equal(t, engineapi.EventInstanceDisposed, event.Type)
}

func TestSilentStreamIsGivenUp(t *testing.T) {
	t.Parallel()
	client := clientFor(t, startEngine(t, stream(true, connected)))
	events, err := engineapi.EventsWithSilence(t.Context(), client, time.Second)
	require.NoError(t, err)
	t.Cleanup(events.Close)
	_, err = next(t, events)
	require.ErrorIs(t, err, httpclient.ErrSilent)
	require.Equal(t, httpclient.KindTimeout, httpclient.KindOf(err))
}

func TestHeartbeatsKeepAStreamAlive(t *testing.T) {
	t.Parallel()
	const silence, beats = 2 * time.Second, 5
	client := clientFor(t, startEngine(t, func(w http.ResponseWriter, r *http.Request) {
		stream(false, connected)(w, r)
		ticker := time.NewTicker(silence / 4) // five beats outlast the silence
		defer ticker.Stop()
		for range beats {
			_ = http.NewResponseController(w).Flush()
			<-ticker.C
			_, _ = io.WriteString(w, heartbeat)
		}
		stream(true, disposed)(w, r)
	}))
	events, err := engineapi.EventsWithSilence(t.Context(), client, silence)
	require.NoError(t, err)
	t.Cleanup(events.Close)
	event, err := next(t, events)
	require.NoError(t, err)
	require.Equal(t, engineapi.EventInstanceDisposed, event.Type)
}

func TestOnlyAnEnginesStreamIsAccepted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		handler http.HandlerFunc
		kind    httpclient.Kind
	}{
		"html":                 {answer(http.StatusOK, "<html></html>"), httpclient.KindMalformed},
		"401":                  {answer(http.StatusUnauthorized, ""), httpclient.KindStatus},
		"ends at once":         {stream(false), httpclient.KindUnreachable},
		"never says connected": {stream(true, heartbeat, disposed), httpclient.KindTimeout},
		"booting":              {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, httpclient.KindTimeout},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startEngine(t, tc.handler)
			client := newClient(t, engineapi.Options{BaseURL: e.URL, Timeout: time.Second})
			_, err := client.Events(t.Context())
			require.Equal(t, tc.kind, httpclient.KindOf(err), "%v", err)
			require.Equal(t, "text/event-stream", e.last(t).Accept)
		})
	}
}

//nolint:paralleltest // goroutines of other tests would be taken for leaks
func TestClosedStreamLeavesNothingBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	flood := make([]string, 0, 1001)
	flood = append(flood, connected)
	for range 1000 {
		flood = append(flood, disposed)
	}
	func() {
		e := startEngine(t, stream(true, flood...))
		client := clientFor(t, e)
		events, err := client.Events(t.Context())
		require.NoError(t, err)
		events.Close() // nobody reads: the goroutine is held up by a full buffer
		events.Close()
		client.Close()
		e.Close()
	}()
	goleak.VerifyNone(t, before)
}

func TestEndedContextEndsTheStream(t *testing.T) {
	t.Parallel()
	client := clientFor(t, startEngine(t, stream(true, connected)))
	ctx, cancel := context.WithCancel(t.Context())
	events, err := client.Events(ctx)
	require.NoError(t, err)
	t.Cleanup(events.Close)
	cancel()
	_, err = next(t, events)
	require.Equal(t, httpclient.KindCanceled, httpclient.KindOf(err), fmt.Sprint(err))
}
