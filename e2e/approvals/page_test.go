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
	return page.Await(strings.Join(texts, " | "), func(shown string) bool { return has(shown, texts) })
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
	press(page, approveButton, append([]string{"Approved", "on the page"}, outcome...)...)
}

// sorry is what a page says when a busy machine keeps the gateway from what it needs, and that it is to be loaded again.
const sorry = "Not available right now"

// press presses a button and waits until the page shows all of the texts. Where it is told to, it does so again, as often as a person
// would.
func press(page *browser.Browser, button string, texts ...string) {
	page.Click(button)
	for range 5 {
		shown := page.Await("an answer", func(shown string) bool { return strings.Contains(shown, sorry) || has(shown, texts) })
		if !strings.Contains(shown, sorry) {
			return
		}
		page.Open(page.URL(), "the page", func(shown string) bool { return !strings.Contains(shown, sorry) })
		page.Press(button)
	}
	sees(page, texts...)
}

func has(shown string, texts []string) bool {
	for _, each := range texts {
		if !strings.Contains(shown, each) {
			return false
		}
	}
	return true
}
