package peers

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

// EngineID is the id under which the simulated engine is in the store.
const EngineID = "engine-1"

// Peers are the other sides of an activity.
type Peers struct {
	TB       testing.TB
	Engine   *simulator.Engine
	Endpoint *simulator.Endpoint
	Store    *store.Store
	Keys     *keys.Keys
	Resolver *desired.Resolver
	Clock    *Clock

	path string
}

// Options are the first scripts of the two servers.
type Options struct {
	Engine   simulator.EngineOptions
	Endpoint simulator.EndpointOptions
}

// New starts both servers and opens a store that knows the engine; all of it ends with the test.
func New(tb testing.TB, o Options) *Peers {
	tb.Helper()
	p := &Peers{TB: tb, Clock: NewClock(), path: filepath.Join(tb.TempDir(), "holdfast.db")}
	var err error
	p.Engine, err = simulator.NewEngine(o.Engine)
	require.NoError(tb, err)
	tb.Cleanup(p.Engine.Close)
	p.Endpoint, err = simulator.NewEndpoint(o.Endpoint)
	require.NoError(tb, err)
	tb.Cleanup(p.Endpoint.Close)
	keyset, err := keys.Open(filepath.Join(tb.TempDir(), "keys"))
	require.NoError(tb, err)
	p.Store, err = store.Open(tb.Context(), store.Options{Path: p.path, Keys: keyset})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = p.Store.Close() })
	p.Keys = keyset
	p.Resolver = desired.NewResolver(p.Store, keyset.MAC()).WithClock(p.Clock.Now)
	p.PutEngine(store.Engine{ID: EngineID, BaseURL: p.Engine.BaseURL(), Password: o.Engine.Password})
	return p
}

// PutEngine stores an engine.
func (p *Peers) PutEngine(e store.Engine) {
	p.TB.Helper()
	_, err := p.Store.PutEngine(p.TB.Context(), e)
	require.NoError(p.TB, err)
}

// Key is the connection "cloud" of a workspace of its own, in a directory of its own.
func (p *Peers) Key() store.Key {
	p.TB.Helper()
	dir, err := filepath.EvalSymlinks(p.TB.TempDir())
	require.NoError(p.TB, err)
	return store.Key{Workspace: "w1", Name: "cloud", Directory: dir}
}

// Want wants the endpoint for a connection, after the edits, and returns the revision.
func (p *Peers) Want(key store.Key, edits ...func(*store.Desired)) string {
	p.TB.Helper()
	enabled := true
	row := store.Desired{
		Key: key, EngineID: EngineID, Profile: domain.ProfileGeneric, Metadata: domain.DefaultMetadata(),
		Config: domain.Config{
			Type: "remote", URL: p.Endpoint.URL(), Enabled: &enabled, OAuth: json.RawMessage("false"), TimeoutMillis: 2000,
		},
	}
	for _, edit := range edits {
		edit(&row)
	}
	_, err := p.Store.PutDesired(p.TB.Context(), row)
	require.NoError(p.TB, err)
	got, err := p.Resolver.Resolve(p.TB.Context(), key)
	require.NoError(p.TB, err)
	return got.Revision
}

// PutToken makes a token the current one of what is wanted of a connection, as a mint does. What the token says of itself
// is taken; its digest is that of the stored source.
func (p *Peers) PutToken(key store.Key, token store.Token) {
	p.TB.Helper()
	ctx := p.TB.Context()
	want, err := p.Resolver.Resolve(ctx, key)
	require.NoError(p.TB, err)
	token.Credential = want.TokenKey
	token.SourceDigest, err = tokensource.Digest(p.Keys.MAC(), *want.TokenSource)
	require.NoError(p.TB, err)
	lease, err := p.Store.AcquireTokenLease(ctx, want.TokenKey, rand.Text(), p.Clock.Now(), time.Minute)
	require.NoError(p.TB, err)
	require.NoError(p.TB, p.Store.PutToken(ctx, lease, token))
	require.NoError(p.TB, p.Store.ReleaseTokenLease(ctx, lease))
}

// DropToken distrusts the current token of what is wanted of a connection.
func (p *Peers) DropToken(key store.Key) {
	p.TB.Helper()
	want, err := p.Resolver.Resolve(p.TB.Context(), key)
	require.NoError(p.TB, err)
	dropped, err := p.Store.DropToken(p.TB.Context(), want.TokenKey, 0)
	require.NoError(p.TB, err)
	require.True(p.TB, dropped, "there was no token")
}

// FromVariable is an edit that has the token come from a variable.
func FromVariable(name string) func(*store.Desired) {
	return func(d *store.Desired) {
		d.TokenSource = &domain.TokenSource{Kind: domain.SourceEnv, Variable: name}
	}
}

// Header is an edit that sends a header.
func Header(name, value string) func(*store.Desired) {
	return func(d *store.Desired) { d.Config.Headers = map[string]string{name: value} }
}

// Expecting is an edit that expects tools.
func Expecting(tools ...string) func(*store.Desired) {
	return func(d *store.Desired) { d.Metadata.ExpectedTools = tools }
}

// Damage runs a statement on the database file, beside the store.
func (p *Peers) Damage(statement string) {
	p.TB.Helper()
	db, err := sql.Open("sqlite", "file:"+p.path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	require.NoError(p.TB, err)
	defer func() { require.NoError(p.TB, db.Close()) }()
	_, err = db.ExecContext(p.TB.Context(), statement)
	require.NoError(p.TB, err)
}

// Probe reads what the probes of a connection remember.
func (p *Peers) Probe(key store.Key) store.ProbeState {
	p.TB.Helper()
	state, err := p.Store.Probe(context.WithoutCancel(p.TB.Context()), key)
	require.NoError(p.TB, err)
	return state
}
