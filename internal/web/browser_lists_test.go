package web_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

func TestTheInboxFollowsWhatHappens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.browser().login("ann", "/approvals").sees("Nothing waits")
	b.shoot("inbox-empty")
	row := r.pause(asking(`{"title":"Login fails"}`))
	b.sees("github.create_issue", "Review", "left", `{"title":"Login fails"}`)
	r.as("ann").post(link(r.pause(asking(`{"title":"Logout fails"}`))), "action", "decline")
	r.pause(func(e *store.Execution, p *store.PauseRow) {
		e.Address, p.Request.Message = "mail.send", "Send a mail to 3 people"
		p.Deadline = p.CreatedAt.Add(30 * time.Hour)
	})
	b.sees("mail.send")
	testkit.Eventually(t, within, func() bool { return run(b, chromedp.Title()) == "(2) Approvals · Holdfast" }, "the title counts")
	b.shoot("inbox")
	r.as("ann").post(link(row), "action", "accept")
	b.misses("github.create_issue").sees("mail.send")
	r.advance(31 * time.Hour)
	b.r.t.Log("the login of 12 hours is over too")
	b.sees("API token")
}

func TestTheHistoryShowsWhoDecidedAndHowItEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann, ops := r.as("ann"), r.as("ops")
	for i, action := range []string{"accept", "decline", "cancel", "accept"} {
		row := r.pause()
		who := ann
		if i%2 == 1 {
			who = ops
		}
		who.post(link(row), "action", action)
		r.settle(row.Key, approval.Outcome{Kind: []approval.OutcomeKind{
			approval.OutcomeCompleted, approval.OutcomeDeclined, approval.OutcomeCancelled, approval.OutcomeUnknown,
		}[i]}, "")
	}
	r.expire(r.pause())
	b := r.browser().login("ops", "/approvals/history").sees("may have run", "called off", "expired", "Ann Example", "Ops")
	b.shoot("history")
	run(b, chromedp.SetValue("#ending", "declined"))
	b.click(".filter button").sees("not run").misses("may have run")
	b.click("td a").sees("Declined: the tool was not called")
}
