package e2e_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// runCLI runs a program as a person would and returns what it said.
func runCLI(t *testing.T, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	output, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	require.NoError(t, err, "%v: %s", args, output)
	return string(output)
}
