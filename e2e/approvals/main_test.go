package approvals_test

import (
	"os"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

func TestMain(m *testing.M) {
	code := stack.Main(m)
	testkit.RemoveBinaries()
	os.Exit(code)
}
