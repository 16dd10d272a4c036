package temporalclient_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

func TestClientOptionsDefaultToTheLocalServer(t *testing.T) {
	t.Parallel()
	resolved, err := temporalclient.Options{Role: "worker", Version: "1.2.3", AEAD: newAEAD(t), Env: env{}, NoConfigFile: true}.ClientOptions()

	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:7233", resolved.HostPort)
	require.Equal(t, "default", resolved.Namespace)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, "holdfast-worker@1.2.3/"+host, resolved.Identity)
}

func TestClientOptionsComeFromTheStandardVariables(t *testing.T) {
	t.Parallel()
	variables := env{"TEMPORAL_ADDRESS": "temporal.test:7233", "TEMPORAL_NAMESPACE": "fleet"}
	for name, tc := range map[string]struct {
		options            temporalclient.Options
		address, namespace string
	}{
		"variables":               {temporalclient.Options{}, "temporal.test:7233", "fleet"},
		"explicit values win":     {temporalclient.Options{Address: "127.0.0.1:1", Namespace: "own"}, "127.0.0.1:1", "own"},
		"one explicit value wins": {temporalclient.Options{Namespace: "own"}, "temporal.test:7233", "own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.options.Plain, tc.options.Env, tc.options.NoConfigFile = true, variables, true
			resolved, err := tc.options.ClientOptions()
			require.NoError(t, err)
			require.Equal(t, tc.address, resolved.HostPort)
			require.Equal(t, tc.namespace, resolved.Namespace)
		})
	}
}

func TestClientOptionsComeFromAProfile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte("[profile.cloud]\naddress = \"cloud.test:7233\"\nnamespace = \"a.b\"\n"), 0o600))

	resolved, err := temporalclient.Options{Plain: true, Env: env{"TEMPORAL_PROFILE": "cloud"}, ConfigFile: file}.ClientOptions()

	require.NoError(t, err)
	require.Equal(t, "cloud.test:7233", resolved.HostPort)
	require.Equal(t, "a.b", resolved.Namespace)
}

func TestClientOptionsRefuseATypoInTheProfile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte("[profile.default]\nadress = \"x:1\"\n"), 0o600))

	_, err := temporalclient.Options{Plain: true, Env: env{}, ConfigFile: file}.ClientOptions()

	require.ErrorContains(t, err, "adress")
}

func TestClientOptionsRefuseToSendPlainPayloadsUnasked(t *testing.T) {
	t.Parallel()
	_, err := temporalclient.Options{Env: env{}, NoConfigFile: true}.ClientOptions()
	require.ErrorIs(t, err, temporalclient.ErrNoSealingKey)
}

func TestSearchAttributesFitIntoANamespace(t *testing.T) {
	t.Parallel()
	counts := make(map[string]int)
	for _, attribute := range temporalclient.SearchAttributes() {
		require.True(t, strings.HasPrefix(attribute.Name, "Holdfast"), attribute.Name)
		counts[attribute.TypeName()]++
	}
	require.Equal(t, map[string]int{"Keyword": 8, "Datetime": 2}, counts)
}
