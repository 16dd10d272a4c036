package engineapi_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

func TestUnusableOptionsAreRefusedWithoutQuotingThem(t *testing.T) {
	t.Parallel()
	tests := map[string]engineapi.Options{
		"empty":         {},
		"no url":        {BaseURL: "http://[tell-nobody"},
		"other scheme":  {BaseURL: "ftp://host"},
		"no host":       {BaseURL: "http:///tell-nobody"},
		"user info":     {BaseURL: "http://user:" + password + "@host"},
		"query":         {BaseURL: "http://host?token=tell-nobody"},
		"fragment":      {BaseURL: "http://host#tell-nobody"},
		"colon in user": {BaseURL: "http://host", Username: "a:b", Password: password},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := engineapi.New(tc)
			require.ErrorIs(t, err, engineapi.ErrBadOptions)
			require.NotContains(t, err.Error(), password)
			require.NotContains(t, tc.String(), password)
		})
	}
}

func TestPasswordIsSentAndNeverShown(t *testing.T) {
	t.Parallel()
	e := startEngine(t, answer(http.StatusOK, `{}`))
	options := engineapi.Options{BaseURL: e.URL, Password: password}
	client := newClient(t, options)

	_, err := client.Statuses(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "opencode", e.last(t).User)
	require.Equal(t, password, e.last(t).Pass)

	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("engine", "client", client, "options", options)
	for _, text := range []string{
		log.String(),
		fmt.Sprintf("%v %+v %#v %s", client, client, client, client),
		fmt.Sprintf("%v %+v %#v %s", options, options, options, options),
	} {
		require.NotContains(t, text, password)
		require.NotContains(t, text, "Basic")
	}
}

func TestOwnUserNameReplacesTheDefault(t *testing.T) {
	t.Parallel()
	e := startEngine(t, answer(http.StatusOK, `{}`))
	client := newClient(t, engineapi.Options{BaseURL: e.URL + "/", Username: "me", Password: password})
	_, err := client.Statuses(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "me", e.last(t).User)
	require.Equal(t, "/mcp", e.last(t).Path)
}

func TestEngineWithoutAPasswordGetsNoCredentials(t *testing.T) {
	t.Parallel()
	e := startEngine(t, answer(http.StatusOK, `{}`))
	client := newClient(t, engineapi.Options{BaseURL: e.URL + "/behind/a/prefix", Username: "me"})
	_, err := client.Statuses(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, e.last(t).User)
	require.Equal(t, "/behind/a/prefix/mcp", e.last(t).Path)
}

func TestWrongPasswordIsToldAsSuch(t *testing.T) {
	t.Parallel()
	e := startEngine(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="Secure Area"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	client := newClient(t, engineapi.Options{BaseURL: e.URL, Password: password})

	_, err := client.Health(t.Context())

	var fault *httpclient.Error
	require.ErrorAs(t, err, &fault)
	require.Equal(t, http.StatusUnauthorized, fault.Status)
	require.False(t, fault.Temporary())
	require.Contains(t, err.Error(), "check the user name and password")
	require.Len(t, e.requests(), 1)
}
