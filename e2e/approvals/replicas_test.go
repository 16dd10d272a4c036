package approvals_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// roundRobin is a proxy that gives each request of a session to another gateway than the one before, and so each of those without one.
// One turn for all would, when several sessions go in step, give a session the same gateway again and again.
type roundRobin struct {
	*httptest.Server

	mu   sync.Mutex
	next map[string]int // by session
	// made is which gateway has made a session; elsewhere counts the requests of a session that others got.
	made      map[string]int
	elsewhere map[string]int
	refused   []string // answers to MCP clients that none wants, in words
}

func newRoundRobin(t *testing.T, bases ...string) *roundRobin {
	t.Helper()
	p := &roundRobin{next: map[string]int{}, made: map[string]int{}, elsewhere: map[string]int{}}
	var to []*httputil.ReverseProxy
	for i, base := range bases {
		target, err := url.Parse(base)
		require.NoError(t, err)
		to = append(to, &httputil.ReverseProxy{
			FlushInterval: -1,
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Host = r.In.Host // it is by the proxy's name that clients reach the gateway
			},
			ModifyResponse: func(r *http.Response) error {
				p.saw(i, r)
				return nil
			},
		})
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session := r.Header.Get("Mcp-Session-Id")
		p.mu.Lock()
		at := p.next[session] % len(to)
		p.next[session]++
		p.mu.Unlock()
		to[at].ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

func (p *roundRobin) saw(gateway int, r *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := r.Request.Header.Get("Mcp-Session-Id")
	switch given := r.Header.Get("Mcp-Session-Id"); {
	case asked == "" && given != "":
		p.made[given] = gateway
	case asked != "":
		if at, known := p.made[asked]; known && at != gateway {
			p.elsewhere[asked]++
		}
	}
	if r.StatusCode >= http.StatusBadRequest && r.Request.URL.Path == "/mcp" {
		p.refused = append(p.refused, r.Request.Method+": "+r.Status)
	}
}

// threeReplicas holds A13: fifteen sessions that begin, list, call, wait for a person and end, each request at another replica.
func threeReplicas(t *testing.T, u *user) {
	proxy := newRoundRobin(t, u.gateway.URL, u.StartGateway().URL, u.StartGateway().URL)
	const sessions, atOnce = 15, 5
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	ids := make([]string, sessions)
	for i := range sessions {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			ids[i] = oneSession(t, u, proxy.URL)
		})
	}
	all.Wait()
	proxy.mu.Lock()
	require.Empty(t, proxy.refused)
	require.Len(t, proxy.made, sessions)
	for _, id := range ids {
		require.Positive(t, proxy.elsewhere[id], "others than the one that made it have served it")
	}
	proxy.mu.Unlock()

	// Each replica knows that they have ended, and knows a forged id from one that it has not seen yet.
	alive := u.wire(proxy.URL, "browser")
	for range 3 {
		status, code := (&wire{u: u, base: proxy.URL, session: ids[0]}).status("tools/list", map[string]any{})
		require.Equal(t, http.StatusNotFound, status)
		require.Equal(t, -32001, code)
		status, code = (&wire{u: u, base: proxy.URL, session: strings.Repeat("0", 64)}).status("tools/list", map[string]any{})
		require.Equal(t, http.StatusNotFound, status)
		require.Equal(t, -32001, code)
		status, _ = alive.status("tools/list", map[string]any{})
		require.Equal(t, http.StatusOK, status)
	}
	// A person logs in at one replica, looks at the next and decides at another.
	name := testkit.UniqueName()
	asked := alive.call(gatehost.ToolExecute, executing("mail.put", putting(name)), nil)
	page := u.visit(asked.byPage(t, proxy.URL), "mail.put", "Waiting for an answer")
	approve(page, "The tool ran and answered", "wrote "+name)
	require.Equal(t, "wrote "+name, alive.call(gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID}, nil).Text)
	// A12: a gateway that was started later takes the old id, too.
	status, _ := alive.at(u.StartGateway().URL).status("tools/list", map[string]any{})
	require.Equal(t, http.StatusOK, status)
}

// oneSession is A13's session; it returns its id.
func oneSession(t *testing.T, u *user, base string) string {
	t.Helper()
	name := testkit.UniqueName()
	c, err := u.tryConnect(base, "browser", legacy)
	require.NoError(t, err)
	tools, err := c.ListTools(t.Context(), &mcp.ListToolsParams{})
	require.NoError(t, err)
	require.Len(t, tools.Tools, 4)
	require.Equal(t, name, c.execute("mail.echo", map[string]any{"text": name}).Text)
	asked := c.execute("mail.put", putting(name))
	asked.byPage(t, base)
	outcome := c.later(asked.ExecutionID)
	decided := u.decideAt(base, asked.ExecutionID, approval.ActionAccept)
	require.Equal(t, http.StatusOK, decided.status, string(decided.body))
	require.Equal(t, "wrote "+name, (<-outcome).Text)
	require.Equal(t, 1, u.runs(name))
	id := c.ID()
	require.NoError(t, c.Close())
	return id
}
