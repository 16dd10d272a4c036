package mcpprobe

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	clientName    = "holdfast-probe"
	clientVersion = "1.0.0"
	// protocolVersion is what a probe asks for: what the engine's own client is sure to get as well. The endpoint may
	// answer with any other version that has a handshake.
	protocolVersion = "2025-06-18"
)

// fresh is a session that this probe made.
type fresh struct {
	wire    *wire
	session *mcp.ClientSession
	names   []string
	err     error
}

// open makes a session and reads its tools. Its error is in the returned value; the session may be open nevertheless.
func (p *prober) open(ctx context.Context) *fresh {
	f := &fresh{wire: p.wire}
	client := mcp.NewClient(&mcp.Implementation{Name: clientName, Version: clientVersion}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	client.AddSendingMiddleware(p.watch)
	f.session, f.err = client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:             p.endpoint.String(),
		HTTPClient:           p.client,
		MaxRetries:           1,
		DisableStandaloneSSE: true,
		MaxEventSize:         -1, // the wire bounds all answers together
	}, &mcp.ClientSessionOptions{ProtocolVersion: protocolVersion})
	if f.err != nil {
		return f
	}
	p.greet(f.session)
	f.names, f.err = list(ctx, func(ctx context.Context, cursor string) (*mcp.ListToolsResult, error) {
		return f.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
	})
	return f
}

// greet notes who answered.
func (p *prober) greet(session *mcp.ClientSession) {
	p.scrub.add(session.ID())
	hello := session.InitializeResult()
	p.result.Trace.ProtocolVersion = hello.ProtocolVersion
	if hello.ServerInfo != nil {
		p.result.Trace.Server = &ServerInfo{
			Name:    p.scrub.clean(hello.ServerInfo.Name),
			Version: p.scrub.clean(hello.ServerInfo.Version),
		}
	}
}

// close ends the session, with DELETE unless it is to be kept, and returns the kept one.
func (f *fresh) close(keep bool, server *ServerInfo) *Session {
	if f.session == nil {
		return nil
	}
	var kept *Session
	if id := f.session.ID(); keep && id != "" {
		kept = &Session{ID: id, ProtocolVersion: f.session.InitializeResult().ProtocolVersion}
		if server != nil {
			kept.ServerName, kept.ServerVersion = server.Name, server.Version
		}
	}
	f.wire.keep.Store(kept != nil)
	_ = f.session.Close() // best effort: endpoints may refuse DELETE
	f.wire.keep.Store(false)
	return kept
}

// watch is the SDK's middleware: it makes a step, with a deadline, of each request that a trace shows.
func (p *prober) watch(next mcp.MethodHandler) mcp.MethodHandler {
	steps := map[string]string{
		"initialize":                StepInitialize,
		"notifications/initialized": StepInitializedNotice,
		"tools/list":                StepToolsList,
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		name, shown := steps[method]
		if !shown {
			return next(ctx, method, req)
		}
		ctx, s := p.begin(ctx, name)
		if params, isList := req.GetParams().(*mcp.ListToolsParams); isList {
			s.further = params.Cursor != ""
		}
		result, err := next(ctx, method, req)
		if page, isPage := result.(*mcp.ListToolsResult); isPage && err == nil && page.Tools == nil {
			err = errNoTools
		}
		s.end(ctx, err)
		return result, err
	}
}
