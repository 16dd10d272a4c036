package cli_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

var commands = []string{
	"", "setup", "doctor", "version", "connection", "connection apply", "connection list", "connection get", "connection health", "connection watch",
	"connection probe", "connection reconcile", "connection refresh", "connection mark-stale", "connection history",
	"connection remove", "token", "token create", "token list", "token revoke", "connection enable", "connection disable", "account", "account list", "account enable", "account disable",
	"account remove", "engine", "engine list", "engine remove", "approval", "approval list", "approval show", "approval approve", "approval decline",
	"approval cancel", "execution", "execution list", "execution get", "execution cancel", "session", "session list", "session get", "session terminate",
	"audit", "audit list", "tool", "tool search", "tool call", "fleet", "fleet reconcile", "fleet status",
}

func TestHelpIsWhatWasReviewed(t *testing.T) {
	t.Parallel()
	for _, tc := range commands {
		t.Run("holdfast "+tc, func(t *testing.T) {
			t.Parallel()
			l := bare(t)
			require.Zero(t, l.run(append(strings.Fields(tc), "--help")...))
			require.Empty(t, l.stderr.String())
			golden := filepath.Join("testdata", "help", strings.ReplaceAll("holdfast "+tc, " ", "-")+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(l.stdout.String()), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "run: go test ./internal/cli -update")
			require.Equal(t, string(want), l.stdout.String())
		})
	}
}

func TestEveryGoldenHelpBelongsToACommand(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(filepath.Join("testdata", "help"))
	require.NoError(t, err)
	require.Len(t, files, len(commands))
}

func TestHelpLinesFitATerminal(t *testing.T) {
	t.Parallel()
	for _, tc := range commands {
		l := bare(t)
		require.Zero(t, l.run(append(strings.Fields(tc), "--help")...))
		for text := range strings.SplitSeq(l.stdout.String(), "\n") {
			require.LessOrEqual(t, len(text), 150, "holdfast %s: %s", tc, text)
		}
	}
}
