package catalog_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

func issues(t *testing.T) *catalog.Sources {
	t.Helper()
	server := start(t, upstream.Options{})
	listing(server, `{"name":"createIssue","title":"New issue","description":"Opens an issue in a repository."},
		{"name":"list_issues","description":"Lists issues."},
		{"name":"get_repository","description":"Reads a repository, its issue count and more."},
		{"name":"delete_repository","title":"Remove it"}`)
	return openAll(t, server, "git", "hub")
}

func openAll(t *testing.T, server *upstream.Server, names ...string) *catalog.Sources {
	t.Helper()
	entries := ""
	for _, name := range names {
		if entries != "" {
			entries += ","
		}
		entries += fmt.Sprintf("%q:{\"url\":%q}", name, server.URL())
	}
	sources := openFile(t, `{"mcpServers":{`+entries+`}}`, nil)
	require.NoError(t, sources.Refresh(t.Context(), ""))
	return sources
}

func TestSearchRanksNamesOverTitlesOverDescriptions(t *testing.T) {
	t.Parallel()
	sources := issues(t)
	for _, tc := range []struct {
		query string
		limit int
		want  []string
	}{
		{"issue", 2, []string{"git.createIssue", "hub.createIssue"}},
		{"create issue", 2, []string{"git.createIssue", "hub.createIssue"}},
		{"Issue hub", 1, []string{"hub.createIssue"}},
		{"hub.list_issues", 1, []string{"hub.list_issues"}},
		{"remove", 1, []string{"git.delete_repository"}},
		{"repos", 4, []string{"git.delete_repository", "git.get_repository", "hub.delete_repository", "hub.get_repository"}},
		{"nothing of this", 5, []string{}},
		{"", 3, []string{"git.createIssue", "git.delete_repository", "git.get_repository"}},
	} {
		hits, err := sources.Search(t.Context(), tc.query, tc.limit)
		require.NoError(t, err)
		found := []string{}
		for _, hit := range hits {
			found = append(found, hit.Tool.Address)
		}
		require.Equal(t, tc.want, found, "%q", tc.query)
	}
	all, err := sources.Search(t.Context(), "issue", 0)
	require.NoError(t, err)
	require.Len(t, all, 6)
	require.Greater(t, all[0].Score, all[2].Score)
}

func TestTwelveAreFoundWhereNoLimitIsGiven(t *testing.T) {
	t.Parallel()
	sources := openAll(t, start(t, upstream.Options{}), "a", "b")
	hits, err := sources.Search(t.Context(), "", 0)
	require.NoError(t, err)
	require.Len(t, hits, 12)
}

func TestAddressesLikeAnUnknownOneAreSuggested(t *testing.T) {
	t.Parallel()
	sources := issues(t)
	require.Equal(t, []string{"git.createIssue", "hub.createIssue"}, sources.Suggest("git.createissue")[:2])
	require.Equal(t, "hub.list_issues", sources.Suggest("hub.list_isues")[0])
	require.Contains(t, sources.Suggest("other.get_repository"), "git.get_repository")
	require.LessOrEqual(t, len(sources.Suggest("git.repository")), 5)
	require.Empty(t, sources.Suggest("zzzz.qqqqqqqqqqqqqqqqqqq"))
}
