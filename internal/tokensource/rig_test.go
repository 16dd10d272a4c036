package tokensource_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

const (
	credential   = "account/a/cloud"
	clientSecret = "canary-cl1ent-s3cret"
	soon         = 20 * time.Second
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a token server and a store that processes share.
type rig struct {
	tb     testing.TB
	server *simulator.TokenServer
	clock  *peers.Clock
	dir    string
}

func newRig(tb testing.TB, o simulator.TokenServerOptions) *rig {
	tb.Helper()
	o.ClientSecret = clientSecret
	server, err := simulator.NewTokenServer(o)
	require.NoError(tb, err)
	tb.Cleanup(server.Close)
	return &rig{tb: tb, server: server, clock: peers.NewClock(), dir: tb.TempDir()}
}

// refreshing is a source that exchanges the refresh tokens of a new family.
func (r *rig) refreshing() desired.TokenSource {
	return desired.TokenSource{
		Kind: desired.SourceRefreshToken, TokenURL: r.server.URL(), ClientID: "client", ClientSecret: clientSecret,
		RefreshToken: r.server.NewRefreshToken(),
	}
}

func (r *rig) clientCredentials() desired.TokenSource {
	return desired.TokenSource{
		Kind: desired.SourceClientCredentials, TokenURL: r.server.URL(), ClientID: "client", ClientSecret: clientSecret,
	}
}

// process is a minter with a store handle of its own, as another process has it.
type process struct {
	*tokensource.Minter

	rig   *rig
	store *store.Store
	mac   desired.MAC
}

// process opens one more. around puts something between the minter and the store; nil puts nothing.
func (r *rig) process(around func(*store.Store) tokensource.Store) *process {
	r.tb.Helper()
	owned, err := keys.Open(filepath.Join(r.dir, "keys"))
	require.NoError(r.tb, err)
	opened, err := store.Open(r.tb.Context(), store.Options{Path: filepath.Join(r.dir, "holdfast.db"), Keys: owned})
	require.NoError(r.tb, err)
	r.tb.Cleanup(func() { require.NoError(r.tb, opened.Close()) })
	sources := tokensource.NewSources(tokensource.Options{Timeout: 5 * time.Second, Now: r.clock.Now})
	r.tb.Cleanup(sources.Close)
	p := tokensource.Params{
		Store: opened, Sources: sources, MAC: owned.MAC(), Now: r.clock.Now, VerifyWithin: 5 * time.Second,
		Jitter: func() float64 { return 0 },
	}
	if around != nil {
		p.Store = around(opened)
	}
	return &process{Minter: tokensource.NewMinter(p), rig: r, store: opened, mac: owned.MAC()}
}

// row is what is stored of a source.
func (p *process) row(source desired.TokenSource) store.Token {
	p.rig.tb.Helper()
	digest, err := tokensource.Digest(p.mac, source)
	require.NoError(p.rig.tb, err)
	found, err := p.store.Token(context.WithoutCancel(p.rig.tb.Context()), tokensource.Key(credential, digest))
	require.NoError(p.rig.tb, err)
	return found
}

// ensure asks and must get a token.
func (p *process) ensure(ask tokensource.Ask) tokensource.Outcome {
	p.rig.tb.Helper()
	got, err := p.Ensure(p.rig.tb.Context(), ask)
	require.NoError(p.rig.tb, err)
	return got
}

func (p *process) ask(source desired.TokenSource, sequence int64) tokensource.Ask {
	return tokensource.Ask{Credential: credential, Source: source, Sequence: sequence, Verify: p.rig.verify}
}

// verify accepts what the token server issued.
func (r *rig) verify(_ context.Context, token string) *health.Failure {
	if r.server.Live(token) {
		return nil
	}
	f := health.InvalidToken(health.StageTransportAuth, health.AliasAuthInvalid, "the endpoint refused the credentials")
	return &f
}

// answer is what one of several callers got.
type answer struct {
	tokensource.Outcome

	err error
}

// atOnce asks several times side by side.
func atOnce(n int, ask func(i int) (tokensource.Outcome, error)) []answer {
	answers := make([]answer, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { answers[i].Outcome, answers[i].err = ask(i) })
	}
	all.Wait()
	return answers
}

// refusal is what a typed error tells.
type refusal struct {
	Failure    health.Failure
	RetryAfter time.Duration
}

// requireFailure requires a typed failure and returns it.
func requireFailure(tb testing.TB, err error, code health.Code) refusal {
	tb.Helper()
	var typed *tokensource.Error
	require.ErrorAs(tb, err, &typed)
	require.Equal(tb, code, typed.Failure.Code, err.Error())
	require.Equal(tb, redact.String(err.Error()), err.Error(), "our own words are taken for a secret")
	require.NotContains(tb, typed.Failure.Cause(), redact.Marker)
	return refusal{typed.Failure, typed.RetryAfter}
}

var errKilled = errors.New("killed")

// damage runs a statement on the database file, beside the stores.
func (r *rig) damage(statement string) {
	r.tb.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.dir, "holdfast.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	require.NoError(r.tb, err)
	defer func() { require.NoError(r.tb, db.Close()) }()
	_, err = db.ExecContext(r.tb.Context(), statement)
	require.NoError(r.tb, err)
}

// jwtUntil is a token with the shape of a JWT that tells its expiry.
func jwtUntil(expires time.Time) string { return jwt(fmt.Sprintf(`{"exp":%d}`, expires.Unix())) }
