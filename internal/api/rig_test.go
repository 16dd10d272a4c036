package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const (
	engineID  = "engine-1"
	workspace = "w1"
	directory = "/srv/w1"
	account   = "acme"
	// secret must never be in an answer.
	secret = "canary-5ecret-value"
)

// rig is a gateway with everything behind it scripted, but for the store, which is real.
type rig struct {
	t           *testing.T
	api         *api.API
	server      *httptest.Server
	store       *store.Store
	keys        *keys.Keys
	connections *fakeConnections
	engines     *fakeEngines
	diagnosis   *fakeDiagnosis
	reload      *fakeReload
	executions  *fakeEngine
	sessions    *fakeSessions
	tokens      map[auth.Role]string
	principals  map[auth.Role]auth.Principal

	temporalDown, storeDown atomic.Bool
}

// sharedKeys are made once: it takes longer than most tests.
var sharedKeys = sync.OnceValues(func() (*keys.Keys, error) {
	dir, err := os.MkdirTemp("", "holdfast-keys-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return keys.Open(filepath.Join(dir, "keys"))
})

// change is what a test wants otherwise.
type change func(*api.Params)

func newRig(t *testing.T, changes ...change) *rig {
	t.Helper()
	keyset, err := sharedKeys()
	require.NoError(t, err)
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "holdfast.db"), Keys: keyset})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	r := &rig{
		t: t, store: s, keys: keyset, connections: newConnections(), engines: &fakeEngines{}, diagnosis: &fakeDiagnosis{},
		reload: &fakeReload{}, tokens: map[auth.Role]string{}, principals: map[auth.Role]auth.Principal{},
		executions: newEngine(), sessions: &fakeSessions{},
	}
	r.start(changes...)
	for _, role := range auth.Roles() {
		tokens := auth.NewTokens(s, nil)
		made, _, err := tokens.Create(t.Context(), auth.Request{Name: string(role), Role: role})
		require.NoError(t, err)
		r.tokens[role] = made.Reveal()
		r.principals[role], err = tokens.Authenticate(t.Context(), made.Reveal())
		require.NoError(t, err)
		tokens.Close()
	}
	r.fill()
	r.pauseFor(auth.RoleCollaborator)
	return r
}

var errDown = errors.New("down")

// start makes the gateway, as a new process would.
func (r *rig) start(changes ...change) {
	r.t.Helper()
	check := func(down *atomic.Bool) func(context.Context) error {
		return func(context.Context) error {
			if down.Load() {
				return errDown
			}
			return nil
		}
	}
	p := api.Params{
		Store: r.store, Tokens: auth.NewTokens(r.store, nil), Connections: r.connections, Engines: r.engines, Diagnosis: r.diagnosis,
		Resolver: desired.NewResolver(r.store, r.keys.MAC()), Reload: r.reload.dispose,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("up 1\n"))
		}),
		GatewayParams: api.GatewayParams{Executions: r.executions, Records: r.store, Tools: fakeTools{}, Sessions: r.sessions},
		Build:         buildinfo.Build{Version: "test"}, TemporalHealth: check(&r.temporalDown), StoreHealth: check(&r.storeDown),
		StoreWritable: api.StoreCheck(r.store.Writable),
		Settings:      api.Settings{EventPoll: 10 * time.Millisecond, KeepAlive: 50 * time.Millisecond},
	}
	for _, c := range changes {
		c(&p)
	}
	a, err := api.New(p)
	require.NoError(r.t, err)
	r.api, r.server = a, httptest.NewServer(a.Handler())
	server := r.server
	r.t.Cleanup(func() {
		a.Drain()
		server.Close()
		a.Close()
	})
}

// fill makes a workspace with a connection of its own and an account with a shared one.
func (r *rig) fill() {
	r.t.Helper()
	ctx := r.t.Context()
	_, err := r.store.PutEngine(ctx, store.Engine{ID: engineID, BaseURL: "http://127.0.0.1:4096"})
	require.NoError(r.t, err)
	r.putWorkspace(workspace, directory)
	enabled := true
	config := domain.Config{
		Type: "remote", URL: "http://127.0.0.1:3001/mcp", Enabled: &enabled, OAuth: json.RawMessage("false"),
		Headers: map[string]string{"Authorization": "Bearer " + secret},
	}
	_, err = r.store.PutDesired(ctx, store.Desired{
		Key: r.key("own"), EngineID: engineID, Profile: domain.ProfileGeneric, Config: config, Metadata: domain.DefaultMetadata(),
	})
	require.NoError(r.t, err)
	_, err = r.store.PutAccountDesired(ctx, store.AccountDesired{
		Account: account, Name: "shared", Profile: domain.ProfileGeneric, Config: config, Metadata: domain.DefaultMetadata(),
	})
	require.NoError(r.t, err)
}

// pauseFor makes a session and an execution of it that waits, both of the token of a role.
func (r *rig) pauseFor(role auth.Role) {
	r.t.Helper()
	who, at := r.identity(role), time.Now()
	require.NoError(r.t, r.store.PutSession(r.t.Context(), store.Session{
		ID: sessionID, Identity: who, Mode: approval.ModeModel, Resource: "default", Role: string(role), CreatedAt: at, LastSeenAt: at,
	}))
	r.putPause(store.Execution{
		Key: executionKey, Identity: who, Session: sessionID, Mode: approval.ModeModel, Resource: "default", Client: "agent 1.0",
		Address: toolAddress, Arguments: []byte(`{"to":"you"}`), Digest: "d1", Policy: "p1", CreatedAt: at, Status: "running",
	})
}

// putPause makes an execution that waits for its first pause to be decided on.
func (r *rig) putPause(row store.Execution) {
	r.t.Helper()
	_, fresh, err := r.store.PutExecution(r.t.Context(), row)
	require.NoError(r.t, err)
	require.True(r.t, fresh)
	pause := store.PauseRow{
		Pause: approval.Pause{
			ID: approval.PauseID(row.Key, 1), Number: 1, CreatedAt: row.CreatedAt, Deadline: row.CreatedAt.Add(4 * time.Minute),
			Request: approval.Request{Kind: approval.KindGate, Message: "Approve " + row.Address + "?", Reason: "rule 1: demo.*"},
		},
		Key: row.Key, Identity: row.Identity, Session: row.Session, Address: row.Address, Client: row.Client, Policy: row.Policy, Digest: row.Digest,
	}
	require.NoError(r.t, r.store.RecordPaused(r.t.Context(), pause, store.ExecutionEvent{
		Key: row.Key, Seq: 1, Kind: store.EventPaused, Pause: 1, At: row.CreatedAt,
	}))
	r.executions.put(pause)
}

func (r *rig) putWorkspace(id, directory string) {
	r.t.Helper()
	_, err := r.store.PutWorkspace(r.t.Context(), store.Workspace{ID: id, Directory: directory, EngineID: engineID, Account: account})
	require.NoError(r.t, err)
}

func (r *rig) key(name string) delivery.Key {
	return delivery.Key{Workspace: workspace, Name: name, Directory: directory}
}

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

func (a answer) into(v any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.body, v), string(a.body))
}

func (a answer) code() string {
	var e struct{ Code, Message string }
	_ = json.Unmarshal(a.body, &e)
	return e.Code
}

// requireError requires an error with a message that can be read.
func (a answer) requireError(status int, code string) {
	a.t.Helper()
	var e struct{ Code, Message string }
	a.into(&e)
	require.Equal(a.t, status, a.status, string(a.body))
	require.Equal(a.t, code, e.Code)
	require.NotEmpty(a.t, e.Message)
}

func (a answer) requireOK() answer {
	a.t.Helper()
	require.Equal(a.t, http.StatusOK, a.status, string(a.body))
	return a
}

// request is a request that a test makes.
type request struct {
	method, path string
	role         auth.Role
	body         string
	header       map[string]string
}

// do makes a request and holds the answer to the OpenAPI document.
func (r *rig) do(q request) answer {
	r.t.Helper()
	a := r.raw(q)
	requireDocumented(r.t, q, a)
	require.NotContains(r.t, string(a.body), secret)
	return a
}

func (r *rig) raw(q request) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), q.method, r.server.URL+q.path, strings.NewReader(q.body))
	require.NoError(r.t, err)
	if q.role != "" {
		req.Header.Set("Authorization", "Bearer "+r.tokens[q.role])
	}
	for name, value := range q.header {
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	client := http.Client{Timeout: 2 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	return answer{t: r.t, status: res.StatusCode, header: res.Header, body: body}
}

// patiently makes a request again, as a caller does, while the store of a busy machine is too slow for a hundred at once.
func (r *rig) patiently(q request) answer {
	r.t.Helper()
	var a answer
	testkit.Eventually(r.t, time.Minute, func() bool {
		a = r.raw(q)
		return a.status != http.StatusServiceUnavailable
	}, "the store is busy")
	return a
}

func (r *rig) get(path string) answer {
	r.t.Helper()
	return r.do(request{method: http.MethodGet, path: path, role: auth.RoleOwner})
}

func (r *rig) post(path, body string) answer {
	r.t.Helper()
	return r.do(request{method: http.MethodPost, path: path, role: auth.RoleOwner, body: body})
}

// document is the OpenAPI document as the gateway serves it, checked once.
var document = sync.OnceValues(func() (routers.Router, error) {
	a, err := api.New(api.Params{Tokens: auth.NewTokens(nil, nil), Build: buildinfo.Build{Version: "test"}})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/openapi.json", nil))
	loaded, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		return nil, err
	}
	return legacy.NewRouter(loaded)
})

// requireDocumented requires that the route, the status and the form of the answer are in the document.
func requireDocumented(t *testing.T, q request, a answer) {
	t.Helper()
	router, err := document()
	require.NoError(t, err)
	u, err := url.Parse(q.path)
	require.NoError(t, err)
	req := &http.Request{Method: q.method, URL: u, Header: http.Header{}}
	found, params, err := router.FindRoute(req)
	require.NoError(t, err, "%s %s is not in the document", q.method, q.path)
	require.NotNil(t, found.Operation.Responses.Status(a.status), "%s answers with %d, which is not in the document: %s",
		found.Operation.OperationID, a.status, a.body)
	input := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: found}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	require.NoError(t, err, "%s: %s", found.Operation.OperationID, a.body)
}

// revision is what is wanted of a connection now.
func (r *rig) revision(name string) string {
	r.t.Helper()
	got, err := desired.NewResolver(r.store, r.keys.MAC()).Resolve(r.t.Context(), r.key(name))
	require.NoError(r.t, err)
	return got.Revision
}
