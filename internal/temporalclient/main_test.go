package temporalclient_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

// helperEnv makes this test binary the parent of a development server, to be killed by a test.
const helperEnv = "DEVSERVER_HELPER"

// shared is the development server of this package's tests, started by the first one that needs it.
var shared struct {
	once   sync.Once
	server *temporalclient.DevServer
	err    error
}

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		os.Exit(runHelper())
	}
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// runHelper starts a server, tells its process id and waits to be killed.
func runHelper() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := startServer(ctx, temporalclient.DevServerOptions{Headless: true})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("%d\n", server.PID())
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Minute):
	}
	if err := server.Stop(context.Background()); err != nil {
		return 1
	}
	return 0
}

func startServer(ctx context.Context, o temporalclient.DevServerOptions) (*temporalclient.DevServer, error) {
	cli, err := temporalclient.FindCLI(ctx, temporalclient.CLIOptions{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	o.CLI = cli
	return temporalclient.StartDevServer(ctx, o)
}

// sharedServer returns the server that tests share; they keep apart by namespaces and workflow ids.
func sharedServer(t *testing.T) *temporalclient.DevServer {
	t.Helper()
	shared.once.Do(func() {
		shared.server, shared.err = startServer(t.Context(), temporalclient.DevServerOptions{Headless: true})
	})
	require.NoError(t, shared.err)
	return shared.server
}

// names counts the names that unique has given.
var names atomic.Int64

// unique keeps tests, and repeated runs of one, apart on the shared server.
func unique(prefix string) string { return prefix + "-" + strconv.FormatInt(names.Add(1), 10) }

// newAEAD returns a fresh keyset.
func newAEAD(t require.TestingT) tink.AEAD {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	require.NoError(t, err)
	primitive, err := aead.New(handle)
	require.NoError(t, err)
	return primitive
}

// env is an environment of its own, for both kinds of lookup.
type env map[string]string

func (e env) LookupEnv(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

func (e env) Environ() []string {
	var entries []string
	for name, value := range e {
		entries = append(entries, name+"="+value)
	}
	return entries
}

// waitFor polls condition until it holds, at most for a bound.
func waitFor(t *testing.T, bound time.Duration, condition func() bool, claim string) {
	t.Helper()
	deadline := time.NewTimer(bound)
	defer deadline.Stop()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			require.FailNow(t, "not within "+bound.String()+": "+claim)
		}
	}
}
