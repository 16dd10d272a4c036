package e2e_test

import (
	"os"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

func TestMain(m *testing.M) { os.Exit(stack.Main(m)) }
