package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

func TestPatternsCoverWholePartsOfAnAddress(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, address string
		want             bool
	}{
		{"*", "github.issues.create", true},
		{"github.create", "github.create", true},
		{"github.create", "github.createAll", false},
		{"github.create", "github.create.deep", false},
		{"github.create", "GitHub.create", false},
		{"github.*", "github.create", true},
		{"github.*", "github.issues.create", true},
		{"github.*", "github", true},
		{"github.*", "githubby.create", false},
		{"github.*.create", "github.issues.create", true},
		{"github.*.create", "github.create", false},
		{"github.*.create", "github.a.b.create", false},
		{"github.*.issues.*", "github.acme.issues.create", true},
		{"github.*.issues.*", "github.acme.issues", true},
		{"github.*.*", "github.acme", true},
		{"github.*.*", "github", false},
	} {
		require.NoError(t, policy.CheckPattern(tc.pattern))
		require.Equal(t, tc.want, policy.Match(tc.pattern, tc.address), "%s on %s", tc.pattern, tc.address)
	}
}

func TestPatternsThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ pattern, reason string }{
		{"", "empty"},
		{".a", "begins or ends with a dot"},
		{"a.", "begins or ends with a dot"},
		{"a..b", "two dots"},
		{"*.delete", "begins with *"},
		{"**", "begins with *"},
		{"a.b*", `"b*" is partly a wildcard`},
		{"a.*b.c", `"*b" is partly a wildcard`},
		{"a.**", `"**" is partly a wildcard`},
		{"a/b", `"a/b" is no part of an address`},
		{"a.b ", `"b " is no part of an address`},
		{"a." + strings.Repeat("b", 300), "longer than 300 bytes"},
	} {
		require.ErrorContains(t, policy.CheckPattern(tc.pattern), tc.reason, "%q", tc.pattern)
	}
}

func TestAnAddressWithPartsReplacedByWildcardsStillCoversIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[A-Za-z0-9_-]{1,6}`), 2, 6).Draw(t, "parts")
		pattern := append([]string{}, parts...)
		for i := 1; i < len(pattern); i++ {
			if rapid.Bool().Draw(t, "wild") {
				pattern[i] = "*"
			}
		}
		text := strings.Join(pattern, ".")
		require.NoError(t, policy.CheckPattern(text))
		require.True(t, policy.Match(text, strings.Join(parts, ".")))
	})
}
