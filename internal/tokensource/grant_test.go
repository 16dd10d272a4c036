package tokensource_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

// mint asks a source directly, without minter and store.
func (r *rig) mint(sources *tokensource.Sources, d desired.TokenSource, refresh string) (tokensource.Minted, error) {
	r.tb.Helper()
	source, err := sources.For(d)
	require.NoError(r.tb, err)
	return source.Mint(r.tb.Context(), tokensource.Previous{RefreshToken: refresh})
}

func (r *rig) sources(timeout time.Duration) *tokensource.Sources {
	sources := tokensource.NewSources(tokensource.Options{Timeout: timeout, Now: r.clock.Now})
	r.tb.Cleanup(sources.Close)
	return sources
}

func TestClientCredentialsGiveAToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{Lifetime: time.Hour})
	got, err := r.mint(r.sources(0), r.clientCredentials(), "")
	require.NoError(t, err)
	require.True(t, r.server.Live(got.AccessToken))
	require.Equal(t, r.clock.Now().Add(time.Hour), got.ExpiresAt)
	require.Empty(t, got.RefreshToken)
}

func TestARefreshTokenIsExchangedForTheNextOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{Lifetime: -1})
	sources, source := r.sources(0), r.refreshing()
	first, err := r.mint(sources, source, "")
	require.NoError(t, err)
	require.NotEqual(t, source.RefreshToken, first.RefreshToken)
	require.Zero(t, first.ExpiresAt)
	second, err := r.mint(sources, source, first.RefreshToken)
	require.NoError(t, err)
	require.True(t, r.server.Live(second.AccessToken))
	require.Zero(t, r.server.Reused())
}

func TestAServerThatKeepsItsRefreshTokenLeavesItToBeUsedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{KeepRefresh: true})
	source := r.refreshing()
	got, err := r.mint(r.sources(0), source, "")
	require.NoError(t, err)
	require.Equal(t, source.RefreshToken, got.RefreshToken)
}

func TestAnOpaqueAnswerMayHoldAJWTThatTellsItsExpiry(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	token := jwt(fmt.Sprintf(`{"exp":%d}`, r.clock.Now().Add(time.Hour).Unix()))
	r.server.Inject(simulator.AnyRequest, 1, simulator.Fault{Status: http.StatusOK, Body: `{"access_token":"` + token + `"}`})
	got, err := r.mint(r.sources(0), r.clientCredentials(), "")
	require.NoError(t, err)
	require.Equal(t, r.clock.Now().Add(time.Hour).UTC(), got.ExpiresAt)
}

func TestTheStyleOfAuthenticationIsFoundOutOnce(t *testing.T) {
	t.Parallel()
	for _, style := range []simulator.AuthStyle{simulator.AuthHeader, simulator.AuthParams} {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, simulator.TokenServerOptions{AuthStyle: style})
			sources, source := r.sources(0), r.refreshing()
			got, err := r.mint(sources, source, "")
			require.NoError(t, err)
			before := r.server.Count(simulator.AnyRequest)
			_, err = r.mint(sources, source, got.RefreshToken)
			require.NoError(t, err)
			require.Equal(t, before+1, r.server.Count(simulator.AnyRequest))
			require.Zero(t, r.server.Reused(), "finding out used up a refresh token")

			source.AuthStyle = string(style)
			fixed := newRig(t, simulator.TokenServerOptions{AuthStyle: style})
			source.TokenURL, source.RefreshToken = fixed.server.URL(), fixed.server.NewRefreshToken()
			_, err = fixed.mint(fixed.sources(0), source, "")
			require.NoError(t, err)
			require.Equal(t, 1, fixed.server.Count(simulator.AnyRequest))
		})
	}
}

func TestARefreshTokenIsNeverSentTwiceForOneMint(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	r.server.LoseAnswers(1)
	_, err := r.mint(r.sources(0), r.refreshing(), "")
	f := requireFailure(t, err, health.CodeTokenSourceUnreachable)
	require.True(t, f.Failure.Retryable)
	require.Equal(t, 1, r.server.Count(simulator.AnyRequest))
	require.Zero(t, r.server.Reused())
}

func TestWhatATokenServerAnswersDecidesWhatIsToBeDone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault     simulator.Fault
		code      health.Code
		retryable bool
		after     time.Duration
	}{
		"500":            {fault: simulator.AnswerStatus(500), code: health.CodeTokenSourceUnreachable, retryable: true},
		"a proxy's page": {fault: simulator.AnswerHTML(502), code: health.CodeTokenSourceUnreachable, retryable: true},
		"429, and when to come again": {
			fault: simulator.Fault{Status: 429, Header: http.Header{"Retry-After": {"7"}}},
			code:  health.CodeTokenSourceUnreachable, retryable: true, after: 7 * time.Second,
		},
		"503, and an age to wait": {
			fault: simulator.Fault{Status: 503, Header: http.Header{"Retry-After": {"86400"}}},
			code:  health.CodeTokenSourceUnreachable, retryable: true, after: 5 * time.Minute,
		},
		"429, and nonsense": {
			fault: simulator.Fault{Status: 429, Header: http.Header{"Retry-After": {"soon"}}},
			code:  health.CodeTokenSourceUnreachable, retryable: true,
		},
		"temporarily unavailable": {
			fault: simulator.Fault{Status: 400, Body: `{"error":"temporarily_unavailable"}`},
			code:  health.CodeTokenSourceUnreachable, retryable: true,
		},
		"reset":               {fault: simulator.Fault{Reset: true}, code: health.CodeTokenSourceUnreachable, retryable: true},
		"hangs":               {fault: simulator.Fault{Hang: simulator.HangHeaders}, code: health.CodeTokenSourceUnreachable, retryable: true},
		"hangs in the body":   {fault: simulator.Fault{Hang: simulator.HangBody, Body: "{"}, code: health.CodeTokenSourceUnreachable, retryable: true},
		"invalid grant":       {fault: oauthError("invalid_grant"), code: health.CodeTokenSourceRejected},
		"unauthorized client": {fault: oauthError("unauthorized_client"), code: health.CodeTokenSourceRejected},
		"access denied":       {fault: oauthError("access_denied"), code: health.CodeTokenSourceRejected},
		"an unknown code":     {fault: oauthError("canary_code"), code: health.CodeTokenSourceRejected},
		"404":                 {fault: simulator.AnswerHTML(404), code: health.CodeTokenSourceRejected},
		"an error in a 200":   {fault: simulator.Fault{Status: 200, Body: `{"error":"invalid_grant"}`}, code: health.CodeTokenSourceRejected},
		"a redirect": {
			fault: simulator.Fault{Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/canary"}}},
			code:  health.CodeTokenSourceInvalid,
		},
		"no token":       {fault: simulator.Fault{Status: 200, Body: `{"token_type":"Bearer","note":"canary"}`}, code: health.CodeTokenSourceInvalid},
		"no json":        {fault: simulator.Fault{Status: 200, Body: `canary {`}, code: health.CodeTokenSourceInvalid},
		"too large":      {fault: simulator.Fault{Status: 200, Body: strings.Repeat("canary", 1<<18)}, code: health.CodeTokenSourceInvalid},
		"another type":   {fault: simulator.Fault{Status: 200, Body: `{"access_token":"canary-t","token_type":"mac"}`}, code: health.CodeTokenSourceInvalid},
		"not sendable":   {fault: simulator.Fault{Status: 200, Body: `{"access_token":"canary t\n"}`}, code: health.CodeTokenSourceInvalid},
		"a bad lifetime": {fault: simulator.Fault{Status: 200, Body: `{"access_token":"canary","expires_in":"soon"}`}, code: health.CodeTokenSourceInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, simulator.TokenServerOptions{})
			r.server.Inject(simulator.AnyRequest, simulator.Always, tc.fault)
			source := r.refreshing()
			source.TokenURL += "?key=canary-query"
			_, err := r.mint(r.sources(time.Second), source, "")
			f := requireFailure(t, err, tc.code)
			require.Equal(t, health.StageTokenMint, f.Failure.Stage)
			require.Equal(t, tc.retryable, f.Failure.Retryable)
			require.Contains(t, f.Failure.RecommendedAction, "tokenUrl")
			require.Equal(t, tc.after, f.RetryAfter)
			require.Equal(t, 1, r.server.Count(simulator.AnyRequest), "asked again")
			requireNoSecret(t, err, f, source)
		})
	}
}

func oauthError(code string) simulator.Fault {
	return simulator.Fault{Status: 400, Body: `{"error":"` + code + `","error_description":"canary description"}`}
}

// requireNoSecret looks for secrets in everything that an error shows.
func requireNoSecret(t *testing.T, err error, f refusal, source desired.TokenSource) {
	t.Helper()
	record, jsonErr := json.Marshal(f.Failure)
	require.NoError(t, jsonErr)
	shown := fmt.Sprintf("%v %+v %#v %s", err, err, f.Failure, record)
	require.NotContains(t, shown, "canary") // also in the client's secret
	if source.RefreshToken != "" {
		require.NotContains(t, shown, source.RefreshToken)
	}
}

func TestAClientThatIsNotKnownIsRejectedAfterBothStyles(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	r.server.SetClientSecret("another")
	source := r.refreshing()
	_, err := r.mint(r.sources(0), source, "")
	requireNoSecret(t, err, requireFailure(t, err, health.CodeTokenSourceRejected), source)
	require.ErrorContains(t, err, "http 401, invalid_client")
	require.Equal(t, 2, r.server.Count(simulator.AnyRequest))
}

func TestSecretsAreOnlySentWhereNobodyElseReadsThem(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	sources := r.sources(0)
	for _, url := range []string{"http://auth.example/token", "http://10.0.0.1/token", "ftp://127.0.0.1/token", "https://u:p@auth.example/token"} {
		source := r.clientCredentials()
		source.TokenURL = url
		_, err := sources.For(source)
		requireFailure(t, err, health.CodeTokenSourceInvalid)
	}
	for _, url := range []string{"https://auth.example/token", "http://localhost:1/token", "http://[::1]:1/token", "http://127.9.9.9/token"} {
		source := r.clientCredentials()
		source.TokenURL = url
		_, err := sources.For(source)
		require.NoError(t, err, url)
	}
}

func TestAnUnreachableServerIsToldWithoutItsQuery(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	r.server.Stop()
	source := r.clientCredentials()
	source.TokenURL += "?key=canary-query"
	_, err := r.mint(r.sources(0), source, "")
	requireNoSecret(t, err, requireFailure(t, err, health.CodeTokenSourceUnreachable), source)
	require.ErrorContains(t, err, "connection refused")
}

func TestTokensHaveNoTextForm(t *testing.T) {
	t.Parallel()
	minted := tokensource.Minted{AccessToken: "canary-a", RefreshToken: "canary-r"}
	previous := tokensource.Previous{RefreshToken: "canary-r"}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("minted", "minted", minted, "previous", previous)
	shown := fmt.Sprintf("%v %+v %#v %s %v %+v %#v", minted, minted, minted, log.String(), previous, previous, previous)
	require.NotContains(t, shown, "canary")
}
