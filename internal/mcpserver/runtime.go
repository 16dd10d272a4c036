package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// runtime is a session as one replica holds it: the SDK's server session, the requests that are not answered, the streams. It can be
// made anew from the session's row at any time; nothing of value lives only in it.
type runtime struct {
	e       *Endpoint
	id      string
	meta    Meta
	row     store.Session // without its state
	conn    *conn
	session *mcp.ServerSession
	alarm   *time.Timer

	mu       sync.Mutex
	closed   error
	last     int64 // the last id given to a request
	calls    map[jsonrpc.ID]*call
	asks     map[string]jsonrpc.ID // requests of the server that the client has not answered, by the ids that it knows
	streams  map[string]*stream    // in the log, with requests that are not answered
	users    int                   // requests that are being served
	sinks    int                   // streams that a client reads
	lastUsed time.Time
	touched  time.Time

	states   sync.Mutex
	state    mcp.ServerSessionState
	saved    []byte
	standing standing
}

// call is a request of the client that is not answered.
type call struct {
	id     jsonrpc.ID // on the runtime's connection
	raw    json.RawMessage
	stream *stream                // nil: the transport's own, see done
	done   chan *jsonrpc.Response // of the transport's own
	cancel context.CancelFunc     // of a call that is made past the SDK's server; nil: that cancels it
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// newRuntime builds a session's server and connects it. A state of nil is a session that is being made.
func (e *Endpoint) newRuntime(ctx context.Context, meta Meta, state *mcp.ServerSessionState) (*runtime, error) {
	id := meta.Session
	meta, err := e.Host.ResolveMeta(ctx, meta)
	if err != nil {
		return nil, fmt.Errorf("resolve session: %w", err)
	}
	server, err := e.Host.BuildServer(ctx, meta)
	if err != nil {
		return nil, fmt.Errorf("build server of session: %w", err)
	}
	now := e.Now()
	rt := &runtime{
		e: e, id: id, meta: meta, calls: map[jsonrpc.ID]*call{}, asks: map[string]jsonrpc.ID{}, streams: map[string]*stream{},
		lastUsed: now, touched: now,
	}
	rt.conn = newConn(rt)
	server.AddReceivingMiddleware(rt.receive)
	if state != nil {
		rt.state = *state
	}
	rt.session, err = server.Connect(e.ending, rt.conn, &mcp.ServerSessionOptions{State: state})
	if err != nil {
		return nil, fmt.Errorf("connect server of session: %w", err)
	}
	return rt, nil
}

// receive is the SDK's middleware: it lets what a handler sends find the stream of its request, and keeps what is negotiated.
func (rt *runtime) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
			if c, _ := extra.TokenInfo.Extra[extraCall].(*call); c != nil {
				ctx = context.WithValue(ctx, callKey{}, c)
			}
			ctx = rt.e.withCaller(ctx, PrincipalOf(extra))
		}
		result, err := next(ctx, method, req)
		if err != nil {
			return result, err
		}
		return result, rt.observe(ctx, method, req, result)
	}
}

const extraCall = "holdfast/call"

// extra is what a handler is told of a request.
func (rt *runtime) extra(c *call, who auth.Principal, header http.Header) *mcp.RequestExtra {
	extra := &mcp.RequestExtra{TokenInfo: tokenInfo(who), Header: header}
	known := extra.TokenInfo.Extra
	if c != nil && c.stream != nil {
		known[extraCall] = c
		known[extraRequest] = rt.id + "/" + c.stream.id + "/" + shortID(c.raw)
		extra.CloseSSEStream = c.stream.closeBody
	}
	return extra
}

// tokenInfo is where handlers look for who asks.
func tokenInfo(who auth.Principal) *sdkauth.TokenInfo {
	return &sdkauth.TokenInfo{UserID: who.ID, Extra: map[string]any{extraPrincipal: who}}
}

// register makes calls of a stream's requests. It fails when the runtime has ended meanwhile.
func (rt *runtime) register(s *stream, ids []json.RawMessage) ([]*call, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.closed != nil {
		return nil, rt.closed
	}
	made := make([]*call, 0, len(ids))
	for _, raw := range ids {
		c := &call{id: rt.nextID(), raw: raw, stream: s}
		rt.calls[c.id] = c
		made = append(made, c)
	}
	return made, nil
}

// nextID needs the lock.
func (rt *runtime) nextID() jsonrpc.ID {
	rt.last++
	id, err := jsonrpc.MakeID(float64(rt.last))
	if err != nil {
		panic(err) // a number is an id
	}
	return id
}

// ask sends a request of the transport's own to the server and waits for the answer.
func (rt *runtime) ask(ctx context.Context, method string, params json.RawMessage, extra *mcp.RequestExtra) (*jsonrpc.Response, error) {
	c := &call{done: make(chan *jsonrpc.Response, 1)}
	rt.mu.Lock()
	if rt.closed != nil {
		defer rt.mu.Unlock()
		return nil, rt.closed
	}
	c.id = rt.nextID()
	rt.calls[c.id] = c
	rt.mu.Unlock()
	if !rt.conn.feed(&jsonrpc.Request{ID: c.id, Method: method, Params: params, Extra: extra}) {
		return nil, errAsleep
	}
	select {
	case answer := <-c.done:
		return answer, nil
	case <-rt.conn.done:
		return nil, errAsleep
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answer takes the server's response to a call.
func (rt *runtime) answer(response *jsonrpc.Response) {
	rt.mu.Lock()
	c := rt.calls[response.ID]
	delete(rt.calls, response.ID)
	rt.mu.Unlock()
	switch {
	case c == nil:
	case c.stream == nil:
		c.done <- response
	default:
		c.stream.answer(c, encodeResponse(c.raw, response))
	}
}

// close ends the runtime for a reason that whoever still waits is told.
func (rt *runtime) close(why error) { rt.closeIf(why, func() bool { return true }) }

// closeIf closes where a condition holds while nobody can begin to use the runtime. It reports whether it did.
func (rt *runtime) closeIf(why error, holds func() bool) bool {
	rt.mu.Lock()
	if rt.closed != nil || !holds() {
		rt.mu.Unlock()
		return false
	}
	rt.closed = why
	var open []*stream
	for _, c := range rt.calls {
		if c.stream != nil {
			open = append(open, c.stream)
		}
		if c.cancel != nil {
			c.cancel()
		}
	}
	unanswered := len(rt.streams)
	rt.e.keeper.add(-int64(unanswered + len(rt.asks)))
	clear(rt.streams)
	clear(rt.asks)
	if rt.alarm != nil {
		rt.alarm.Stop()
	}
	rt.mu.Unlock()

	rt.e.residents.remove(rt)
	_ = rt.conn.Close() // it has no error
	for _, s := range open {
		s.abort(why)
	}
	rt.standing.attach(nil, endClosed)
	rt.e.behind.run(func() {
		if unanswered > 0 {
			rt.release()
		}
		_ = rt.session.Close() // it waits for handlers, which were cancelled
	})
	return true
}

// release leaves requests that are not answered to whoever is asked for them next.
func (rt *runtime) release() {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := rt.e.Store.ReleaseStreams(ctx, rt.e.owner, rt.id); err != nil {
		rt.e.Log.WarnContext(ctx, "streams of an MCP session were not released: others take them over when their leases end", "error", err)
	}
}
