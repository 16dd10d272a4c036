package origin_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/origin"
)

func TestOnlyPagesOfTheGatewayItselfChangeSomething(t *testing.T) {
	t.Parallel()
	p := origin.Policy{Public: "https://holdfast.example", Origins: []string{"https://ui.example"}}
	for _, tc := range []struct {
		host, origin, site string
		same               bool
	}{
		{"127.0.0.1:8236", "http://127.0.0.1:8236", "", true},
		{"127.0.0.1:8236", "", "same-origin", true},
		{"127.0.0.1:8236", "", "", false},
		{"127.0.0.1:8236", "", "cross-site", false},
		{"127.0.0.1:8236", "", "same-site", false},
		{"127.0.0.1:8236", "http://127.0.0.1:9", "same-origin", false},
		{"127.0.0.1:8236", "null", "same-origin", false},
		{"127.0.0.1:8236", "https://ui.example", "", false},
		{"127.0.0.1:8236", "https://holdfast.example", "", true},
		{"holdfast.example", "https://holdfast.example", "", true},
		{"evil.example", "http://evil.example", "", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+tc.host+"/", nil)
		r.Header.Set("Origin", tc.origin)
		r.Header.Set("Sec-Fetch-Site", tc.site)
		require.Equal(t, tc.same, p.SameSite(r), "%+v", tc)
	}
	require.True(t, p.Foreign("https://ui.example"))
	require.False(t, p.Foreign("https://ui.example.evil"))
}

func TestTheGatewayIsReachedByItsOwnNamesOnly(t *testing.T) {
	t.Parallel()
	p := origin.Policy{Public: "https://holdfast.example:8443", Hosts: []string{"mcp.example"}}
	for host, ours := range map[string]bool{
		"localhost": true, "127.0.0.1:1": true, "[::1]:1": true, "MCP.example:9": true, "holdfast.example": true, "10.0.0.7": false,
		"mcp.example.": false, "evil.example": false, "": false,
	} {
		require.Equal(t, ours, p.Host(host), host)
	}
	require.True(t, origin.Policy{AnyAddress: true}.Host("10.0.0.7:8236"))
	require.False(t, origin.Policy{}.Host(""))
}

func TestLinksLeadToWhereEverybodyReachesTheGateway(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:8236/", nil)
	require.Equal(t, "http://127.0.0.1:8236", origin.Policy{}.Base(r))
	require.Equal(t, "https://holdfast.example", origin.Policy{Public: "https://holdfast.example"}.Base(r))
	secure := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:8236/", nil)
	require.Equal(t, "https://127.0.0.1:8236", origin.Policy{}.Base(secure))
}
