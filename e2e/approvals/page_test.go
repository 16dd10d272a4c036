package approvals_test

import (
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/testkit/browser"
)

const (
	approveButton = `#answer button[value="accept"]`
	declineButton = `#answer button[value="decline"]`
)

// sees waits until a page shows all of the texts.
func sees(page *browser.Browser, texts ...string) string {
	return page.Await(strings.Join(texts, " | "), func(shown string) bool {
		for _, each := range texts {
			if !strings.Contains(shown, each) {
				return false
			}
		}
		return true
	})
}

// visit opens a page as somebody who is not logged in, and logs in with the token.
func (u *user) visit(url string, texts ...string) *browser.Browser {
	u.t.Helper()
	page := u.person()
	page.Open(url, "the login", func(shown string) bool { return strings.Contains(shown, "API token") })
	page.LogIn(u.token)
	sees(page, texts...)
	return page
}

// approve presses the button and waits for the outcome.
func approve(page *browser.Browser, outcome ...string) {
	page.Click(approveButton)
	sees(page, append([]string{"Approved", "on the page"}, outcome...)...)
}
