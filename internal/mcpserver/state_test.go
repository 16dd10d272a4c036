package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// slow is a replica that takes its time with what is negotiated.
type slow struct {
	mcpserver.Sessions

	let chan struct{}
}

func (s slow) ChangeState(ctx context.Context, id, protocol string, change func([]byte) ([]byte, error)) error {
	<-s.let
	return s.Sessions.ChangeState(ctx, id, protocol, change)
}

// A client does not wait until what it notifies is taken up: its next request may be answered before, at another replica.
func TestWhatTwoReplicasNegotiateAtOnceIsBothKept(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	quick := g.Start()
	let := make(chan struct{})
	g.Sessions = func(s mcpserver.Sessions) mcpserver.Sessions { return slow{s, let} }
	late := g.Start()
	p := newPeer(t, quick.URL)
	p.session = p.post(initializeBody(p.protocol)).header.Get("Mcp-Session-Id")
	require.Equal(t, http.StatusAccepted, p.at(late.URL).post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).status)
	require.Equal(t, http.StatusOK, p.post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`).status)
	close(let)
	testkit.Eventually(t, within, func() bool {
		row, err := g.Store.Session(t.Context(), p.session)
		require.NoError(t, err)
		var state mcp.ServerSessionState
		require.NoError(t, json.Unmarshal(row.State, &state))
		require.EqualValues(t, "debug", state.LogLevel)
		return state.InitializedParams != nil
	}, "both are kept")

	// The replica that was late follows the other.
	logs := p.at(late.URL).open(http.MethodPost, call(2, "note", object{"text": "hello"}), "")
	require.Contains(t, logs.data().data, `"notifications/message"`)
}
