package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/config"
)

func TestAProviderIsDescribedWhole(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(config.Options{Environ: append([]string{
		"HOLDFAST_GATEWAY_PUBLIC_URL=https://holdfast.example", "HOLDFAST_OIDC_ISSUER=https://login.example/realm",
		"HOLDFAST_OIDC_ROLES_CLAIM=realm_access.roles", "HOLDFAST_OIDC_ROLES=cn=admins=owner, staff=viewer",
		"HOLDFAST_OIDC_CLIENT_ID=holdfast", "HOLDFAST_OIDC_CLIENT_SECRET=s3cr3t",
	}, bare...)})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"cn=admins": "owner", "staff": "viewer"}, loaded.OIDC.RoleMap())
	require.Equal(t, []string{"https://holdfast.example", "https://holdfast.example/mcp", "https://holdfast.example/mcp/agent"},
		loaded.OIDC.Audiences(loaded.Gateway.PublicURL))
	require.Equal(t, []string{"a"}, config.OIDC{Audience: []string{"a"}}.Audiences("https://holdfast.example"))
	secret, err := loaded.OIDC.Secret()
	require.NoError(t, err)
	require.Equal(t, "s3cr3t", secret.Reveal())
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", loaded, loaded, loaded), "s3cr3t")
}

func TestWhatWouldLetNobodyOrAnybodyInIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"no audience", []string{"HOLDFAST_OIDC_ISSUER=https://x", "HOLDFAST_OIDC_DEFAULT_ROLE=viewer"}, "oidc.audience (HOLDFAST_OIDC_AUDIENCE)"},
		{"no role", []string{"HOLDFAST_OIDC_ISSUER=https://x", "HOLDFAST_OIDC_AUDIENCE=a"}, "nobody would have a role"},
		{"login without provider", []string{"HOLDFAST_OIDC_CLIENT_ID=x"}, "set oidc.issuer too"},
		{"plain http", []string{"HOLDFAST_OIDC_ISSUER=http://login.example", "HOLDFAST_OIDC_AUDIENCE=a", "HOLDFAST_OIDC_DEFAULT_ROLE=viewer"}, "http only on this machine"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(config.Options{Environ: append(tc.environ, bare...)})
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := config.Load(config.Options{Environ: append([]string{
		"HOLDFAST_OIDC_ISSUER=http://127.0.0.1:9/x", "HOLDFAST_OIDC_AUDIENCE=a", "HOLDFAST_OIDC_DEFAULT_ROLE=viewer",
	}, bare...)})
	require.NoError(t, err)
}

func TestTheClientsSecretMayBeInAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte("from-file\n"), 0o600))
	secret, err := config.OIDC{ClientSecretFile: path}.Secret()
	require.NoError(t, err)
	require.Equal(t, "from-file", secret.Reveal())
	require.NoError(t, os.WriteFile(path, []byte("\n"), 0o600))
	_, err = config.OIDC{ClientSecretFile: path}.Secret()
	require.ErrorContains(t, err, "is empty")
}
