package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// proxy sends each connection to the next replica, and can cut them all.
type proxy struct {
	url   string
	turn  atomic.Int64
	begun atomic.Int64 // streams of which the client was sent an event
	mu    sync.Mutex
	to    []string
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, to ...*mcpservertest.Replica) *proxy {
	t.Helper()
	var config net.ListenConfig
	socket, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{url: "http://" + socket.Addr().String() + "/mcp", conns: map[net.Conn]bool{}}
	for _, r := range to {
		p.to = append(p.to, r.Server.Listener.Addr().String())
	}
	var open sync.WaitGroup
	t.Cleanup(func() {
		socket.Close()
		p.cut()
		open.Wait()
	})
	open.Go(func() {
		for {
			c, err := socket.Accept()
			if err != nil {
				return
			}
			open.Go(func() { p.pass(c) })
		}
	})
	return p
}

func (p *proxy) pass(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	to := p.to[int(p.turn.Add(1)-1)%len(p.to)]
	p.mu.Unlock()
	var dialer net.Dialer
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	server, err := dialer.DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(client, &watch{of: p}), server)
	client.Close()
	<-done
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

// watch counts the first event of a stream that passes.
type watch struct {
	of   *proxy
	seen bool
}

func (w *watch) Write(data []byte) (int, error) {
	if !w.seen && bytes.Contains(data, []byte("id: ")) && !bytes.Contains(data, []byte("_GET_stream")) {
		w.seen = true
		w.of.begun.Add(1)
	}
	return len(data), nil
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// only sends everything to one replica from now on.
func (p *proxy) only(r *mcpservertest.Replica) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = []string{r.Server.Listener.Addr().String()}
}

// bearer adds a token to each request.
type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer ann")
	return b.next.RoundTrip(r)
}

// connect connects the SDK's own client. An empty version is the latest.
func connect(t *testing.T, url, version string, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true} // each request is another connection: it meets any replica
	client := mcp.NewClient(&mcp.Implementation{Name: "stock", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{transport}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func callTool(ctx context.Context, session *mcp.ClientSession, tool string, arguments any) (string, error) {
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", err
	}
	content, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		return "", fmt.Errorf("%T is no text", r.Content[0])
	}
	return content.Text, nil
}

func TestA13FifteenOfFifteenSessionsAreCleanBehindARoundRobin(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	front := newProxy(t, g.Start(), g.Start(), g.Start())
	for i := range 15 {
		session := connect(t, front.url, "2025-11-25", nil)
		require.Len(t, session.ID(), 64)
		tools, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.NotEmpty(t, tools.Tools)
		said, err := callTool(t.Context(), session, "echo", object{"text": fmt.Sprint(i)})
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), said)
		require.NoError(t, session.Close())
		row, err := g.Store.Session(t.Context(), session.ID())
		require.NoError(t, err)
		require.False(t, row.TerminatedAt.IsZero())
	}
}

func TestA12ASessionGoesOnUnderItsIDAfterARestart(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	r := g.Start()
	front := newProxy(t, r)
	session := connect(t, front.url, "2025-11-25", nil)
	fresh := g.Start()
	front.only(fresh)
	r.Kill()
	said, err := callTool(t.Context(), session, "echo", object{"text": "on"})
	require.NoError(t, err)
	require.Equal(t, "on", said)
}

func TestCase53AStockClientWhosePOSTIsCutGetsItsAnswer(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	front := newProxy(t, g.Start(), g.Start(), g.Start())
	session := connect(t, front.url, "2025-11-25", nil)
	type outcome struct {
		said string
		err  error
	}
	answered := make(chan outcome, 1)
	go func() {
		said, err := callTool(t.Context(), session, "hold", object{"gate": "cut"})
		answered <- outcome{said, err}
	}()
	held(t, g, "cut", 1)
	testkit.Eventually(t, within, func() bool { return front.begun.Load() == 1 }, "the client has the first event")
	front.cut()
	g.Host.Open("cut")
	got := <-answered
	require.NoError(t, got.err)
	require.Equal(t, "released cut", got.said)
	require.Len(t, g.Host.Calls("cut"), 1)
}

func TestACallWhoseReplicaIsKilledIsTakenOverUnderItsName(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Timing.Lease, g.Settings.Timing.Sweep = 300*time.Millisecond, 100*time.Millisecond
	dying := g.Start()
	p := newPeer(t, dying.URL)
	p.initialize()
	s := p.open(http.MethodPost, call(3, "hold", object{"gate": "g"}), "")
	priming, _ := s.next()
	// Killed is: nothing is said to anybody any more, and the leases end by themselves.
	g.Freeze(dying)
	other := g.Start()
	again := p.at(other.URL).open(http.MethodGet, "", priming.id)
	held(t, g, "g", 2)
	g.Host.Open("g")
	f := again.data()
	require.Equal(t, "released g", result(t, f.data))
	require.Contains(t, f.data, `"id":3`)
	calls := g.Host.Calls("g")
	require.Equal(t, calls[0], calls[1], "the second is the first's, by its name")
	require.NotEmpty(t, calls[0])
	again.end()
}

func TestAListenerAlsoTakesOverWhatAKilledReplicaLeft(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Timing.Lease, g.Settings.Timing.Sweep = 300*time.Millisecond, 100*time.Millisecond
	dying := g.Start()
	p := newPeer(t, dying.URL)
	p.initialize()
	p.open(http.MethodPost, call(3, "hold", object{"gate": "g"}), "").next()
	g.Freeze(dying)
	g.Host.Open("g")
	other := p.at(g.Start().URL)
	testkit.Eventually(t, within, func() bool {
		streams, err := g.Store.RunningStreams(t.Context(), p.session)
		return err == nil && len(streams) == 1 && streams[0].Until.Before(time.Now())
	}, "the lease ends")
	listening := other.open(http.MethodGet, "", "")
	require.Equal(t, "released g", result(t, listening.data().data))
}

func TestARequestThatCannotBeTakenOverIsAnsweredAsLost(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	require.NoError(t, g.Store.OpenStream(t.Context(), store.Stream{
		Session: p.session, ID: "left", Requests: []string{"4"}, OpenedAt: time.Now(), Messages: []byte("[]"), Owner: "gone", Until: time.Now().Add(-time.Second),
	}))
	s := p.open(http.MethodGet, "", "left:0000000000000000")
	f := s.data()
	require.Contains(t, result(t, f.data), "error -32010")
	require.Contains(t, f.data, `"id":4`)
	s.end()
}

func TestAStopIsToldToHeldCallsAndRefusesOthers(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	stopping := g.Start()
	p := newPeer(t, stopping.URL)
	p.initialize()
	s := p.open(http.MethodPost, call(1, "hold", object{"gate": "g"}), "")
	s.next()
	listening := p.open(http.MethodGet, "", "")
	listening.next()
	stopping.Drain()
	require.Equal(t, "pending g", result(t, s.data().data))
	s.end()
	listening.end()
	a := p.post(call(1, "echo", object{})).requireError(http.StatusServiceUnavailable, -32001)
	require.NotEmpty(t, a.header.Get("Retry-After"))
}

func TestWhatIsNotAnsweredWhenAGatewayStopsIsFreeForOthersAtOnce(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Timing.Lease = 10 * within
	g.Settings.Timing.Drain = time.Millisecond
	stopping := g.Start()
	p := newPeer(t, stopping.URL)
	p.initialize()
	s := p.open(http.MethodPost, call(1, "ask", object{"text": "?"}), "") // deaf to the stop
	asked := s.data()
	stopping.Drain()
	stopping.Kill()
	other := p.at(g.Start().URL)
	again := other.open(http.MethodGet, "", asked.id)
	var question struct{ ID json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(again.data().data), &question))
	other.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, question.ID))
	require.Contains(t, result(t, again.data().data), "decline")
}

func TestStockClientsOfBothErasAreServedOnOneURL(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	r := g.Start()
	for _, version := range []string{"", "2025-11-25", "2025-06-18", "2025-03-26"} {
		session := connect(t, r.URL, version, nil)
		require.Equal(t, version != "", session.ID() != "", version)
		said, err := callTool(t.Context(), session, "echo", object{"text": version})
		require.NoError(t, err)
		require.Equal(t, version, said)
		who, err := callTool(t.Context(), session, "who", object{})
		require.NoError(t, err)
		require.Contains(t, who, "token:ann ")
		require.NoError(t, session.Close())
	}
}

func TestAModernCallThatIsHeldIsKeptAlive(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Timing.KeepAlive, g.Settings.Timing.Quick = 10*time.Millisecond, 10*time.Millisecond
	r := g.Start()
	p := newPeer(t, r.URL)
	body := statelessBody("hold", object{"gate": "g"}, nil)
	request := func() *http.Request {
		q := p.request(t.Context(), http.MethodPost, body)
		q.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		q.Header.Set("Mcp-Method", "tools/call")
		q.Header.Set("Mcp-Name", "hold")
		q.Header.Set("Mcp-Session-Id", "ignored")
		return q
	}
	response, err := p.client.Do(request())
	require.NoError(t, err)
	defer response.Body.Close()
	s := &stream{t: t, response: response, frames: make(chan frame, 1000)}
	require.Equal(t, "no", response.Header.Get("X-Accel-Buffering"))
	go s.read()
	for range 3 {
		require.Equal(t, "keepalive", (<-s.frames).comment)
	}
	g.Host.Open("g")
	require.Equal(t, "released g", result(t, s.data().data))
	require.Equal(t, "modern 2", g.Host.Metas()[0].Client)
	require.Empty(t, g.Host.Metas()[0].Session)

	// Without its header such a request is told what is missing.
	g.Settings.Timing.Quick = within
	mismatch := p.at(g.Start().URL).post(body)
	require.Equal(t, http.StatusBadRequest, mismatch.status)
	require.Contains(t, mismatch.body, "-32020")
	stranger := p.as("").do(p.as("").request(t.Context(), http.MethodPost, body))
	stranger.requireError(http.StatusUnauthorized, -32001)
}
