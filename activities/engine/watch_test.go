package engine_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

// watching is a watch under way.
type watching struct {
	stop chan struct{}
	done chan error
	got  engine.WatchResult
	// reads is how often the engine will have been read when the watch has swept.
	reads int
}

func (r *rig) watch(t *testing.T) *watching {
	t.Helper()
	keys, err := r.Store.KeysByEngine(t.Context(), peers.EngineID)
	require.NoError(t, err)
	w := &watching{stop: make(chan struct{}), done: make(chan error, 1), reads: r.statusReads() + len(keys)}
	env := peers.NewEnvironment(r.activities)
	env.SetWorkerStopChannel(w.stop)
	go func() {
		value, err := env.ExecuteActivity(engine.WatchName, engine.WatchRequest{EngineID: peers.EngineID})
		if err == nil {
			err = value.Get(&w.got)
		}
		w.done <- err
	}()
	return w
}

// end stops the worker and requires that the watch hands over.
func (w *watching) end(t *testing.T) {
	t.Helper()
	close(w.stop)
	select {
	case err := <-w.done:
		reason, _ := peers.RequireNotDue(t, err)
		require.Equal(t, "handing over: this worker stops", reason)
	case <-time.After(soon):
		t.Fatal("the watch goes on although the worker stops")
	}
}

// swept waits until a watch has read every directory after its stream opened, and hears events from then on.
func (w *watching) swept(t *testing.T, r *rig) {
	t.Helper()
	testkit.Eventually(t, soon, func() bool { return r.Engine.Streams() == 1 && r.statusReads() >= w.reads },
		"the watch has swept")
}

func (r *rig) told(t *testing.T, key store.Key) signalled {
	t.Helper()
	testkit.Eventually(t, soon, func() bool { return len(r.signals.to(key)) > 0 }, "the connection is told")
	return r.signals.to(key)[0]
}

// statusReads is how often the engine's directories have been read so far.
func (r *rig) statusReads() int { return r.Engine.Calls(simulator.RouteStatus, "") }

func TestADisposeIsHeardAndOnlyItsDirectoryIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	here := r.key
	r.key = r.Key()
	r.revision = r.Want(r.key)
	r.deliver(t)
	w := r.watch(t)
	w.swept(t, r)
	r.Engine.Dispose(here.Directory)
	got := r.told(t, here)
	require.EqualValues(t, 1, got.generation)
	require.Equal(t, "the engine disposed of the instance", got.reason)
	require.Empty(t, r.signals.to(r.key))
	w.end(t)
}

func TestADisposeOfEverythingIsHeardByAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	w := r.watch(t)
	w.swept(t, r)
	r.Engine.DisposeAll()
	r.told(t, r.key)
	w.end(t)
}

func TestWhatHappensWhileTheStreamIsBlindIsRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{Engine: simulator.EngineOptions{BlindWindow: 90 * time.Millisecond}})
	r.deliver(t)
	w := r.watch(t)
	testkit.Eventually(t, soon, func() bool { return r.Engine.Streams() == 1 }, "the stream is open")
	r.Engine.Dispose(r.key.Directory)
	r.told(t, r.key)
	w.end(t)
}

func TestARestartThatNobodyAnnouncedIsNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	w := r.watch(t)
	w.swept(t, r)
	r.Engine.Kill()
	require.NoError(t, r.Engine.Restart())
	require.Equal(t, "the engine was restarted or its events were missed", r.told(t, r.key).reason)
	w.end(t)
}

func TestWhatIsAsExpectedIsNotToldAnything(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	w := r.watch(t)
	w.swept(t, r)
	r.Engine.EmitNoise(r.key.Directory, 200)
	w.end(t)
	require.Empty(t, r.signals.to(r.key))
}

// A5: a connection that failed must not be registered anew because a stream breaks off.
func TestAStreamThatBreaksOffAgainAndAgainIsNoReasonToRegister(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Endpoint.Inject(simulator.AnyRequest, simulator.Always, simulator.AnswerStatus(http.StatusUnauthorized))
	got, err := r.register(t)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterRejected, got.Outcome)
	r.Engine.Inject(simulator.RouteGlobalEvents, simulator.Always, simulator.Fault{
		Status: http.StatusOK, ContentType: "text/event-stream",
		Body: "data: {\"payload\":{\"type\":\"server.connected\",\"properties\":{}}}\n\n",
	})
	before := r.statusReads()
	w := r.watch(t)
	testkit.Eventually(t, soon, func() bool { return r.statusReads() >= before+3 }, "three streams broke off and were swept after")
	w.end(t)
	require.Empty(t, r.signals.to(r.key))
}

func TestWhatWasNeverDeliveredCannotBeLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	w := r.watch(t)
	w.swept(t, r)
	w.end(t)
	require.Empty(t, r.signals.to(r.key))
}

func TestWhileAPushIsUnderWayNobodyIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	now := r.Clock.Now()
	require.NoError(t, r.Store.BeginPush(t.Context(), r.key, store.Push{
		Generation: 1, Revision: r.revision, StartedAt: now, Deadline: now.Add(20 * time.Second),
	}))
	w := r.watch(t)
	w.swept(t, r)
	before := r.statusReads()
	r.Engine.DisposeAll()
	testkit.Eventually(t, soon, func() bool { return r.statusReads() > before }, "the dispose was heard and read")
	w.end(t)
	require.Empty(t, r.signals.to(r.key))
}

func TestADirectoryThatDoesNotAnswerKeepsNoOtherFromBeingRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	keys := []store.Key{r.key}
	for range 4 {
		keys = append(keys, r.Key())
	}
	for _, key := range keys {
		r.key, r.revision = key, r.Want(key)
		r.deliver(t)
	}
	r.Engine.DisposeAll()
	r.Engine.Inject(simulator.RouteStatus, 1, simulator.AnswerHTML(http.StatusOK))
	w := r.watch(t)
	count := func() (told int) {
		for _, key := range keys {
			told += len(r.signals.to(key))
		}
		return told
	}
	testkit.Eventually(t, soon, func() bool { return count() == len(keys)-1 }, "all others are told")
	require.Equal(t, 1, r.Engine.Streams(), "and the stream is still read")
	w.end(t)
}

func TestAWatchWithoutConnectionsEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	_, err := r.Store.DeleteDesired(t.Context(), r.key)
	require.NoError(t, err)
	w := r.watch(t)
	require.NoError(t, <-w.done)
	require.Equal(t, "no_connections", w.got.Reason)
}

func TestAWatchEndsWithItsEnginesLastConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	w := r.watch(t)
	w.swept(t, r)
	_, err := r.Store.DeleteDesired(t.Context(), r.key)
	require.NoError(t, err)
	r.Engine.Kill()
	require.NoError(t, <-w.done)
	require.Equal(t, "no_connections", w.got.Reason)
}

func TestAWatchOfADeadEngineEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Engine.Kill()
	r.watch(t).end(t)
}

func TestAWatchOfAnEngineThatHangsEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Engine.Inject(simulator.RouteGlobalEvents, simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
	w := r.watch(t)
	testkit.Eventually(t, soon, func() bool { return r.Engine.Calls(simulator.RouteGlobalEvents, "") > 0 }, "the stream is asked for")
	w.end(t)
}
