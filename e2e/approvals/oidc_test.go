package approvals_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/browser"
)

// as is the user with another token.
func (u *user) as(account, token string) *user {
	other := *u
	other.account, other.token = account, token
	return &other
}

// bearerOf is one of the OpenID provider's.
func (u *user) bearerOf(name, audience string) string {
	u.t.Helper()
	token, err := u.provider.Mint(name, audience, nil)
	require.NoError(u.t, err)
	return token
}

// loggedInAtTheProvider holds that a client with a bearer token of the provider and a person who logs in there are one, and case 51.
func loggedInAtTheProvider(t *testing.T, u *user) {
	ann, bob := u.as("ann", u.bearerOf("ann", audience)), u.as("bob", u.bearerOf("bob", audience))
	name := testkit.UniqueName()
	w := ann.wire(u.gateway.URL, "browser")
	asked := w.call(gatehost.ToolExecute, executing("mail.put", putting(name)), nil)
	asked.byPage(t, u.gateway.URL)

	// Bob is of another organisation. (case 51)
	for _, got := range []answer{bob.get("/api/v1/approvals/" + asked.ExecutionID), bob.decide(asked.ExecutionID, approval.ActionAccept), bob.get(w.ofSession(asked.ExecutionID))} {
		require.Equal(t, http.StatusNotFound, got.status, string(got.body))
	}
	stolen := &wire{u: bob, base: u.gateway.URL, session: w.session}
	status, code := stolen.status("tools/list", map[string]any{})
	require.Equal(t, http.StatusForbidden, status)
	require.Equal(t, -32003, code)
	own := bob.wire(u.gateway.URL, "model")
	for _, arguments := range []map[string]any{{"executionId": asked.ExecutionID, "action": "accept"}, {"executionId": asked.ExecutionID}} {
		forbidden := own.call(gatehost.ToolResume, arguments, nil)
		require.Equal(t, "execution_forbidden", forbidden.Status, forbidden.Text)
		require.Contains(t, forbidden.Text, "same account and organization")
	}
	page := u.atProvider(asked.ApprovalURL, "bob")
	require.NotContains(t, sees(page, "Nothing here for you"), name)
	require.Equal(t, "waiting", ann.approval(asked.ExecutionID).State)
	status, _ = w.status("tools/list", map[string]any{})
	require.Equal(t, http.StatusOK, status, "whoever was refused has harmed nobody")

	page = u.atProvider(asked.ApprovalURL, "ann")
	sees(page, "mail.put", name, "Waiting for an answer")
	approve(page, "wrote "+name)
	require.Equal(t, "wrote "+name, w.call(gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID}, nil).Text)
	require.Equal(t, 1, u.runs(name))
	require.Equal(t, "ann", ann.audited(keyOf(t, asked.ExecutionID), "accept").Account)
}

// atProvider logs somebody in at the provider on the way to a page, in a browser of their own.
func (u *user) atProvider(url, name string) *browser.Browser {
	u.t.Helper()
	page := u.person()
	page.Open(url, "the login", func(shown string) bool { return strings.Contains(shown, "Log in with 127.0.0.1") })
	page.Click(`a[href^="/login/oidc"]`)
	sees(page, "Who are you?")
	page.Click(`a[href*="user=` + name + `"]`)
	return page
}

var metadataURL = regexp.MustCompile(`resource_metadata="([^"]+)"`)

// challenged holds case 57, and that a token for somebody else is no token here.
func challenged(t *testing.T, u *user) {
	for _, tc := range []struct {
		path, token, has, lacks string
	}{
		{"/mcp", "", `Bearer realm="holdfast"`, "error="},
		{"/mcp", u.bearerOf("ann", "somebody-else"), `error="invalid_token"`, "ann"},
		{"/mcp/", "hft_nobody", `error="invalid_token"`, "hft_nobody"},
	} {
		w := &wire{u: u.as("nobody", tc.token), base: u.gateway.URL}
		response := w.do(t.Context(), http.MethodPost, tc.path, w.message("tools/list", map[string]any{}), "Authorization", bearerHeader(tc.token))
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusUnauthorized, response.StatusCode)
		challenge := response.Header.Get("WWW-Authenticate")
		require.Contains(t, challenge, tc.has)
		require.NotContains(t, challenge, tc.lacks)
		require.Contains(t, strings.ToLower(response.Header.Get("Access-Control-Expose-Headers")), "www-authenticate")
		named := metadataURL.FindStringSubmatch(challenge)
		require.Len(t, named, 2, challenge)
		require.Equal(t, u.gateway.URL+"/.well-known/oauth-protected-resource/mcp", named[1])

		request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, named[1], nil)
		require.NoError(t, err)
		found, err := (&http.Client{Timeout: late}).Do(request) //nolint:bodyclose // decode closes it
		require.NoError(t, err)
		var metadata struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Methods  []string `json:"bearer_methods_supported"`
		}
		require.Equal(t, http.StatusOK, found.StatusCode)
		decode(t, found, &metadata)
		require.Equal(t, u.gateway.URL+"/mcp", metadata.Resource)
		require.Equal(t, []string{u.provider.Issuer()}, metadata.Servers)
		require.Equal(t, []string{"header"}, metadata.Methods)
	}
}

func bearerHeader(token string) string {
	if token == "" {
		return ""
	}
	return "Bearer " + token
}
