package execution_test

import (
	"os"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

func TestMain(m *testing.M) {
	if raw := os.Getenv(workerEnv); raw != "" {
		os.Exit(workUntilKilled(raw))
	}
	os.Exit(stack.Main(m))
}
