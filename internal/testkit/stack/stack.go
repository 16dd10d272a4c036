package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/app"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
)

const (
	workerStart = time.Minute
	callTimeout = 90 * time.Second
)

// Options are what a test may choose.
type Options struct {
	// PollInterval is 1 s, ProbeInterval 2 s where they are not given.
	PollInterval  time.Duration
	ProbeInterval time.Duration
	// Settings are further settings by path, such as "engine.timeout".
	Settings map[string]string
	// Server is a server of the test's own; nil is the package's.
	Server *temporalclient.DevServer
	// NoWorker leaves the worker to the test.
	NoWorker bool
	// SpanExporter gets the traces.
	SpanExporter sdktrace.SpanExporter
}

// Stack is Holdfast as a test sees it.
type Stack struct {
	TB          testing.TB
	Config      config.Config
	Server      *temporalclient.DevServer
	Temporal    client.Client
	Connections *connection.Client
	Engines     *engine.Client
	Store       *store.Store
	Keys        *keys.Keys

	options Options
	logs    *logs
}

// New puts a stack together and ends it with the test. Each has its own data directory and task queue.
func New(tb testing.TB, o Options) *Stack {
	tb.Helper()
	s := &Stack{TB: tb, Server: o.Server, options: o, logs: &logs{}}
	if s.Server == nil {
		require.NotNil(tb, shared, "TestMain must call stack.Main")
		s.Server = shared
	}
	s.Config = s.settings()
	var err error
	s.Keys, err = keys.Open(s.Config.Keys.Dir)
	require.NoError(tb, err)
	s.Store, err = store.Open(tb.Context(), store.Options{Path: s.Config.Store.Path, Keys: s.Keys})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Store.Close() })
	s.Temporal, err = temporalclient.Dial(tb.Context(), s.TemporalOptions("test"))
	require.NoError(tb, err)
	tb.Cleanup(s.Temporal.Close)
	s.Connections = connection.NewClient(s.Temporal, temporalclient.DataConverter(s.Keys.AEAD()), s.Config.Temporal.TaskQueue)
	s.Engines = engine.NewClient(s.Temporal, s.Config.Temporal.TaskQueue)
	if !o.NoWorker {
		s.StartWorker()
	}
	return s
}

func (s *Stack) settings() config.Config {
	dir := s.TB.TempDir()
	settings := map[string]string{
		"data_dir": dir, "temporal.task_queue": "test-" + testkit.UniqueName(), "inspect.jitter": "0",
		"inspect.poll_interval":  orElse(s.options.PollInterval, time.Second).String(),
		"inspect.probe_interval": orElse(s.options.ProbeInterval, 2*time.Second).String(),
		"worker.stop_timeout":    "2s", "worker.health_listen": "127.0.0.1:0", "codec.listen": "127.0.0.1:0",
		"sessions.start": "30s", // machines that run tests are busy
		"log.level":      "debug",
	}
	for path, value := range s.options.Settings {
		settings[path] = value
	}
	cfg, err := config.Load(config.Options{Environ: []string{"HOME=" + dir}, Defaults: settings})
	require.NoError(s.TB, err)
	return cfg
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// TemporalOptions are those of a client that opens what the stack seals.
func (s *Stack) TemporalOptions(role string) temporalclient.Options {
	return temporalclient.Options{
		Role: role, Version: "test", Address: s.Server.Address(), Namespace: s.Server.Namespace(), AEAD: s.Keys.AEAD(),
		NoConfigFile: true,
	}
}

// StartWorker starts a worker and returns its stop, which is also done at the end of the test.
func (s *Stack) StartWorker() (stop func()) {
	s.TB.Helper()
	graph := fx.New(app.Worker(app.Options{
		Config: s.Config, Version: "test", Address: s.Server.Address(), Namespace: s.Server.Namespace(),
		LogOutput: s.logs, SpanExporter: s.options.SpanExporter,
	}))
	require.NoError(s.TB, graph.Err())
	starting, cancel := context.WithTimeout(context.Background(), workerStart)
	defer cancel()
	require.NoError(s.TB, graph.Start(starting))
	var once sync.Once
	stop = func() {
		once.Do(func() {
			stopping, cancel := context.WithTimeout(context.Background(), graph.StopTimeout())
			defer cancel()
			if err := graph.Stop(stopping); err != nil {
				s.TB.Errorf("stop worker: %v", err)
			}
		})
	}
	s.TB.Cleanup(stop)
	return stop
}

// Logs is all that the workers have logged so far.
func (s *Stack) Logs() string { return s.logs.String() }

// Want is a desired config as a test writes it.
type Want struct {
	Workspace, Name, Directory string
	EngineURL                  string
	EngineID                   string
	EnginePassword             string
	URL                        string
	Headers                    map[string]string
	Expected                   []string
	TimeoutMillis              int
	Profile                    desired.Profile
	TokenSource                *desired.TokenSource
}

// Apply stores what is wanted and tells the workflows, as `holdfast connection apply` does.
func (s *Stack) Apply(w Want) delivery.Key {
	s.TB.Helper()
	key := s.Put(w)
	ctx := s.TB.Context()
	require.NoError(s.TB, s.Connections.Ensure(ctx, key, engineID(w), connection.DesiredChanged{Trigger: "apply"}))
	require.NoError(s.TB, s.Engines.Ensure(ctx, engineID(w)))
	return key
}

func engineID(w Want) string {
	if w.EngineID != "" {
		return w.EngineID
	}
	return strings.TrimPrefix(w.EngineURL, "http://")
}

// Put only stores what is wanted.
func (s *Stack) Put(w Want) delivery.Key {
	s.TB.Helper()
	ctx := s.TB.Context()
	if w.Directory == "" {
		dir, err := filepath.EvalSymlinks(s.TB.TempDir())
		require.NoError(s.TB, err)
		w.Directory = dir
	}
	if w.Profile == "" {
		w.Profile = desired.ProfileGeneric
	}
	if w.TimeoutMillis == 0 {
		w.TimeoutMillis = 5000
	}
	key := delivery.Key{Workspace: w.Workspace, Name: w.Name, Directory: w.Directory}
	_, err := s.Store.PutEngine(ctx, store.Engine{ID: engineID(w), BaseURL: w.EngineURL, Password: w.EnginePassword})
	require.NoError(s.TB, err)
	enabled := true
	meta := desired.DefaultMetadata()
	meta.ExpectedTools = w.Expected
	_, err = s.Store.PutDesired(ctx, store.Desired{
		Key: key, EngineID: engineID(w), Profile: w.Profile, Metadata: meta, TokenSource: w.TokenSource,
		Config: desired.Config{
			Type: "remote", URL: w.URL, Enabled: &enabled, Headers: w.Headers, OAuth: json.RawMessage("false"),
			TimeoutMillis: w.TimeoutMillis,
		},
	})
	require.NoError(s.TB, err)
	return key
}

// Snapshot asks the workflow; a snapshot that cannot be had is an empty one, so that waits can go on.
func (s *Stack) Snapshot(key delivery.Key) connection.Snapshot {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.TB.Context()), callTimeout)
	defer cancel()
	snapshot, err := s.Connections.Snapshot(ctx, key, nil)
	if err != nil {
		return connection.Snapshot{}
	}
	return snapshot
}

// Await waits until the snapshot holds what is claimed.
func (s *Stack) Await(key delivery.Key, within time.Duration, claim string, holds func(connection.Snapshot) bool) connection.Snapshot {
	s.TB.Helper()
	var last connection.Snapshot
	ok := testkit.Poll(s.TB, within, func() bool {
		last = s.Snapshot(key)
		return holds(last)
	})
	if !ok {
		raw, _ := json.Marshal(last)
		s.TB.Fatalf("not within %s: %s\nlast snapshot: %s\nhistory: %s", within, claim, raw, s.History(key))
	}
	return last
}

// AwaitState waits for a state.
func (s *Stack) AwaitState(key delivery.Key, state delivery.State, within time.Duration) connection.Snapshot {
	s.TB.Helper()
	return s.Await(key, within, "state "+string(state), func(got connection.Snapshot) bool { return got.State == state })
}

// AwaitRepaired waits until the connection is ready in a later generation than before.
func (s *Stack) AwaitRepaired(key delivery.Key, before connection.Snapshot, within time.Duration) connection.Snapshot {
	s.TB.Helper()
	return s.Await(key, within, "repaired", func(got connection.Snapshot) bool {
		return got.State == delivery.Ready && got.Generation > before.Generation
	})
}

// History is the way that the connection took, in words.
func (s *Stack) History(key delivery.Key) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.TB.Context()), callTimeout)
	defer cancel()
	transitions, err := s.Connections.History(ctx, key)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, t := range transitions {
		b.WriteString(string(t.From) + "→" + string(t.To) + " (" + t.Reason + "); ")
	}
	return b.String()
}

// States is the way that the connection took, state by state.
func (s *Stack) States(key delivery.Key) []delivery.State {
	s.TB.Helper()
	transitions, err := s.Connections.History(s.TB.Context(), key)
	require.NoError(s.TB, err)
	states := make([]delivery.State, 0, len(transitions))
	for _, t := range transitions {
		states = append(states, t.To)
	}
	return states
}

// logs collects what workers write, from many goroutines.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Published is every snapshot that the connection's current run has told, oldest first: what lists, the memo and the
// Temporal UI have shown, however short a moment.
func (s *Stack) Published(key delivery.Key) []connection.Snapshot {
	s.TB.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.TB.Context()), callTimeout)
	defer cancel()
	dc := temporalclient.DataConverter(s.Keys.AEAD())
	events := s.Temporal.GetWorkflowHistory(ctx, connection.ID(key), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var published []connection.Snapshot
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(s.TB, err)
		payload := event.GetWorkflowPropertiesModifiedEventAttributes().GetUpsertedMemo().GetFields()[connection.MemoSnapshot]
		if payload == nil {
			continue
		}
		var snapshot connection.Snapshot
		require.NoError(s.TB, dc.FromPayload(payload, &snapshot))
		published = append(published, snapshot)
	}
	return published
}

// RequireDegraded requires that the connection was shown as ready and degraded, and then as failed; it returns the first.
func (s *Stack) RequireDegraded(key delivery.Key) connection.Snapshot {
	s.TB.Helper()
	published := s.Published(key)
	for i, snapshot := range published {
		if snapshot.State == delivery.Ready && snapshot.Degraded != nil {
			require.Less(s.TB, i+1, len(published), "degraded is not the last word")
			require.Equal(s.TB, delivery.Failed, published[i+1].State, "a second miss fails it")
			return snapshot
		}
	}
	s.TB.Fatalf("never shown as degraded: %s", s.History(key))
	return connection.Snapshot{}
}
