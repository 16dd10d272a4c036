package diagnosis_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	activity "github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	cloud   = "openwork-cloud"
	search  = "openwork-cloud_search_capabilities"
	execute = "openwork-cloud_execute_capability"
	bearer  = "owt_the-bearer-of-these-tests"
)

func both() []string { return []string{search, execute} }

// rig is a connection of the openwork profile with a real store, an engine and an endpoint that speak the real protocols,
// and a workflow that says what the test says.
type rig struct {
	t        *testing.T
	key      delivery.Key
	store    *store.Store
	resolver *desired.Resolver
	engine   *simulator.Engine
	endpoint *simulator.Endpoint
	ledger   *ledger
	reader   *diagnosis.Reader
}

func newRig(t *testing.T, edit ...func(*diagnosis.Params)) *rig {
	t.Helper()
	r := &rig{t: t, ledger: &ledger{}}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r.key = delivery.Key{Workspace: "w", Name: cloud, Directory: dir}
	keyset, err := keys.Open(filepath.Join(t.TempDir(), "keys"))
	require.NoError(t, err)
	r.store, err = store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "holdfast.db"), Keys: keyset})
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.store.Close() })
	r.engine, err = simulator.NewEngine(simulator.EngineOptions{})
	require.NoError(t, err)
	t.Cleanup(r.engine.Close)
	r.engine.SetPluginTools("openwork_docs_search", "openwork_query")
	r.endpoint, err = simulator.NewEndpoint(simulator.EndpointOptions{
		Token: bearer, Tools: []string{domain.ToolSearchCapabilities, domain.ToolExecuteCapability},
	})
	require.NoError(t, err)
	t.Cleanup(r.endpoint.Close)
	r.putEngine(r.engine.BaseURL())
	r.put(nil)
	r.resolver = desired.NewResolver(r.store, keyset.MAC())
	params := diagnosis.Params{
		Store: r.store, Resolver: r.resolver, Connections: r.ledger, EngineTimeout: 5 * time.Second,
		EndpointTimeout: 5 * time.Second, Build: buildinfo.Build{Version: "v9"},
	}
	for _, change := range edit {
		change(&params)
	}
	r.reader = diagnosis.NewReader(params)
	t.Cleanup(r.reader.Close)
	return r
}

func (r *rig) putEngine(url string) {
	r.t.Helper()
	_, err := r.store.PutEngine(r.t.Context(), store.Engine{ID: "e", BaseURL: url})
	require.NoError(r.t, err)
}

// put stores what is wanted; edit changes it first.
func (r *rig) put(edit func(*store.Desired)) {
	r.t.Helper()
	on := true
	row := store.Desired{
		Key: r.key, EngineID: "e", Profile: domain.ProfileOpenWork, Metadata: domain.DefaultMetadata(),
		Config: domain.Config{
			Type: "remote", URL: r.endpoint.AgentURL(), Enabled: &on, OAuth: json.RawMessage("false"),
			Headers: map[string]string{"Authorization": "Bearer " + bearer},
		},
	}
	if edit != nil {
		edit(&row)
	}
	_, err := r.store.PutDesired(r.t.Context(), row)
	require.NoError(r.t, err)
}

func (r *rig) revision() string {
	r.t.Helper()
	want, err := r.resolver.Resolve(r.t.Context(), r.key)
	require.NoError(r.t, err)
	return want.Revision
}

// register delivers to the engine, as a workflow does.
func (r *rig) register() {
	r.t.Helper()
	want, err := r.resolver.Resolve(r.t.Context(), r.key)
	require.NoError(r.t, err)
	client, err := engineapi.New(engineapi.Options{BaseURL: r.engine.BaseURL()})
	require.NoError(r.t, err)
	defer client.Close()
	streams := r.endpoint.Count(simulator.GetStream)
	_, err = client.Register(r.t.Context(), r.key.Directory, r.key.Name, want.Config.EngineConfig(), time.Minute)
	require.NoError(r.t, err)
	// The engine asks for a stream beside all else; later it would be taken for a request of the read.
	testkit.Eventually(r.t, time.Minute, func() bool { return r.endpoint.Count(simulator.GetStream) > streams }, "a stream is asked for")
}

// ready is a rig whose connection is delivered, verified, and known as that by its workflow.
func ready(t *testing.T, edit ...func(*diagnosis.Params)) *rig {
	t.Helper()
	r := newRig(t, edit...)
	r.register()
	r.verified()
	return r
}

// verified makes the workflow tell that the delivery is ready.
func (r *rig) verified() {
	r.t.Helper()
	revision, at := r.revision(), time.Now()
	h := connection.Health{SchemaVersion: 1, Usable: true, Engine: connection.EngineView{Status: "connected"}}
	h.Delivery.State, h.Delivery.DesiredRevision, h.Delivery.AppliedRevision = delivery.Ready, &revision, &revision
	h.Delivery.VerifiedAt, h.Delivery.Generation = &at, 1
	h.Tools = &activity.Tools{
		Expected: []string{"search_capabilities", "execute_capability"}, Present: []string{"search_capabilities", "execute_capability"},
		Missing: []string{}, Count: 2,
	}
	r.ledger.tells(h)
}

// failed makes the workflow tell of a failure.
func (r *rig) failed(f health.Failure) {
	r.t.Helper()
	r.verified()
	h, _ := r.ledger.Health(r.t.Context(), r.key)
	h.Usable, h.FirstFailure = false, &f
	h.Delivery.State, h.Delivery.AppliedRevision, h.Delivery.Failure = delivery.Failed, nil, &f
	r.ledger.tells(h)
}

func (r *rig) read(o diagnosis.Options) diagnosis.Document {
	r.t.Helper()
	d, err := r.reader.Read(r.t.Context(), r.key, o)
	require.NoError(r.t, err)
	text, err := json.Marshal(d)
	require.NoError(r.t, err)
	require.NotContains(r.t, string(text), bearer, "no document holds the token")
	require.Equal(r.t, health.PhaseOf(d.FirstFailure), d.Phase)
	require.Equal(r.t, d.FirstFailure == nil, d.Usable)
	return d
}

// requireFailure holds the first failure against its code, stage and phase.
func requireFailure(t *testing.T, d diagnosis.Document, code health.Code, stage health.Stage, phase health.Phase) {
	t.Helper()
	require.NotNil(t, d.FirstFailure)
	require.Equal(t, code, d.FirstFailure.Code)
	require.Equal(t, stage, d.FirstFailure.Stage)
	require.Equal(t, phase, d.Phase)
	require.False(t, d.Usable)
}

// ledger stands for the workflow.
type ledger struct {
	mu       sync.Mutex
	health   *connection.Health
	memo     *connection.Description
	memoErr  error
	silent   bool
	asked    int
	woken    int
	wakeFail error
}

func (l *ledger) tells(h connection.Health) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.health = &h
}

func (l *ledger) Health(ctx context.Context, _ delivery.Key) (connection.Health, error) {
	l.mu.Lock()
	silent, told := l.silent, l.health
	l.mu.Unlock()
	if silent {
		<-ctx.Done()
		return connection.Health{}, connection.ErrNoWorker
	}
	if told == nil {
		return connection.Health{}, connection.ErrNotFound
	}
	return *told, nil
}

func (l *ledger) Describe(context.Context, delivery.Key) (connection.Description, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if l.memo == nil {
		if l.memoErr != nil {
			return connection.Description{}, l.memoErr
		}
		return connection.Description{}, connection.ErrNotFound
	}
	return *l.memo, nil
}

func (l *ledger) Wake(context.Context, delivery.Key) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.woken++
	return l.wakeFail
}

func (l *ledger) wakes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.woken
}
