package stack

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/app"
	"github.com/holdfast-mcp/holdfast/internal/auth"
)

// Gateway is a running gateway of a stack.
type Gateway struct {
	URL string
	// Stop is also done at the end of the test.
	Stop func()
}

// StartGateway starts a gateway on the stack's store, at an address of its own.
func (s *Stack) StartGateway() *Gateway {
	s.TB.Helper()
	g, err := s.TryGateway("127.0.0.1:0")
	require.NoError(s.TB, err)
	return g
}

// TryGateway starts one at an address, or says why it does not start.
func (s *Stack) TryGateway(listen string) (*Gateway, error) {
	s.TB.Helper()
	cfg := s.Config
	cfg.Gateway.Listen = listen
	var server *app.GatewayServer
	graph := fx.New(app.Gateway(app.Options{
		Config: cfg, Version: "test", Address: s.Server.Address(), Namespace: s.Server.Namespace(), LogOutput: s.logs,
	}), fx.Populate(&server))
	require.NoError(s.TB, graph.Err())
	starting, cancel := context.WithTimeout(context.Background(), workerStart)
	defer cancel()
	started := graph.Start(starting)
	var once sync.Once
	stop := func() {
		once.Do(func() {
			stopping, cancel := context.WithTimeout(context.Background(), graph.StopTimeout())
			defer cancel()
			if err := graph.Stop(stopping); err != nil {
				s.TB.Errorf("stop gateway: %v", err)
			}
		})
	}
	s.TB.Cleanup(stop)
	if started != nil {
		return nil, started
	}
	return &Gateway{URL: server.URL(), Stop: stop}, nil
}

// Token makes an API token of a role.
func (s *Stack) Token(role auth.Role) string {
	s.TB.Helper()
	tokens := auth.NewTokens(s.Store, nil)
	defer tokens.Close()
	secret, _, err := tokens.Create(s.TB.Context(), auth.Request{Name: "test", Role: role, By: "test"})
	require.NoError(s.TB, err)
	return secret.Reveal()
}
