package mcpserver_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// hasty is a client that ends its session right before something is kept of it.
type hasty struct {
	mcpserver.Sessions

	store *store.Store
	// fault, when set, is what fails instead: nobody has ended anything.
	fault error
}

func (h hasty) end(ctx context.Context, id string) error {
	if h.fault != nil {
		return h.fault
	}
	_, err := h.store.TerminateSession(ctx, id, time.Now())
	return errors.Join(err, session.ErrNotFound)
}

func (h hasty) ChangeState(ctx context.Context, id, protocol string, change func([]byte) ([]byte, error)) error {
	if err := h.end(ctx, id); h.fault != nil {
		return err
	}
	return h.Sessions.ChangeState(ctx, id, protocol, change)
}

func (h hasty) Touch(ctx context.Context, row store.Session, _ time.Time, _ string) error {
	return h.end(ctx, row.ID)
}

// The error of a session that was ended is no fault of the gateway: nobody is to be woken by it.
func TestWhatComesTooLateForASessionThatItsClientHasEndedIsNoFault(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault        error
		saved, noted string
	}{
		"ended": {nil, "DEBUG", "DEBUG"}, "away": {errDown, "ERROR", "WARN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := mcpservertest.New(t)
			g.Sessions = func(s mcpserver.Sessions) mcpserver.Sessions { return hasty{s, g.Store, tc.fault} }
			p := newPeer(t, g.Start().URL)
			p.session = p.post(initializeBody(p.protocol)).header.Get("Mcp-Session-Id")
			require.Equal(t, http.StatusAccepted, p.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).status)
			testkit.Eventually(t, within, func() bool {
				return g.Logs.Count(`"level":"`+tc.saved+`","msg":"what an MCP session negotiated is not stored"`) == 1
			}, "what was negotiated is missed")

			g.Sessions = nil
			other := newPeer(t, g.Start().URL)
			other.initialize()
			g.Sessions = func(s mcpserver.Sessions) mcpserver.Sessions { return hasty{s, g.Store, tc.fault} }
			waking := other.at(g.Start().URL)
			waking.post(call(1, "echo", object{"text": "x"}))
			testkit.Eventually(t, within, func() bool {
				return g.Logs.Count(`"level":"`+tc.noted+`","msg":"the use of an MCP session was not noted"`) == 1
			}, "the waking is missed")
		})
	}
}
