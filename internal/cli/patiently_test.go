package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
)

func pipe(t *testing.T, l *line) string {
	t.Helper()
	path := filepath.Join(l.workDir, "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}

// feed opens the pipe as a writer, which waits for its reader.
func feed(path, text string) error {
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := writer.WriteString(text); err != nil {
		return err
	}
	return writer.Close()
}

func TestAPipeThatNobodyWritesToEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--header-file=Authorization=", "--engine-password-file=", "--file="} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			l := prepared(t)
			path := pipe(t, l)
			args := []string{"connection", "apply", flag + path}
			if flag != "--file=" {
				args = one(flag + path)
			}
			ctx, interrupt := context.WithCancel(t.Context())
			interrupt()
			code := cli.New(cli.Options{
				Stdout: l.stdout, Stderr: l.stderr, Environ: append(l.environ, "HOLDFAST_DATA_DIR="+l.dataDir), WorkDir: l.workDir,
				Connect: l.connect,
			}).Run(ctx, args)
			require.Equal(t, cli.ExitError, code)
			require.Contains(t, l.stderr.String(), "interrupted")
			require.NoError(t, feed(path, ""), "ends the reader that was left behind")
		})
	}
}

func TestAPipeIsReadAsAFile(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	path := pipe(t, l)
	fed := make(chan error, 1)
	go func() { fed <- feed(path, "Bearer "+canary+"\n") }()
	require.Zero(t, l.run(one("--header-file", "Authorization="+path)...), l.stderr)
	require.NoError(t, <-fed)
	rows, _ := l.wanted()
	require.Equal(t, "Bearer "+canary, rows[0].Config.Headers["Authorization"])
}
