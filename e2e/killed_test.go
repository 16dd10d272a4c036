package e2e_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	witnessEvery = 10 * time.Millisecond
	witnessCall  = 5 * time.Second
)

// killed is a connection whose worker is a process that gets killed.
type killed struct {
	*stack.Stack

	t      *testing.T
	key    delivery.Key
	ask    *engineapi.Client
	worker *testkit.Process
	tools  func() int // requests for tools that the endpoint got, of the engine and of probes
}

// newKilled starts the first worker, then applies what is wanted and sets a witness on the connection.
func newKilled(t *testing.T, s *stack.Stack, endpoint *simulator.Endpoint, want stack.Want) *killed {
	t.Helper()
	ask, err := engineapi.New(engineapi.Options{BaseURL: want.EngineURL, Timeout: unhurried})
	require.NoError(t, err)
	t.Cleanup(ask.Close)
	k := &killed{Stack: s, t: t, ask: ask, tools: func() int { return endpoint.Count("tools/list") }}
	k.startWorker()
	k.key = k.Apply(want)
	k.witness()
	return k
}

// startWorker starts the worker's program on the stack's data and task queue.
func (k *killed) startWorker() {
	k.t.Helper()
	cfg := k.Config
	k.worker = testkit.Start(k.t, testkit.Command{
		Path: testkit.Binary(k.t, "worker"),
		Args: []string{"--data-dir", cfg.DataDir},
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + cfg.DataDir,
			"TEMPORAL_ADDRESS=" + k.Server.Address(), "TEMPORAL_NAMESPACE=" + k.Server.Namespace(),
			"HOLDFAST_TEMPORAL_TASK_QUEUE=" + cfg.Temporal.TaskQueue,
			"HOLDFAST_INSPECT_POLL_INTERVAL=" + cfg.Inspect.PollInterval.String(),
			"HOLDFAST_INSPECT_PROBE_INTERVAL=" + cfg.Inspect.ProbeInterval.String(),
			// A call that is held back on purpose must still be held when the kill comes.
			"HOLDFAST_ENGINE_TIMEOUT=1m",
			"HOLDFAST_WORKER_HEALTH_LISTEN=127.0.0.1:0", "HOLDFAST_CODEC_LISTEN=127.0.0.1:0",
		},
	})
}

// replaceWorker starts another worker after the kill.
func (k *killed) replaceWorker() {
	k.t.Helper()
	require.False(k.t, k.worker.Running())
	k.startWorker()
}

// witness watches the connection from now to the end of the test, by the published snapshot, which needs no worker, and
// by the query: whoever reads "ready" must find the engine connected and what is desired applied and probed.
func (k *killed) witness() {
	k.t.Helper()
	want, err := desired.NewResolver(k.Store, k.Keys.MAC()).Resolve(k.t.Context(), k.key)
	require.NoError(k.t, err)
	published := func(ctx context.Context) (*connection.Snapshot, error) {
		d, err := k.Connections.Describe(ctx, k.key)
		return d.Snapshot, err
	}
	queried := func(ctx context.Context) (*connection.Snapshot, error) {
		got, err := k.Connections.Snapshot(ctx, k.key, nil)
		return &got, err
	}
	for _, read := range []func(context.Context) (*connection.Snapshot, error){published, queried} {
		done := make(chan struct{})
		k.t.Cleanup(func() { <-done })
		go func() {
			defer close(done)
			k.watch(want.Revision, read)
		}()
	}
}

func (k *killed) watch(revision string, read func(context.Context) (*connection.Snapshot, error)) {
	tick := time.NewTicker(witnessEvery)
	defer tick.Stop()
	for {
		select {
		case <-k.t.Context().Done():
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(k.t.Context(), witnessCall)
		got, err := read(ctx)
		cancel()
		if err != nil || got == nil || got.State != delivery.Ready {
			continue
		}
		if err := k.contradicts(got, revision); err != nil && k.t.Context().Err() == nil {
			k.t.Errorf("false ready: %v", err)
			return
		}
	}
}

// contradicts says what speaks against a ready.
func (k *killed) contradicts(got *connection.Snapshot, revision string) error {
	switch {
	case got.DesiredRevision == nil || *got.DesiredRevision != revision:
		return errors.New("another revision is desired")
	case got.AppliedRevision == nil || *got.AppliedRevision != revision:
		return errors.New("the desired revision is not applied")
	case got.VerifiedAt == nil || k.tools() < 2:
		return errors.New("nobody but the engine has asked for the tools")
	}
	statuses, err := k.ask.Statuses(k.t.Context(), k.key.Directory)
	if err != nil {
		return err
	}
	if status := statuses[k.key.Name].Status; status != engineapi.StatusConnected {
		return errors.New("the engine says " + status)
	}
	return nil
}

// finished waits until the next worker has delivered, and tells how.
func (k *killed) finished() {
	k.t.Helper()
	k.replaceWorker()
	got := k.AwaitState(k.key, delivery.Ready, unhurried)
	require.Equal(k.t, *got.DesiredRevision, *got.AppliedRevision)
	require.Equal(k.t, []delivery.State{delivery.Pending, delivery.Registering, delivery.Ready}, k.States(k.key),
		"the next worker goes on where the first was killed: %s", k.History(k.key))
	h, err := k.Connections.Probe(k.t.Context(), k.key, "after", connection.Request{})
	require.NoError(k.t, err)
	require.True(k.t, h.Usable, h.FirstFailure)
}

// inFlight reports whether the store knows of a push that nobody has finished.
func (k *killed) inFlight() bool {
	k.t.Helper()
	push, err := k.Store.LastPush(k.t.Context(), k.key)
	require.NoError(k.t, err)
	return push.InFlight(time.Now())
}

// eventually is testkit.Eventually for what a worker on a busy machine is to reach.
func (k *killed) eventually(claim string, cond func() bool) {
	k.t.Helper()
	testkit.Eventually(k.t, unhurried, cond, claim)
}

// status is the engine's own word for the connection.
func (k *killed) status() string {
	k.t.Helper()
	statuses, err := k.ask.Statuses(k.t.Context(), k.key.Directory)
	require.NoError(k.t, err)
	return statuses[k.key.Name].Status
}

// pushOver reports whether the push has ended in the engine, well or, where the machine was very slow, badly.
func (k *killed) pushOver() bool {
	k.t.Helper()
	status := k.status()
	return status == engineapi.StatusConnected || status == engineapi.StatusFailed
}
