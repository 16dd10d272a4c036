package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/web"
)

// listen opens the stream of a live page, and reads it to its end.
func (v *visitor) listen(path string) <-chan string {
	v.r.t.Helper()
	req, err := http.NewRequestWithContext(v.r.t.Context(), http.MethodGet, v.r.server.URL+path, nil)
	require.NoError(v.r.t, err)
	res, err := v.client.Do(req) //nolint:bodyclose // closed where it has been read
	require.NoError(v.r.t, err)
	require.Equal(v.r.t, http.StatusOK, res.StatusCode)
	told := make(chan string, 1)
	go func() {
		defer func() { _ = res.Body.Close() }()
		raw, _ := io.ReadAll(res.Body) // what came is told, whether or not it was cut short
		told <- string(raw)
	}()
	return told
}

func TestALivePageEndsWithItsLoginWithTheGatewayAndWhenAllIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := r.token(auth.RoleOwner, "ann")
	v := r.visitor()
	v.do(http.MethodPost, "/login", url.Values{"token": {text}}, nil)
	over := v.listen("/approvals/events")
	require.NoError(t, r.tokens.Revoke(t.Context(), strings.Split(text, "_")[1]))
	require.Contains(t, <-over, "event: over")

	row := r.pause()
	ann := r.as("ann")
	said := ann.listen(link(row) + "/events")
	ann.post(link(row), "action", "accept")
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCompleted, Calls: 1}, "all done")
	told := <-said
	require.Contains(t, told, "all done")
	require.Contains(t, told, `"final":true`)
	inbox := ann.listen("/approvals/events")
	r.web.Drain()
	<-inbox
}

func TestLivePagesAreCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *auth.Sources, p *web.Params) { p.Settings.Streams = 1 })
	ann := r.as("ann")
	first := ann.listen("/approvals/events")
	require.Equal(t, http.StatusServiceUnavailable, ann.get("/approvals/events").status)
	r.web.Drain()
	<-first
}

// sees waits until so much was counted.
func (r *rig) sees(count *atomic.Int64, least int64) {
	r.t.Helper()
	testkit.Eventually(r.t, within, func() bool { return count.Load() >= least }, fmt.Sprintf("%d were counted", least))
}

func TestALivePageIsMadeAnewOnlyWhenItsOwnCallHasChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann := r.as("ann")
	told := ann.listen(link(row) + "/events")
	r.sees(&r.engine.looks, 1)
	r.sees(&r.store.changes, 20)
	r.pause() // another call
	r.sees(&r.store.changes, r.store.changes.Load()+20)
	require.EqualValues(t, 1, r.engine.looks.Load())
	r.advance(5 * time.Minute)
	r.sees(&r.engine.looks, 2)
	r.sees(&r.store.changes, r.store.changes.Load()+20)
	require.EqualValues(t, 2, r.engine.looks.Load(), "the deadline alone is a change, once")
	r.expire(row)
	text := <-told
	require.Contains(t, text, `"state":"pending"`)
	require.Contains(t, text, `"state":"expired"`)
	require.Contains(t, text, `"final":true`)
}
