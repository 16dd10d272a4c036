package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestATokenIsMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Zero(t, l.run("token", "create", "--role", "collaborator", "--name", "ci", "--expires", "720h"), l.stderr)
	text := strings.TrimSpace(l.stdout.String())
	require.Regexp(t, `^hft_[0-9a-f]{16}_\S{43}$`, text, "standard output is the token and nothing else")
	id := strings.Split(text, "_")[1]
	l.store(func(s *store.Store) {
		tokens := auth.NewTokens(s, nil)
		defer tokens.Close()
		who, err := tokens.Authenticate(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, auth.RoleCollaborator, who.Role)
	})
	list := l.fresh()
	require.Zero(t, list.run("token", "list", "-o", "json"))
	var rows []struct {
		ID, Name, Role, CreatedBy, ExpiresAt string
		Live                                 bool
	}
	require.NoError(t, json.Unmarshal([]byte(list.stdout.String()), &rows))
	require.Len(t, rows, 1)
	require.Equal(t, id, rows[0].ID)
	require.True(t, rows[0].Live)
	require.Equal(t, "cli", rows[0].CreatedBy)
	require.NotContains(t, list.stdout.String(), strings.SplitN(text, "_", 3)[2])
	require.Zero(t, l.fresh().run("token", "revoke", id))
	table := l.fresh()
	require.Zero(t, table.run("token", "list"))
	require.Contains(t, table.stdout.String(), "revoked")
}

func TestATokenForAProgramComesWithWhatItIs(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Zero(t, l.run("token", "create", "--role", "owner", "--name", "me", "-o", "json"))
	var made struct{ ID, Token, Role string }
	require.NoError(t, json.Unmarshal([]byte(l.stdout.String()), &made))
	require.Contains(t, made.Token, made.ID)
	require.Equal(t, "owner", made.Role)
}

func TestATokenMayBeForAnAccountThatOthersAreForToo(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Zero(t, l.run("token", "create", "--role", "viewer", "--name", "x", "--account", "team"), l.stderr)
	made := strings.TrimSpace(l.stdout.String())
	l.store(func(s *store.Store) {
		tokens := auth.NewTokens(s, nil)
		defer tokens.Close()
		who, err := tokens.Authenticate(t.Context(), made)
		require.NoError(t, err)
		require.Equal(t, "team", who.Identity.Account)
	})
	require.Zero(t, l.run("token", "list"))
	require.Contains(t, l.stdout.String(), "team")
	require.Equal(t, cli.ExitUsage, l.run("token", "create", "--role", "viewer", "--name", "x", "--account", " team"))
}

func TestTokenCommandsRefuseWhatTheyCannotDo(t *testing.T) {
	t.Parallel()
	secret := "hft_0123456789abcdef_secretsecretsecret"
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"token", "create"}, cli.ExitUsage, "missing: --role, --name"},
		{[]string{"token", "create", "--name", "x"}, cli.ExitUsage, "--role"},
		{[]string{"token", "create", "--role", "root", "--name", "x"}, cli.ExitUsage, "viewer"},
		{[]string{"token", "create", "--role", "owner"}, cli.ExitUsage, "name"},
		{[]string{"token", "create", "--role", "owner", "--name", "x", "--expires", "-1h"}, cli.ExitUsage, "past"},
		{[]string{"token", "revoke"}, cli.ExitUsage, "token list"},
		{[]string{"token", "revoke", secret}, cli.ExitNotFound, "token list"},
	} {
		l := prepared(t)
		require.Equal(t, tc.code, l.run(tc.args...), tc.args)
		require.Contains(t, l.stderr.String(), tc.says)
		require.NotContains(t, l.stderr.String()+l.stdout.String(), secret)
	}
	l := prepared(t)
	require.Zero(t, l.run("token", "list"))
	require.Contains(t, l.stderr.String(), "holdfast token create")
}

// fresh is another command on the same data folder.
func (l *line) fresh() *line {
	again := *l
	again.stdout, again.stderr = &buffer{}, &buffer{}
	return &again
}
