package approvals_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/browser"
)

// pictures takes a picture of each page that a person sees on the way of a call, and requires that each fits a phone.
func pictures(t *testing.T, u *user) {
	name := testkit.UniqueName()
	c := u.connect(u.gateway.URL, "browser", legacy)
	asked := c.execute("mail.put", map[string]any{"name": name, "value": "The quick brown fox jumps over the lazy dog.\n" + strings.Repeat("Long lines stay readable. ", 12)})
	waits := c.execute("mail.plain", putting(name+"-2"))
	page := u.visit(asked.ApprovalURL, "mail.put", "Waiting for an answer", "left")
	onPhone := func(picture string) {
		phone := page.Tab(t)
		phone.Phone()
		phone.Open(page.URL(), "the page", func(shown string) bool { return strings.Contains(shown, "mail.put") })
		require.True(t, phone.Fits(), picture)
		phone.Shoot(picture + "-phone")
	}
	page.Shoot("approval-real-pending")
	onPhone("approval-real-pending")
	inbox := page.Tab(t)
	inbox.Open(u.gateway.URL+"/approvals", "what waits", func(shown string) bool {
		return strings.Contains(shown, "mail.put") && strings.Contains(shown, "mail.plain") && strings.Contains(shown, "left")
	})
	inbox.Shoot("inbox-real")

	approve(page, "The tool ran and answered", "wrote "+name)
	page.Shoot("approval-real-decided")
	onPhone("approval-real-decided")
	inbox.Await("that the call waits no more", func(shown string) bool {
		return !strings.Contains(shown, "mail.put") && strings.Contains(shown, "mail.plain")
	})
	decline(page, waits.ApprovalURL)
	page.Open(u.gateway.URL+"/approvals/history", "what was decided", func(shown string) bool {
		return strings.Contains(shown, "mail.put") && strings.Contains(shown, "mail.plain") && strings.Contains(shown, "not run")
	})
	page.Shoot("history-real")
	onPhone("history-real")
	require.Equal(t, "completed", c.resume(asked.ExecutionID).Status)
}

func decline(page *browser.Browser, url string) {
	page.Open(url, "the question", func(shown string) bool { return strings.Contains(shown, "Waiting for an answer") })
	press(page, declineButton, "Declined", "the tool was not called")
}
