package conformance_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
)

// anybody lets the suite in: it has no option for a token.
type anybody struct{}

func (anybody) Authenticate(context.Context, *http.Request) (auth.Principal, error) {
	return auth.Principal{
		ID: "token:suite", Name: "suite", Role: auth.RoleCollaborator,
		Identity: approval.Identity{Account: "suite", Organisation: auth.DefaultOrganisation},
	}, nil
}

// testHost is a gateway with what the suite asks for behind it. Its lists are slow enough to be streams.
func testHost(t *testing.T) *mcpservertest.Gateway {
	t.Helper()
	g := mcpservertest.New(t)
	g.MCP, g.Auth = mcpservertest.Conformance{Slow: time.Second}, anybody{}
	return g
}

// front is a proxy that sends each request to the next of its targets, as it came but for a token.
func front(t *testing.T, token string, targets ...string) string {
	t.Helper()
	var to []*url.URL
	for _, target := range targets {
		parsed, err := url.Parse(target)
		require.NoError(t, err)
		to = append(to, parsed)
	}
	var turn atomic.Int64
	transport := &http.Transport{}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			next := to[int(turn.Add(1))%len(to)]
			r.Out.URL.Scheme, r.Out.URL.Host = next.Scheme, next.Host
			r.Out.Host = r.In.Host
			if token != "" {
				r.Out.Header.Set("Authorization", "Bearer "+token)
			}
		},
	})
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL
}
