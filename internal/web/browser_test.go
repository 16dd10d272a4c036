package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Case 49.
func TestAPersonApprovesAndSeesTheRealOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	r.tools.knows(row.Address, said, "")
	b := r.browser().login("ann", link(row)).sees("github.create_issue", "Login fails on Safari", "claude-code 2.1", "Ann Example", "left", "rule 2",
		"github says of this tool", "Creates an issue in a repository.", "nobody has checked them")
	b.shoot("approval-pending")
	b.fill("#reason", "it is the right repository").click(`button[value="accept"]`).sees("Approved", "Running", "it is the right repository")
	require.False(t, b.has("#answer"))
	b.shoot("approval-running")
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCompleted, Calls: 1}, "Created issue #128 in acme/site\nhttps://github.com/acme/site/issues/128")
	b.sees("The tool ran and answered", "Created issue #128", "tell it").misses("Running")
	b.shoot("approval-done")
	require.Equal(t, approval.ActionAccept, r.engine.answered()[0].Action)
}

func TestALoginByTokenLeadsToThePageThatWasWanted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	b := r.browser().open(link(row)).sees("API token")
	b.shoot("login")
	b.fill("#token", "hft_wrong").click(`form button`).sees("You are not logged in")
	b.shoot("login-refused")
	b.fill("#token", r.token(auth.RoleCollaborator, "elsewhere")).click(`form button`).sees("Nothing here for you")
	b.shoot("not-found")
	require.Equal(t, r.server.URL+link(row), run(b, chromedp.Location()))
}

func TestASecondTabShowsTheFirstDecision(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	first := r.browser().login("ann", link(row)).sees("Approve")
	second := first.second().open(link(row)).sees("Approve")
	first.click(`button[value="decline"]`).sees("Declined", "Ending the call")
	second.sees("Declined", "by Ann Example").misses("With Decline")
	require.False(t, second.has("#answer"), "the other tab hears of it by itself")

	// Who was not told in time is told by the answer.
	row = r.pause()
	first.open(link(row)).sees("Approve")
	stale := r.as("ann")
	stale.post(link(row), "action", "cancel", "reason", "wrong repository")
	late := stale.post(link(row), "action", "accept")
	first.open(late.header.Get("Location")).sees("Your answer was not taken", "cancelled", "wrong repository")
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCancelled}, "")
	first.sees("Called off")
	first.shoot("approval-conflict")
}

func TestTheButtonGoesWithTheDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause(func(_ *store.Execution, p *store.PauseRow) { p.Deadline = p.CreatedAt.Add(20 * time.Second) })
	b := r.browser().login("ann", link(row)).sees("github.create_issue")
	r.advance(time.Minute)
	b.sees("Too late", "ask for the call again").misses("Waiting for you")
	require.False(t, b.has("#answer"))
	r.expire(row)
	b.sees("The tool was not called").misses("Running")
	b.shoot("approval-expired")
}

func TestAFormIsFilledInAndHeldToItsSchema(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause(asForm)
	r.tools.knows(row.Address, strings.Repeat("line\n", 90), "") // on a long page
	b := r.browser().login("ann", link(row)).sees("Which ticket is it?", "Mail of the reporter", "Operations")
	b.shoot("approval-form")
	b.click(`button[value="accept"]`)
	require.True(t, run(b, chromedp.Evaluate[bool](`document.querySelector('[name="f.count"]').matches(":invalid")`)), "the browser holds what is needed")
	// What the browser does not hold, the server does.
	run(b, chromedp.Evaluate[bool](`(document.getElementById("answer").noValidate = true)`))
	b.fill(`[name="f.count"]`, "99").click(`button[value="accept"]`).sees("nothing was sent yet", "It has to be 1 to 10")
	b.inSight("#answer > .problem")
	b.shoot("approval-form-wrong")
	b.fill(`[name="f.count"]`, "3").click(`button[value="accept"]`).sees("Approved")
	require.Contains(t, string(r.engine.answered()[0].Content), `"count":3`)
}

func TestAPageOfTheToolIsNamedBeforeItIsOpened(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause(asURL("https://calendar.example/connect?session=1"))
	b := r.browser().login("ann", link(row)).sees("It leads to", "calendar.example", "Open the page")
	b.shoot("approval-url")
	row = r.pause(asURL("javascript:alert(document.cookie)"))
	b.open(link(row)).sees("not a web address that can be opened safely")
	require.False(t, b.has(`a[href^="javascript"]`))
	b.shoot("approval-url-unsafe")
}

func TestKeysAskBeforeTheyDecide(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	b := r.browser().login("ann", link(row)).sees("github.create_issue", "left") // the script is there
	b.press("a").sees("Approve github.create_issue?")
	b.shoot("approval-confirm")
	b.press("\u001b").misses("Approve github.create_issue?")
	b.press("c").sees("Cancel github.create_issue?").click("[data-no]").misses("Cancel github.create_issue?")
	run(b, chromedp.Focus("#reason"))
	b.press("dad").misses("Decline github.create_issue?")
	require.Equal(t, "dad", run(b, chromedp.Value("#reason")))
	require.Empty(t, r.engine.answered())
	b.press("\u001b").press("d").sees("Decline github.create_issue?").press("\r").sees("Declined")
	require.Equal(t, approval.ActionDecline, r.engine.answered()[0].Action)
	require.Equal(t, "dad", r.engine.answered()[0].Reason)
}
