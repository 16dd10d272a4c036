package chaos_test

import (
	"os"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testkit.RemoveBinaries()
	os.Exit(code)
}
