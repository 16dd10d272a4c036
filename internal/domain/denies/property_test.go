package denies_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/denies"
)

type entry struct{ key, action string }

// object writes entries in their order; a key occurs once.
func object(entries []entry) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range entries {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(e.key)
		action, _ := json.Marshal(e.action)
		b.Write(key)
		b.WriteByte(':')
		b.Write(action)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func entries() *rapid.Generator[[]entry] {
	key := rapid.OneOf(
		rapid.SampledFrom([]string{"*", "a_*", "a_b", "?_b", "*_b", "a_b *", "a.b", "b", ""}),
		rapid.StringMatching(`[ab_*?. ]{0,6}`),
	)
	one := rapid.Custom(func(t *rapid.T) entry {
		return entry{key.Draw(t, "key"), rapid.SampledFrom([]string{"allow", "ask", "deny"}).Draw(t, "action")}
	})
	return rapid.SliceOfNDistinct(one, 0, 6, func(e entry) string { return e.key })
}

func denied(t *rapid.T, tool string, permission []entry) bool {
	t.Helper()
	got, err := denies.Of([]string{tool}, denies.Config{Permission: object(permission)}, nil)
	if err != nil {
		t.Fatalf("judge: %v", err)
	}
	return len(got) == 1
}

// The engine's own way: a regular expression made of the pattern, and the last rule that matches.
func TestVerdictsAreThoseOfTheEnginesOwnWay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tool := rapid.StringMatching(`[ab]_[ab_. ]{0,4}`).Draw(t, "tool")
		rules := entries().Draw(t, "rules")
		want := false
		for _, r := range rules {
			pattern := regexp.QuoteMeta(r.key)
			pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, `\*`, `.*`), `\?`, `.`)
			if strings.HasSuffix(pattern, " .*") {
				pattern = strings.TrimSuffix(pattern, " .*") + "( .*)?"
			}
			if regexp.MustCompile(`(?s)^(?:` + pattern + `)$`).MatchString(tool) {
				want = r.action == "deny"
			}
		}
		if got := denied(t, tool, rules); got != want {
			t.Fatalf("tool %q, rules %v: denied %t, the engine says %t", tool, rules, got, want)
		}
	})
}

func TestALaterRuleForTheToolDecides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const tool = "server_tool"
		rules := entries().Draw(t, "rules")
		for _, action := range []string{"allow", "ask", "deny"} {
			if got := denied(t, tool, append(rules, entry{tool, action})); got != (action == "deny") {
				t.Fatalf("rules %v and then %s: denied %t", rules, action, got)
			}
		}
	})
}
