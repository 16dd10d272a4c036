package stack

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

// Tools are the settings of a stack whose gateway and worker offer the tools of MCP servers, by the URL of each source, under rules:
// the text of a policy file, empty for none. More settings may be given beside them.
func Tools(tb testing.TB, sources map[string]string, rules string, more map[string]string) map[string]string {
	tb.Helper()
	servers := map[string]any{}
	for name, url := range sources {
		servers[name] = map[string]string{"url": url}
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": servers})
	require.NoError(tb, err)
	dir := tb.TempDir()
	settings := map[string]string{"sources.file": filepath.Join(dir, "mcp.json")}
	require.NoError(tb, os.WriteFile(settings["sources.file"], raw, 0o600))
	if rules != "" {
		settings["policy.file"] = filepath.Join(dir, "policy.yaml")
		require.NoError(tb, os.WriteFile(settings["policy.file"], []byte(rules), 0o600))
	}
	maps.Copy(settings, more)
	return settings
}

// TokenOf makes an API token of a role for an account.
func (s *Stack) TokenOf(account string, role auth.Role) string {
	s.TB.Helper()
	tokens := auth.NewTokens(s.Store, nil)
	defer tokens.Close()
	secret, _, err := tokens.Create(s.TB.Context(), auth.Request{Name: account, Account: account, Role: role, By: "test"})
	require.NoError(s.TB, err)
	return secret.Reveal()
}
