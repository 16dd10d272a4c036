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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, r.user(t))
		})
	}
}
