package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator/contract"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

func TestRealEngineFulfilsTheContract(t *testing.T) {
	t.Parallel()
	contract.Run(t, func(tb testing.TB, password string) contract.Engine {
		tb.Helper()
		if password != "" {
			return realEngine{tb, testkit.RealEngine(tb, "OPENCODE_SERVER_PASSWORD="+password)}
		}
		return realEngine{tb, testkit.RealEngine(tb)}
	})
}

// realEngine configures servers where a user would: in the directory's opencode.json.
type realEngine struct {
	tb testing.TB
	*testkit.Service
}

func (e realEngine) Configure(directory, name string, config map[string]any) {
	e.tb.Helper()
	encoded, err := json.Marshal(map[string]any{"mcp": map[string]any{name: config}})
	require.NoError(e.tb, err)
	require.NoError(e.tb, os.WriteFile(filepath.Join(directory, "opencode.json"), encoded, 0o600))
}

func (e realEngine) SetConfiguration(directory, text string) {
	e.tb.Helper()
	require.NoError(e.tb, os.WriteFile(filepath.Join(directory, "opencode.json"), []byte(text), 0o600))
}
