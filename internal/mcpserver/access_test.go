package mcpserver_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
)

// door is People whose tokens can be revoked, and one of whom only reads.
type door struct {
	mcpservertest.People

	closed atomic.Bool
}

func (d *door) Authenticate(ctx context.Context, r *http.Request) (auth.Principal, error) {
	if d.closed.Load() {
		return auth.Principal{}, &auth.UnauthorizedError{Problem: "the token is not valid"}
	}
	if r.Header.Get("Authorization") == "Bearer reader" {
		r = r.Clone(ctx)
		r.Header.Set("Authorization", "Bearer ann")
		who, err := d.People.Authenticate(ctx, r)
		who.Role = auth.RoleViewer
		return who, err
	}
	return d.People.Authenticate(ctx, r)
}

func TestAListenerOfARevokedTokenIsSentAway(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	people := &door{}
	g.Auth, g.Settings = people, mcpserver.Settings{Timing: mcpserver.Timing{Sweep: 20 * time.Millisecond}}
	p := newPeer(t, g.Start().URL)
	p.initialize()
	listening := p.open(http.MethodGet, "", "")
	people.closed.Store(true)
	ended := time.After(within)
	for open := true; open; {
		select {
		case _, open = <-listening.frames:
		case <-ended:
			require.Fail(t, "the stream goes on")
		}
	}
	p.send(http.MethodGet, "").requireError(http.StatusUnauthorized, -32001)
}

func TestWhoOnlyReadsHasNoPartInTheSessionsOfOthersOfTheAccount(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Auth = &door{}
	p := newPeer(t, g.Start().URL)
	p.initialize()
	reader := p.as("reader")
	reader.post(call(1, "echo", object{})).requireError(http.StatusForbidden, -32003)
	reader.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).requireError(http.StatusForbidden, -32003)
	reader.send(http.MethodGet, "").requireError(http.StatusForbidden, -32003)
	reader.send(http.MethodDelete, "").requireError(http.StatusForbidden, -32003)
	require.Equal(t, "still", result(t, p.post(call(1, "echo", object{"text": "still"})).body))

	own := newPeer(t, p.url).as("reader")
	own.initialize()
	require.Equal(t, "mine", result(t, own.post(call(1, "echo", object{"text": "mine"})).body))
	require.Equal(t, http.StatusNoContent, own.send(http.MethodDelete, "").status)
}
