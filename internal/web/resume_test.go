package web_test

import (
	"encoding/json"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Case 49, without scripts.
func TestThePageShowsWhatIsDecidedOnAndThenTheRealOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann := r.as("ann")
	page := ann.get(link(row))
	require.Equal(t, http.StatusOK, page.status)
	text := html.UnescapeString(page.body)
	for _, shown := range []string{
		"github.create_issue", "Ann Example", "claude-code 2.1", "rule 2: github.*", "acme/site", "[REDACTED]", "12345678901234567890",
		`value="accept"`, `value="decline"`, `value="cancel"`, "Create an issue in acme/site",
	} {
		require.Contains(t, text, shown)
	}
	sent := ann.post(link(row), "action", "accept", "reason", "fine by me")
	require.Equal(t, http.StatusSeeOther, sent.status)
	require.Equal(t, []executions.Answer{{ID: row.ID, Action: approval.ActionAccept, Reason: "fine by me"}}, r.engine.answered())
	after := ann.get(sent.header.Get("Location")).body
	require.Contains(t, after, "Running")
	require.NotContains(t, after, "was not taken")
	require.NotContains(t, after, `value="accept"`)
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCompleted, Calls: 1}, "issue 12 made with ghp_secret123")
	done := ann.get(link(row)).body
	require.Contains(t, done, "The tool ran and answered")
	require.Contains(t, done, "issue 12 made with [REDACTED]")
	require.Contains(t, done, "fine by me")
}

func TestEveryEndIsToldInItsOwnWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann := r.as("ann")
	for kind, says := range map[approval.OutcomeKind]string{
		approval.OutcomeFailed: "The call failed", approval.OutcomeDeclined: "Declined: the tool was not called", approval.OutcomeCancelled: "Called off",
		approval.OutcomeUnknown: "It may have run",
	} {
		row := r.pause()
		require.Equal(t, http.StatusSeeOther, ann.post(link(row), "action", "decline").status)
		r.settle(row.Key, approval.Outcome{Kind: kind, Message: "cut"}, "")
		require.Contains(t, ann.get(link(row)).body, says)
	}
	row := r.pause()
	ann.post(link(row), "action", "accept")
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCompleted, ToolError: true}, "no such repository")
	require.Contains(t, ann.get(link(row)).body, "answered with an error")
	dropped := r.pause()
	dropped.Dropped = true
	require.NoError(t, r.store.RecordDecided(t.Context(), dropped.Pause, nil))
	require.Contains(t, ann.get(link(dropped)).body, "No answer is needed any more")
}

func TestAfterTheDeadlineThereIsNoButton(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann := r.as("ann")
	r.advance(5 * time.Minute)
	page := ann.get(link(row)).body
	require.Contains(t, page, "Too late")
	require.Contains(t, page, "ask for the call again")
	require.NotContains(t, page, `value="accept"`)
	late := ann.post(link(row), "action", "accept")
	require.Contains(t, ann.get(late.header.Get("Location")).body, "it came too late")
	require.NotContains(t, ann.get("/approvals").body, row.ID)
}

func TestThePageTellsWhatTheSourceSaysOfItsToolAsTheSourcesWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann := r.as("ann")
	require.NotContains(t, ann.get(link(row)).body, "says of this tool", "the tool is not known")
	r.tools.knows(row.Address, "Creates <b>one</b> issue.\n\n\n  Safe\u202e, says "+strings.Repeat("ü", 600), "")
	page := ann.get(link(row)).body
	require.Contains(t, page, "<h2><bdi>github</bdi> says of this tool</h2>")
	require.Contains(t, page, "<bdi>Creates &lt;b&gt;one&lt;/b&gt; issue.\nSafe\\u202e, says üüü")
	require.Contains(t, page, "ü…</bdi>")
	require.NotContains(t, page, strings.Repeat("ü", 500))
	require.Contains(t, page, "nobody has checked them")
	r.tools.knows(row.Address, strings.Repeat("line\n", 90), "")
	require.Equal(t, 8, strings.Count(ann.get(link(row)).body, "line\n")+strings.Count(ann.get(link(row)).body, "line…"), "it does not push the question away")
	r.tools.knows(row.Address, " \n ", "")
	require.NotContains(t, ann.get(link(row)).body, "says of this tool", "it says nothing")
}

func TestOfALongResultOnlyTheBeginningIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann := r.as("ann")
	for name, result := range map[string]string{
		"one text":   `{"content":[{"type":"text","text":"begin ` + strings.Repeat("x", 1<<20) + `"}]}`,
		"many texts": `{"content":[{"type":"text","text":"begin"}` + strings.Repeat(`,{"type":"text","text":"xxxxxxxx"}`, 1<<15) + `]}`,
		"structured": `{"content":[],"structuredContent":{"begin":[1` + strings.Repeat(",1", 1<<15) + `]}}`,
	} {
		row := r.pause()
		ann.post(link(row), "action", "accept")
		r.engine.mu.Lock()
		r.engine.results[row.Key] = json.RawMessage(result)
		r.engine.mu.Unlock()
		r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCompleted, Calls: 1}, "")
		page := ann.get(link(row)).body
		require.Contains(t, page, "begin", name)
		require.Contains(t, page, "Only the beginning is shown", name)
		require.Less(t, len(page), 20_000, name)
	}
}

func TestSpansOfTimeAreSaidWithoutARestOfNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann := r.as("ann")
	for window, says := range map[time.Duration]string{
		20 * time.Second: "20 s", 4 * time.Minute: "4 min", 90 * time.Second: "1 min 30 s", 2 * time.Hour: "2 h", 150 * time.Minute: "2 h 30 min",
		72 * time.Hour: "3 days",
	} {
		row := r.pause(func(_ *store.Execution, p *store.PauseRow) {
			p.CreatedAt = p.CreatedAt.Add(-window)
			p.Deadline = p.CreatedAt.Add(window)
		})
		require.Contains(t, ann.get(link(row)).body, "The window of "+says+" ended")
	}
}

func TestWhatTheAddressSaysIsNotSaidAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause(func(e *store.Execution, p *store.PauseRow) { p.Request.Message = executions.GateMessage(e.Address) })
	ann := r.as("ann")
	require.NotContains(t, ann.get(link(row)).body, `class="message"`)
	require.NotContains(t, ann.get("/approvals").body, executions.GateMessage(row.Address))
}
