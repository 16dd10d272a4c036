package approvals_test

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/testkit/browser"
)

// TestApprovals holds the claims that need nothing of their own but an account.
func TestApprovals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.browser = browser.New(t)
	for name, test := range map[string]func(*testing.T, *user){
		"a go client with a session is approved on the page":    goClient(legacy),
		"a go client without a session is approved on the page": goClient(modern),
		"a go client is declined on the page":                   goClientIsDeclined,
		"a TypeScript client is approved on the page":           typeScriptClient,
		"a model in the real engine is approved on the page":    realEngine,
		"three replicas serve sessions they never saw":          threeReplicas,
		"what nobody decides on is told as expired":             goClientIsTooLate,
		"an execution is decided on by its session's path":      sessionPaths,
		"another session resumes":                               fromAnotherSession(false),
		"another session resumes when the first is closed":      fromAnotherSession(true),
		"a tool that asks is answered on the page":              toolThatAsks,
		"two tabs approve at once":                              twoTabs,
		"many decide at once":                                   manyDecide,
		"a lost answer is found by the call's name":             lostAnswer,
		"a read-only call is answered at once":                  readOnly,
		"every page has a picture":                              pictures,
		"what is held sends its first bytes at once":            firstBytes,
		"secrets stay secrets":                                  secretsStaySo,
		"ten MiB pass":                                          tenMiBPass,
		"the provider's tokens and logins are one identity":     loggedInAtTheProvider,
		"who is not known is told where to ask":                 challenged,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, r.user(t))
		})
	}
}
