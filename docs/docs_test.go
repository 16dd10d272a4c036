// Package docs_test keeps what people read true: the settings table is the program's own, links lead somewhere, and every task
// that is named exists.
package docs_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/policyfile"
)

const root = ".."

func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			texts[path] = string(text)
		}
	}
	require.NotEmpty(t, texts)
	return texts
}

func TestTheSettingsTableIsTheProgramsOwn(t *testing.T) {
	t.Parallel()

	require.Equal(t, config.Table(), marked(t, "README.md", "settings"), "put this table between the README's settings marks")
}

func TestTheTableOfCodesIsTheProgramsOwn(t *testing.T) {
	t.Parallel()

	require.Equal(t, api.Table(), marked(t, "docs/api.md", "codes"), "put this table between the page's codes marks")
}

// marked is what stands between two marks of a page.
func marked(t *testing.T, page, mark string) string {
	t.Helper()
	_, rest, found := strings.Cut(pages(t)[filepath.Join(root, page)], "<!-- "+mark+":begin -->\n")
	require.True(t, found)
	table, _, found := strings.Cut(rest, "<!-- "+mark+":end -->")
	require.True(t, found)
	return table
}

func TestTheRulesThatThePageShowsAreTaken(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(pages(t)[filepath.Join(root, "docs", "gateway.md")], "```yaml\nrules:")
	require.True(t, found)
	text, _, _ := strings.Cut(rest, "```")
	file := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(file, []byte("rules:"+text), 0o600))
	rules, err := policyfile.Open(policyfile.Params{Path: file, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.Len(t, rules.Current().Rules, 4)
	require.Len(t, rules.Current().Overrides, 1)
}

// The golden files are all the ways in which a call is answered.
func TestThePageTellsEveryStatusAndReasonOfACall(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "internal", "domain", "payload", "testdata", "*.golden"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	page := pages(t)[filepath.Join(root, "docs", "gateway.md")]
	word := regexp.MustCompile(`(?m)^  "(?:status|reason)": "([a-z_]+)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range word.FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, page, "`"+match[1]+"`", "told in %s", file)
		}
	}
}

func TestEveryLinkIntoTheTreeLeadsSomewhere(t *testing.T) {
	t.Parallel()

	link := regexp.MustCompile(`\]\(([^)#]+)`)
	for path, text := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			require.FileExists(t, filepath.Join(filepath.Dir(path), match[1]), "linked from %s", path)
		}
	}
}

func TestEveryTaskThatIsNamedExists(t *testing.T) {
	t.Parallel()

	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	task := regexp.MustCompile("(?m)(?:^|`)make ([a-z]+)")
	for path, text := range pages(t) {
		for _, match := range task.FindAllStringSubmatch(text, -1) {
			require.Regexp(t, `(?m)^`+match[1]+`:`, string(makefile), "named in %s", path)
		}
	}
}

func TestTheMapOfTheTreeNamesOnlyWhatIsThere(t *testing.T) {
	t.Parallel()

	readme := pages(t)[filepath.Join(root, "README.md")]
	_, rest, found := strings.Cut(readme, "## Map of the tree")
	require.True(t, found)
	section, _, _ := strings.Cut(rest, "\n## ")
	folders := regexp.MustCompile("`([a-z/]+/)`").FindAllStringSubmatch(section, -1)
	require.NotEmpty(t, folders)
	for _, match := range folders {
		require.DirExists(t, filepath.Join(root, match[1]))
	}
}
