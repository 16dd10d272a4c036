package mcpserver_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
)

func TestTheConformanceHostHasStreamsToCheck(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.MCP = mcpservertest.Conformance{Slow: 500 * time.Millisecond}
	p := newPeer(t, g.Start().URL)
	p.initialize()
	list := p.open(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "")
	priming, _ := list.next()
	require.NotEmpty(t, priming.id)
	require.Contains(t, list.data().data, "test_simple_text")
	s := p.open(http.MethodPost, call(1, "test_reconnection", object{}), "")
	priming, _ = s.next()
	closing, _ := s.next()
	require.Equal(t, "10", closing.retry)
	require.Contains(t, result(t, p.open(http.MethodGet, "", priming.id).data().data), "come back")
}
