package simulator_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
)

func newTokenServer(tb testing.TB, options simulator.TokenServerOptions) *simulator.TokenServer {
	tb.Helper()
	server, err := simulator.NewTokenServer(options)
	require.NoError(tb, err)
	tb.Cleanup(server.Close)
	return server
}

type tokenAnswer struct {
	status int

	Access    string `json:"access_token"`
	Refresh   string `json:"refresh_token"`
	ExpiresIn *int   `json:"expires_in"`
	Error     string `json:"error"`
}

// askToken sends a form with the right client, in the header unless the form names one.
func askToken(t *testing.T, server *simulator.TokenServer, form url.Values) (tokenAnswer, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL(), strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if !form.Has("client_id") {
		request.SetBasicAuth("client", "s3cret")
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return tokenAnswer{}, err
	}
	defer response.Body.Close()
	got := tokenAnswer{status: response.StatusCode}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&got))
	return got, nil
}

func mustAskToken(t *testing.T, server *simulator.TokenServer, form url.Values) tokenAnswer {
	t.Helper()
	got, err := askToken(t, server, form)
	require.NoError(t, err)
	return got
}

func refreshForm(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}}
}

var clientForm = url.Values{"grant_type": {"client_credentials"}}

func TestAnIssuedTokenLivesUntilItExpires(t *testing.T) {
	t.Parallel()
	server := newTokenServer(t, simulator.TokenServerOptions{Lifetime: time.Hour})
	got := mustAskToken(t, server, clientForm)
	require.Equal(t, 3600, *got.ExpiresIn)
	require.Empty(t, got.Refresh)
	require.True(t, server.Live(got.Access))
	require.False(t, server.Live("another"))

	server.SetLifetime(0)
	require.False(t, server.Live(mustAskToken(t, server, clientForm).Access))
	server.SetLifetime(-1)
	endless := mustAskToken(t, server, clientForm)
	require.Nil(t, endless.ExpiresIn)
	require.True(t, server.Live(endless.Access))
	server.RevokeAccess()
	require.False(t, server.Live(endless.Access))
	require.Equal(t, 3, server.Issued())
	require.Equal(t, 3, server.Count(simulator.GrantClientCredentials))
}

func TestARefreshTokenThatIsUsedAgainRevokesItsFamily(t *testing.T) {
	t.Parallel()
	server := newTokenServer(t, simulator.TokenServerOptions{})
	first, other := server.NewRefreshToken(), mustAskToken(t, server, clientForm)
	one := mustAskToken(t, server, refreshForm(first))
	require.NotEqual(t, first, one.Refresh)
	two := mustAskToken(t, server, refreshForm(one.Refresh))
	require.True(t, server.Live(one.Access))
	require.True(t, server.Live(two.Access))

	stolen := mustAskToken(t, server, refreshForm(first))
	require.Equal(t, http.StatusBadRequest, stolen.status)
	require.Equal(t, "invalid_grant", stolen.Error)
	require.Equal(t, 1, server.Reused())
	require.False(t, server.Live(one.Access))
	require.False(t, server.Live(two.Access))
	require.True(t, server.Live(other.Access), "another family was revoked")
	require.Equal(t, "invalid_grant", mustAskToken(t, server, refreshForm(two.Refresh)).Error)
}

func TestAServerThatKeepsRefreshTokensTakesThemAgain(t *testing.T) {
	t.Parallel()
	server := newTokenServer(t, simulator.TokenServerOptions{KeepRefresh: true})
	first := server.NewRefreshToken()
	for range 2 {
		got := mustAskToken(t, server, refreshForm(first))
		require.Empty(t, got.Refresh)
		require.True(t, server.Live(got.Access))
	}
	require.Zero(t, server.Reused())
}

func TestTheClientIsAuthenticatedBeforeAnythingIsUsedUp(t *testing.T) {
	t.Parallel()
	server := newTokenServer(t, simulator.TokenServerOptions{AuthStyle: simulator.AuthParams})
	first := server.NewRefreshToken()
	require.Equal(t, http.StatusUnauthorized, mustAskToken(t, server, refreshForm(first)).status)
	form := refreshForm(first)
	form.Set("client_id", "client")
	form.Set("client_secret", "wrong")
	require.Equal(t, "invalid_client", mustAskToken(t, server, form).Error)
	form.Set("client_secret", "s3cret")
	require.Equal(t, http.StatusOK, mustAskToken(t, server, form).status)
	require.Equal(t, "unsupported_grant_type", mustAskToken(t, server, url.Values{
		"grant_type": {"password"}, "client_id": {"client"}, "client_secret": {"s3cret"},
	}).Error)
}

func TestALostAnswerHasHadItsEffect(t *testing.T) {
	t.Parallel()
	server := newTokenServer(t, simulator.TokenServerOptions{})
	first := server.NewRefreshToken()
	server.LoseAnswers(1)
	_, err := askToken(t, server, refreshForm(first))
	require.Error(t, err)
	require.Equal(t, "invalid_grant", mustAskToken(t, server, refreshForm(first)).Error)
	require.Equal(t, 1, server.Reused())
}

func TestAFaultOfTheTokenServerHasNoEffect(t *testing.T) {
	t.Parallel()
	server := newTokenServer(t, simulator.TokenServerOptions{})
	first := server.NewRefreshToken()
	server.Inject(simulator.GrantRefreshToken, 1, simulator.AnswerStatus(http.StatusBadGateway))
	require.Equal(t, http.StatusBadGateway, mustAskToken(t, server, refreshForm(first)).status)
	require.Equal(t, http.StatusOK, mustAskToken(t, server, refreshForm(first)).status)

	server.Stop()
	_, err := askToken(t, server, clientForm)
	require.Error(t, err)
	require.NoError(t, server.Start())
	require.Equal(t, http.StatusOK, mustAskToken(t, server, clientForm).status)
}

func TestAnEndpointTakesTheLiveTokensOfAServer(t *testing.T) {
	t.Parallel()
	server := newTokenServer(t, simulator.TokenServerOptions{JWT: true})
	endpoint := newEndpoint(t, simulator.EndpointOptions{Authorize: server.Live})
	token := mustAskToken(t, server, clientForm).Access
	require.Equal(t, 2, strings.Count(token, "."), "a JWT has three parts")
	require.Equal(t, http.StatusOK, post(t, endpoint, token))
	require.Equal(t, http.StatusUnauthorized, post(t, endpoint, "made up"))
	server.RevokeAccess()
	require.Equal(t, http.StatusUnauthorized, post(t, endpoint, token))
	endpoint.SetAuthorize(nil)
	require.Equal(t, http.StatusOK, post(t, endpoint, token))
}

// post opens a session with a bearer and returns the status.
func post(t *testing.T, endpoint *simulator.Endpoint, token string) int {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint.URL(), strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	return response.StatusCode
}
