package web_test

import (
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestTheHistoryIsReadInPagesAndByWhatWasDecided(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann := r.as("ann")
	for i := range 30 {
		row := r.pause(func(e *store.Execution, p *store.PauseRow) {
			e.CreatedAt = e.CreatedAt.Add(time.Duration(i) * time.Second)
			p.CreatedAt = e.CreatedAt
			if i == 3 {
				e.Address = "mail.send"
			}
		})
		row.Decision = &approval.Decision{Action: approval.ActionAccept, By: "oidc:ann", Name: "Ann", Via: approval.ViaCLI, At: row.CreatedAt.Add(7 * time.Second)}
		if i%10 == 0 {
			row.Decision, row.Expired = nil, true
		}
		require.NoError(t, r.store.RecordDecided(t.Context(), row.Pause, nil))
	}
	first := ann.get("/approvals/history")
	require.Equal(t, 25, strings.Count(first.body, `class="address" href="/resume/`))
	require.Contains(t, first.body, "7 s")
	require.Contains(t, first.body, "by the command line")
	_, rest, found := strings.Cut(first.body, `href="/approvals/history?before=`)
	require.True(t, found)
	next, _, _ := strings.Cut(rest, `"`)
	second := ann.get("/approvals/history?before=" + html.UnescapeString(next))
	require.Equal(t, 5, strings.Count(second.body, `class="address" href="/resume/`))
	require.NotContains(t, second.body, "Older")
	require.Equal(t, 3, strings.Count(ann.get("/approvals/history?ending=expired").body, `class="address" href="/resume/`))
	require.Equal(t, 1, strings.Count(ann.get("/approvals/history?q=MAIL").body, `class="address" href="/resume/`))
	require.Contains(t, ann.get("/approvals/history?ending=declined").body, "Nothing to show")
	require.Equal(t, http.StatusNotFound, ann.get("/approvals/history?before=x").status)
	require.Contains(t, r.as("bob").get("/approvals/history").body, "Nothing to show")
}
