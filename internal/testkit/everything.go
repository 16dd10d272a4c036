package testkit

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// EverythingServer starts the pinned reference MCP server over Streamable HTTP, waits until it answers and kills it at
// the end of the test. MCPURL is its address.
func EverythingServer(tb testing.TB) *Service {
	tb.Helper()
	script := testbedFile(tb, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	node, err := exec.LookPath("node")
	if err != nil {
		tb.Fatal("node is missing: install Node.js 20 or later, then run make tools")
	}
	port := FreePort(tb)
	return startService(tb, Command{
		Path: node,
		Args: []string{script, "streamableHttp"},
		Dir:  tb.TempDir(),
		Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tb.TempDir(), "PORT=" + strconv.Itoa(port)},
	}, port, "/")
}

// MCPURL is the address of the service's MCP endpoint.
func (s *Service) MCPURL() string { return s.BaseURL() + "/mcp" }
