package auth_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/origin"
)

func metadataOf(t *testing.T, m http.Handler, method, address string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, address, nil))
	return w
}

func TestEveryResourceSaysWhomToAskForATokenOfIt(t *testing.T) {
	t.Parallel()
	m := auth.NewMetadata(origin.Policy{Public: "https://holdfast.example"}, "https://login.example", []string{"openid", "offline_access"})
	for path, resource := range map[string]string{
		"/.well-known/oauth-protected-resource":           "https://holdfast.example",
		"/.well-known/oauth-protected-resource/mcp":       "https://holdfast.example/mcp",
		"/.well-known/oauth-protected-resource/mcp/agent": "https://holdfast.example/mcp/agent",
	} {
		require.Contains(t, m.Routes(), path)
		got := metadataOf(t, m, http.MethodGet, "https://holdfast.example"+path)
		require.Equal(t, http.StatusOK, got.Code)
		require.Equal(t, "*", got.Header().Get("Access-Control-Allow-Origin"))
		var told map[string]any
		require.NoError(t, json.Unmarshal(got.Body.Bytes(), &told))
		require.Equal(t, map[string]any{
			"resource": resource, "resource_name": "Holdfast", "authorization_servers": []any{"https://login.example"},
			"bearer_methods_supported": []any{"header"}, "scopes_supported": []any{"openid"},
		}, told)
		require.Equal(t, http.StatusNoContent, metadataOf(t, m, http.MethodOptions, "https://holdfast.example"+path).Code)
		require.Equal(t, http.StatusMethodNotAllowed, metadataOf(t, m, http.MethodPost, "https://holdfast.example"+path).Code)
	}
	require.Equal(t, http.StatusNotFound, metadataOf(t, m, http.MethodGet, "https://evil.example/.well-known/oauth-protected-resource").Code)
	require.Equal(t, http.StatusNotFound, metadataOf(t, m, http.MethodGet, "https://holdfast.example/.well-known/oauth-protected-resource/x").Code)
	alone := auth.NewMetadata(origin.Policy{}, "", nil)
	got := metadataOf(t, alone, http.MethodGet, "http://127.0.0.1:8236/.well-known/oauth-protected-resource/mcp")
	require.JSONEq(t, `{"resource":"http://127.0.0.1:8236/mcp","resource_name":"Holdfast","authorization_servers":[],"bearer_methods_supported":["header"]}`, got.Body.String())
}

// Case 57.
func TestARefusalNamesTheMetadataAndAnErrorOnlyForATokenThatWasShown(t *testing.T) {
	t.Parallel()
	m := auth.NewMetadata(origin.Policy{}, "https://login.example", []string{"openid", "profile"})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8236/mcp", nil)
	const named = `, resource_metadata="http://127.0.0.1:8236/.well-known/oauth-protected-resource/mcp", scope="openid profile"`
	require.Equal(t, `Bearer realm="holdfast"`+named, m.Challenge(r, &auth.UnauthorizedError{}))
	require.Equal(t, `Bearer realm="holdfast"`+named, m.Challenge(r, auth.ErrUnauthorized))
	require.Equal(t, `Bearer realm="holdfast", error="invalid_token", error_description="it''is bad"`+named,
		m.Challenge(r, &auth.UnauthorizedError{Problem: "it\"\nis bad"}))
	require.Equal(t, `Bearer realm="holdfast", error="insufficient_scope", error_description="no"`+named,
		m.Challenge(r, &auth.ForbiddenError{Message: "no"}))
	require.Empty(t, m.Challenge(r, &auth.UnavailableError{}))
	require.Empty(t, m.Challenge(r, errors.New("x")))
	other := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:8236/api/v1/tokens", nil)
	require.Equal(t, "http://127.0.0.1:8236/.well-known/oauth-protected-resource", m.URL(other))
}
