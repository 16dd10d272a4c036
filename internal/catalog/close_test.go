package catalog_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

// What were left over would be found when all tests are over.
func TestASessionThatOpensWhileTheCatalogIsClosedEndsWithIt(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	target, err := url.Parse(server.URL())
	require.NoError(t, err)
	reached := make(chan struct{}, 1)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL = target },
		ModifyResponse: func(*http.Response) error {
			select {
			case reached <- struct{}{}:
			default:
			}
			return nil
		},
	}
	between := httptest.NewServer(proxy)
	t.Cleanup(between.Close)
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers":{"demo":{"url":%q}}}`, between.URL), 0o600))
	for range 30 {
		sources, err := catalog.New(catalog.Params{File: file, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		<-reached
		sources.Close()
		select {
		case <-reached: // of a later request of the same catalog
		default:
		}
	}
}
