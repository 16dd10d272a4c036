package tokensource_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

func TestATokenThatWasRefusedIsNothingNew(t *testing.T) {
	t.Parallel()
	keyset, err := keys.Open(filepath.Join(t.TempDir(), "keys"))
	require.NoError(t, err)
	env := map[string]string{"TEAM": "first"}
	sources := tokensource.NewSources(tokensource.Options{LookupEnv: func(name string) (string, bool) {
		value, set := env[name]
		return value, set
	}})
	t.Cleanup(sources.Close)
	source := desired.TokenSource{Kind: desired.SourceEnv, Variable: "TEAM"}
	refused, err := tokensource.TokenDigest(keyset.MAC(), "first")
	require.NoError(t, err)
	moved := func(current, refused string) bool {
		return sources.Moved(t.Context(), source, current, refused, keyset.MAC())
	}
	require.True(t, moved("", ""))
	require.False(t, moved("first", ""))
	require.False(t, moved("", refused))
	env["TEAM"] = "second"
	require.True(t, moved("first", refused))
	require.True(t, moved("", refused))
	delete(env, "TEAM")
	require.False(t, moved("first", ""), "what was read before is still good")
}
