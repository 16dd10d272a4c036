package tokensource_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

// bodyOf is a good answer with this body.
func bodyOf(body string) simulator.Fault {
	return simulator.Fault{Status: http.StatusOK, Body: body}
}

func TestARotatedRefreshTokenIsKeptFromAnAnswerThatIsNoToken(t *testing.T) {
	t.Parallel()
	const next = `"refresh_token":"canary-next"`
	form := simulator.Fault{
		Status: http.StatusOK, Body: "refresh_token=canary-next&expires_in=3600", ContentType: "application/x-www-form-urlencoded",
	}
	for name, tc := range map[string]struct {
		fault simulator.Fault
		code  health.Code
	}{
		"no access token":            {bodyOf(`{` + next + `}`), health.CodeTokenSourceInvalid},
		"another type":               {bodyOf(`{"access_token":"a","token_type":"mac",` + next + `}`), health.CodeTokenSourceInvalid},
		"a type that is no text":     {bodyOf(`{"access_token":"a","token_type":7,` + next + `}`), health.CodeTokenSourceInvalid},
		"not sendable":               {bodyOf(`{"access_token":"a b",` + next + `}`), health.CodeTokenSourceInvalid},
		"too long":                   {bodyOf(`{"access_token":"` + strings.Repeat("a", 65<<10) + `",` + next + `}`), health.CodeTokenSourceInvalid},
		"an error in a 200":          {bodyOf(`{"error":"server_error",` + next + `}`), health.CodeTokenSourceUnreachable},
		"a lifetime that is none":    {bodyOf(`{"access_token":"a","expires_in":"soon",` + next + `}`), health.CodeTokenSourceInvalid},
		"a lifetime that is a list":  {bodyOf(`{"access_token":"a","expires_in":[1],` + next + `}`), health.CodeTokenSourceInvalid},
		"a lifetime below 0":         {bodyOf(`{"access_token":"a","expires_in":-1,` + next + `}`), health.CodeTokenSourceInvalid},
		"a lifetime below 5 s":       {bodyOf(`{"access_token":"a","expires_in":4.9,` + next + `}`), health.CodeTokenSourceInvalid},
		"a form without a token":     {form, health.CodeTokenSourceInvalid},
		"JSON that says it is plain": {simulator.Fault{Status: 200, Body: `{` + next + `}`, ContentType: "text/plain"}, health.CodeTokenSourceInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, simulator.TokenServerOptions{})
			p, source := r.process(nil), r.refreshing()
			r.server.Inject(simulator.AnyRequest, 1, tc.fault)
			_, err := p.Ensure(t.Context(), p.ask(source, 0))
			f := requireFailure(t, err, tc.code)
			requireNoSecret(t, err, f, source)
			row := p.row(source)
			require.Equal(t, "canary-next", row.RefreshToken)
			require.Empty(t, row.AccessToken)
			require.True(t, row.Dropped)
		})
	}
}

func TestWhatIsKeptFromSuchAnAnswerIsUsedNext(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.refreshing()
	p.ensure(p.ask(source, 0))
	before := p.row(source)
	next := r.server.NewRefreshToken()
	r.server.Inject(simulator.AnyRequest, 1, bodyOf(`{"refresh_token":"`+next+`"}`))
	_, err := p.Ensure(t.Context(), p.ask(source, 1))
	require.Error(t, err)
	after := p.row(source)
	require.Equal(t, next, after.RefreshToken)
	require.Equal(t, before.AccessToken, after.AccessToken, "the current token is not touched")
	require.False(t, after.Dropped)
	require.Equal(t, int64(2), p.ensure(p.ask(source, 1)).Sequence)
	require.NotEqual(t, next, p.row(source).RefreshToken)
	require.Zero(t, r.server.Reused())
}

func TestALifetimeMayBeToldInManyWays(t *testing.T) {
	t.Parallel()
	for told, want := range map[string]time.Duration{
		`3600`: time.Hour, `3600.9`: time.Hour, `"3600"`: time.Hour, `"3600.0"`: time.Hour, `3.6e3`: time.Hour, `5`: 5 * time.Second,
		`0`: 0, `null`: 0, `""`: 0, `0.4`: 0, `1e999`: 100 * 365 * 24 * time.Hour, `99999999999`: 100 * 365 * 24 * time.Hour,
	} {
		t.Run(told, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, simulator.TokenServerOptions{})
			r.server.Inject(simulator.AnyRequest, 1, bodyOf(`{"access_token":"a","expires_in":`+told+`}`))
			got, err := r.mint(r.sources(0), r.clientCredentials(), "")
			require.NoError(t, err)
			if want == 0 {
				require.Zero(t, got.ExpiresAt)
				return
			}
			require.Equal(t, r.clock.Now().Add(want), got.ExpiresAt)
		})
	}
}

func TestTokensThatLiveLessThanFiveSecondsAreNone(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{Lifetime: 4 * time.Second})
	p, source := r.process(nil), r.refreshing()
	_, err := p.Ensure(t.Context(), p.ask(source, 0))
	f := requireFailure(t, err, health.CodeTokenSourceInvalid).Failure
	require.False(t, f.Retryable)
	require.Equal(t, "the token server issues tokens that live less than 5 s", f.Cause())
	require.Zero(t, p.row(source).Sequence, "it was published")
	r.server.SetLifetime(time.Hour)
	require.Equal(t, int64(1), p.ensure(p.ask(source, 0)).Sequence)
	require.Zero(t, r.server.Reused())

	r.server.Inject(simulator.AnyRequest, 1, bodyOf(`{"access_token":"`+jwtUntil(r.clock.Now().Add(3*time.Second))+`"}`))
	_, err = r.mint(r.sources(0), r.clientCredentials(), "")
	requireFailure(t, err, health.CodeTokenSourceInvalid)
}

func TestAFormTellsALifetimeToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	r.server.Inject(simulator.AnyRequest, 1, simulator.Fault{
		Status: http.StatusOK, Body: "access_token=a&expires_in=60.5", ContentType: "application/x-www-form-urlencoded",
	})
	got, err := r.mint(r.sources(0), r.clientCredentials(), "")
	require.NoError(t, err)
	require.Equal(t, r.clock.Now().Add(time.Minute), got.ExpiresAt)
}

func TestAStoreThatComesBackIsGivenTheRefreshTokenOfSuchAnAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	stuck := &killed{before: "amend"}
	p := r.process(func(s *store.Store) tokensource.Store {
		stuck.Store = s
		return stuck
	})
	source := r.refreshing()
	r.server.Inject(simulator.AnyRequest, 1, bodyOf(`{"refresh_token":"`+r.server.NewRefreshToken()+`"}`))
	_, err := p.Ensure(t.Context(), p.ask(source, 0))
	requireFailure(t, err, health.CodeTokenSourceInvalid)
	stuck.before, stuck.dead = "", false
	r.clock.Advance(time.Minute)
	require.Equal(t, int64(1), p.ensure(p.ask(source, 0)).Sequence)
	_, err = r.mint(r.sources(0), source, "")
	require.NoError(t, err, "the first refresh token was used, and not the one that had taken its place")
}
