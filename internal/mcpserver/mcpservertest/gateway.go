package mcpservertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// Gateway is a store and what its replicas share.
type Gateway struct {
	TB   testing.TB
	Host *Host
	// MCP and Auth, when set, are served and asked instead of Host and [People].
	MCP       mcpserver.Host
	Auth      mcpserver.Authenticator
	Store     *store.Store
	Workflows *Workflows
	Settings  mcpserver.Settings
	// Wrap, when set, stands before the store as an endpoint sees it.
	Wrap func(*store.Store) mcpserver.Log
	// Sessions, when set, stands before the sessions of an endpoint that is made.
	Sessions func(mcpserver.Sessions) mcpserver.Sessions
	// Paused is what the question for leases is answered with.
	Paused func(ctx context.Context, id string) (int, error)
	Logs   *Logs

	count atomic.Int64
	gates sync.Map // of endpoints
}

// New makes a gateway without replicas, on a store of its own. Calls slower than 250 ms are streams.
func New(tb testing.TB) *Gateway {
	tb.Helper()
	dir := tb.TempDir()
	made, err := keys.Open(filepath.Join(dir, "keys"))
	require.NoError(tb, err)
	opened, err := store.Open(tb.Context(), store.Options{Path: filepath.Join(dir, "store.db"), Keys: made})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, opened.Close()) })
	return &Gateway{
		TB: tb, Host: NewHost(), Store: opened, Workflows: &Workflows{}, Logs: &Logs{},
		Paused: func(context.Context, string) (int, error) { return 0, nil },
	}
}

// Replica is one endpoint with its socket.
type Replica struct {
	*mcpserver.Endpoint

	URL    string // of /mcp
	Server *httptest.Server
	kill   sync.Once
}

// Start starts a replica. It is closed at the end of the test.
func (g *Gateway) Start() *Replica {
	g.TB.Helper()
	e := g.Endpoint()
	server := httptest.NewServer(e.Handler())
	r := &Replica{Endpoint: e, URL: server.URL + "/mcp", Server: server}
	g.TB.Cleanup(r.Kill)
	return r
}

// Endpoint makes an endpoint without a socket.
func (g *Gateway) Endpoint() *mcpserver.Endpoint {
	g.TB.Helper()
	log := slog.New(slog.NewJSONHandler(g.Logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var kept mcpserver.Log = g.Store
	if g.Wrap != nil {
		kept = g.Wrap(g.Store)
	}
	gate := &gate{Log: kept}
	var sessions mcpserver.Sessions = mcpserver.NewDurableSessions(
		g.Store, g.Workflows, mcpserver.Spans{Start: time.Minute, Unused: time.Hour, Absolute: 24 * time.Hour}, log)
	if g.Sessions != nil {
		sessions = g.Sessions(sessions)
	}
	var served mcpserver.Host = g.Host
	if g.MCP != nil {
		served = g.MCP
	}
	var asked mcpserver.Authenticator = People{}
	if g.Auth != nil {
		asked = g.Auth
	}
	e, err := mcpserver.New(mcpserver.Params{
		Host: served, Authenticator: asked,
		Challenge: func(_ *http.Request, err error) string {
			return auth.Challenge(err, "http://gateway/.well-known/oauth-protected-resource/mcp", nil)
		},
		Sessions: sessions,
		Store:    gate, Leases: g.Paused, Settings: g.Settings, Log: log, ReplicaID: fmt.Sprintf("replica-%d", g.count.Add(1)),
	})
	require.NoError(g.TB, err)
	g.gates.Store(e, gate)
	return e
}

// gate stands between an endpoint and the store, so that a replica can be as good as dead.
type gate struct {
	mcpserver.Log

	frozen atomic.Bool
}

var errFrozen = errors.New("the process is frozen")

func (g *gate) RenewStreams(ctx context.Context, owner string, until time.Time) error {
	if g.frozen.Load() {
		return errFrozen
	}
	return g.Log.RenewStreams(ctx, owner, until)
}

func (g *gate) ReleaseStreams(ctx context.Context, owner, session string) error {
	if g.frozen.Load() {
		return errFrozen
	}
	return g.Log.ReleaseStreams(ctx, owner, session)
}

func (g *gate) Answered(ctx context.Context, session, stream, request string, event store.Event) (int64, error) {
	if g.frozen.Load() {
		return 0, errFrozen
	}
	return g.Log.Answered(ctx, session, stream, request, event)
}

// Freeze cuts all connections of a replica, and lets it do nothing any more that others could see: it is as good as killed.
func (g *Gateway) Freeze(r *Replica) {
	g.TB.Helper()
	found, ok := g.gates.Load(r.Endpoint)
	require.True(g.TB, ok)
	stands, ok := found.(*gate)
	require.True(g.TB, ok)
	stands.frozen.Store(true)
	r.Server.CloseClientConnections()
}

// Kill cuts all connections and ends the replica.
func (r *Replica) Kill() {
	r.kill.Do(func() {
		r.Server.CloseClientConnections()
		r.Endpoint.Close()
		r.Server.CloseClientConnections()
		r.Server.Close()
	})
}

// People lets in whoever sends "Authorization: Bearer NAME"; a name of the form NAME@ORGANISATION says more. "bad" is no valid token,
// "denied" is somebody who may not come in, and "down" cannot be told.
type People struct{}

// Authenticate tells who sends a request.
func (People) Authenticate(_ context.Context, r *http.Request) (auth.Principal, error) {
	_, name, _ := strings.Cut(r.Header.Get("Authorization"), "Bearer ")
	switch name {
	case "":
		return auth.Principal{}, &auth.UnauthorizedError{}
	case "bad":
		return auth.Principal{}, &auth.UnauthorizedError{Problem: "the token is not valid"}
	case "denied":
		return auth.Principal{}, &auth.ForbiddenError{Code: "no_organisation", Message: "You are in no organisation."}
	case "down":
		return auth.Principal{}, &auth.UnavailableError{What: "identity provider", RetryAfter: 2 * time.Second}
	}
	account, organisation, found := strings.Cut(name, "@")
	if !found {
		organisation = auth.DefaultOrganisation
	}
	return auth.Principal{
		ID: "token:" + account, Name: account, Role: auth.RoleCollaborator,
		Identity: approval.Identity{Account: account, Organisation: organisation},
	}, nil
}

// Workflows stand for those of sessions.
type Workflows struct {
	mu      sync.Mutex
	Err     error
	touched []string
}

// Fail makes every signal fail; nil makes them work again.
func (w *Workflows) Fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Err = err
}

// Touched are the signals, as "why id" of those that came.
func (w *Workflows) Touched(why string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, each := range w.touched {
		if each == why {
			count++
		}
	}
	return count
}

// Touch notes a signal.
func (w *Workflows) Touch(_ context.Context, _ session.Input, touch session.Touch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched = append(w.touched, touch.Why)
	return w.Err
}

// Terminate notes nothing.
func (w *Workflows) Terminate(context.Context, string, session.Terminate) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Err
}

// Logs is what was logged.
type Logs struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write takes a line.
func (l *Logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(p)
}

// Count counts the lines with a text.
func (l *Logs) Count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buffer.String(), text)
}
