package catalog_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

var yes, no = new(true), new(false)

// listing makes a server list tools of the test's own, in pages.
func listing(server *upstream.Server, pages ...string) {
	server.Intercept(func(method string, w http.ResponseWriter, r *http.Request) bool {
		if method != "tools/list" {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		n := 0
		for i := range pages {
			if strings.Contains(string(body), fmt.Sprintf(`"cursor":"page-%d"`, i)) {
				n = i
			}
		}
		next := ""
		if n+1 < len(pages) {
			next = fmt.Sprintf(`,"nextCursor":"page-%d"`, n+1)
		}
		answer(w, r, fmt.Sprintf(`"result":{"tools":[%s]%s}`, pages[n], next))
		return true
	})
}

func addresses(t *testing.T, sources *catalog.Sources) []string {
	t.Helper()
	hits, err := sources.Search(t.Context(), "", 1000)
	require.NoError(t, err)
	found := []string{}
	for _, hit := range hits {
		found = append(found, hit.Tool.Address)
	}
	return found
}

func TestToolsAreListedWithAllPagesAndFoundByAddress(t *testing.T) {
	t.Parallel()
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			sources := open(t, start(t, options))
			tool, err := sources.Lookup(t.Context(), "up.echo")
			require.NoError(t, err)
			require.Equal(t, "Echo", tool.Title)
			require.Equal(t, "up", tool.Source)
			require.Equal(t, policy.Annotations{ReadOnly: yes, Idempotent: yes, Destructive: no}, tool.Annotations)
			require.JSONEq(t, `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, string(tool.Input))
			require.True(t, tool.Harmless())
			_, err = sources.Lookup(t.Context(), "up.nothing")
			require.ErrorIs(t, err, catalog.ErrNoTool)
			_, err = sources.Lookup(t.Context(), "down.echo")
			require.ErrorIs(t, err, catalog.ErrNoTool)
			require.Equal(t, []string{"up"}, sources.Sources())
			require.Len(t, addresses(t, sources), 10)
			require.NoError(t, sources.Refresh(t.Context(), "up"), "what is cached is listed, too")
			require.Len(t, addresses(t, sources), 10)
		})
	}
}

func TestHintsThatAreFalseAreNotThoseThatAreAbsent(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	listing(server,
		`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":false,"title":"A"}}`,
		`{"name":"b","inputSchema":{"type":"object"}},{"name":"c","title":"C","annotations":{"readOnlyHint":"yes","title":"no"}}`,
		`{"name":"with.dots-and_more","x-own":1},{"name":"bad name","inputSchema":{}},{"name":""},{"name":"a"},7,{"name":"`+
			strings.Repeat("x", 129)+`"}`)
	log := &logText{}
	sources := openFile(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q}}}`, server.URL()), func(p *catalog.Params) { p.Log = log.logger() })
	require.NoError(t, sources.Refresh(t.Context(), ""))
	require.Equal(t, []string{"up.a", "up.b", "up.c", "up.with.dots-and_more"}, addresses(t, sources))
	a, err := sources.Lookup(t.Context(), "up.a")
	require.NoError(t, err)
	require.Equal(t, policy.Annotations{ReadOnly: no, Destructive: no}, a.Annotations)
	require.Equal(t, "A", a.Title)
	b, err := sources.Lookup(t.Context(), "up.b")
	require.NoError(t, err)
	require.Equal(t, policy.Annotations{}, b.Annotations)
	c, err := sources.Lookup(t.Context(), "up.c")
	require.NoError(t, err)
	require.Equal(t, policy.Annotations{}, c.Annotations, "what cannot be understood counts as absent")
	require.Equal(t, "C", c.Title)
	dots, err := sources.Lookup(t.Context(), "up.with.dots-and_more")
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"with.dots-and_more","x-own":1}`, string(dots.Raw))
	require.JSONEq(t, `{"type":"object"}`, string(dots.Input))
	require.Equal(t, 5, strings.Count(log.String(), "tool left out"), log.String())
}

func TestAnOperatorsWordStandsOverTheSources(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	var generation atomic.Uint64
	generation.Store(1)
	sources := openFile(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q}}}`, server.URL()), func(p *catalog.Params) {
		p.Overrides = func() (map[string]policy.Override, uint64) {
			now := generation.Load()
			return map[string]policy.Override{"up": {
				HonoursKey:  now == 2,
				Annotations: map[string]policy.Annotations{"echo": {ReadOnly: no}, "*": {Destructive: yes}},
			}}, now
		}
	})
	require.NoError(t, sources.Refresh(t.Context(), ""))
	echo, err := sources.Lookup(t.Context(), "up.echo")
	require.NoError(t, err)
	require.Equal(t, policy.Annotations{ReadOnly: no, Idempotent: yes, Destructive: no}, echo.Annotations)
	save, err := sources.Lookup(t.Context(), "up.save")
	require.NoError(t, err)
	require.Equal(t, yes, save.Annotations.Destructive)
	require.False(t, save.HonoursKey)
	generation.Store(2)
	save, err = sources.Lookup(t.Context(), "up.save")
	require.NoError(t, err)
	require.True(t, save.HonoursKey, "a changed file counts at once")
}

// A11
func TestToolsThatASourceAddsAreOffered(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	// The news may be missed by a stream that is still being opened: then the next is heard.
	n := 0
	testkit.Eventually(t, 2*time.Minute, func() bool {
		n++
		if n%200 == 1 {
			server.AddTool(fmt.Sprintf("added_%d", n))
		}
		_, err := sources.Lookup(t.Context(), "up.added_1")
		return err == nil
	}, "the tool is offered")
}

func TestASourceThatIsDownKeepsItsToolsAndIsToldAsSuch(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	up := sources.Status()[0]
	require.Equal(t, catalog.StateUp, up.State)
	require.Equal(t, 10, up.Tools)
	require.Equal(t, "http", up.Transport)
	require.Equal(t, "2025-11-25", up.Protocol)
	server.Close()
	require.Error(t, sources.Refresh(t.Context(), "up"))
	down := sources.Status()[0]
	require.Equal(t, catalog.StateDown, down.State)
	require.Equal(t, catalog.CodeUnreachable, down.Code)
	require.Equal(t, 10, down.Tools)
	_, err := sources.Lookup(t.Context(), "up.echo")
	require.NoError(t, err)
	require.ErrorIs(t, sources.Refresh(t.Context(), "other"), catalog.ErrNoSource)
}

// A10
func TestAFailedListingIsTriedInANewSession(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	var old atomic.Value
	old.Store("")
	server.Intercept(func(method string, w http.ResponseWriter, r *http.Request) bool {
		id := r.Header.Get("Mcp-Session-Id")
		if method != "tools/list" {
			return false
		}
		old.CompareAndSwap("", id)
		if id != old.Load() {
			return false
		}
		answer(w, r, `"error":{"code":-32600,"message":"expect initialize"}`)
		return true
	})
	require.NoError(t, sources.Refresh(t.Context(), "up"))
	require.NotEmpty(t, old.Load())
	require.Equal(t, catalog.StateUp, sources.Status()[0].State)
}

func TestReadersWaitForTheFirstListing(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := openFile(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q}}}`, server.URL()), nil)
	tool, err := sources.Lookup(t.Context(), "up.echo")
	require.NoError(t, err)
	require.Equal(t, "echo", tool.Name)
}

func TestWhatIsKnownIsReadWithoutWaiting(t *testing.T) {
	t.Parallel()
	server, held := start(t, upstream.Options{}), make(chan struct{})
	server.Intercept(func(string, http.ResponseWriter, *http.Request) bool {
		<-held
		return false
	})
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	sources := openFile(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q}}}`, server.URL()), nil)
	_, err := sources.Known("up.echo")
	require.ErrorIs(t, err, catalog.ErrNotListed)
	_, err = sources.Known("other.echo")
	require.ErrorIs(t, err, catalog.ErrNoTool)
	release()
	require.NoError(t, sources.Refresh(t.Context(), "up"))
	tool, err := sources.Known("up.echo")
	require.NoError(t, err)
	require.Equal(t, "echo", tool.Name)
	_, err = sources.Known("up.nothing")
	require.ErrorIs(t, err, catalog.ErrNoTool)
}

func TestAToolOfASourceThatWasNeverListedIsNotSaidToBeNone(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	var up atomic.Bool
	server.Intercept(func(_ string, w http.ResponseWriter, _ *http.Request) bool {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return !up.Load()
	})
	sources := openFile(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q}}}`, server.URL()), nil)
	require.Error(t, sources.Refresh(t.Context(), "up"))
	for range 2 {
		_, err := sources.Lookup(t.Context(), "up.echo")
		require.ErrorIs(t, err, catalog.ErrNotListed)
		require.NotErrorIs(t, err, catalog.ErrNoTool)
	}
	_, err := sources.Known("up.echo")
	require.ErrorIs(t, err, catalog.ErrNotListed)
	_, err = sources.Lookup(t.Context(), "other.echo")
	require.ErrorIs(t, err, catalog.ErrNoTool, "the file names no such source")
	_, err = sources.Call(t.Context(), catalog.CallRequest{Address: "up.echo"})
	var failure *catalog.CallError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, catalog.CodeUnreachable, failure.Code)
	require.False(t, failure.Sent || failure.Answered, "it may be made later")

	up.Store(true)
	require.NoError(t, sources.Refresh(t.Context(), "up"))
	_, err = sources.Lookup(t.Context(), "up.echo")
	require.NoError(t, err)
	_, err = sources.Lookup(t.Context(), "up.nothing")
	require.ErrorIs(t, err, catalog.ErrNoTool)
}
