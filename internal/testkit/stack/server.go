package stack

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const (
	serverStart = 2 * time.Minute
	serverStop  = 20 * time.Second
	retention   = 48 * time.Hour
)

// shared is the package's dev server: one for all tests of a binary, which keep apart by task queues and names.
var shared *temporalclient.DevServer

// Main is for TestMain: it runs the tests beside one dev server, removes what they have built, and returns the exit code.
func Main(m *testing.M) int {
	defer testkit.RemoveBinaries()
	ctx, cancel := context.WithTimeout(context.Background(), serverStart)
	defer cancel()
	server, err := StartServer(ctx, temporalclient.DevServerOptions{Headless: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared = server
	code := m.Run()
	stopping, cancelStop := context.WithTimeout(context.Background(), serverStop)
	defer cancelStop()
	if err := server.Stop(stopping); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// StartServer starts a dev server of the test's own.
func StartServer(ctx context.Context, o temporalclient.DevServerOptions) (*temporalclient.DevServer, error) {
	cli, err := temporalclient.FindCLI(ctx, temporalclient.CLIOptions{NoBuild: true})
	if err != nil {
		return nil, fmt.Errorf("%w; run `make tools`", err)
	}
	o.CLI = cli
	if o.Retention == 0 {
		o.Retention = retention
	}
	return temporalclient.StartDevServer(ctx, o)
}
