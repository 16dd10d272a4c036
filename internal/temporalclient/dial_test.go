package temporalclient_test

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

func TestDialReachesAServer(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)

	client, err := temporalclient.Dial(t.Context(), plainOptions(server.Address()))

	require.NoError(t, err)
	client.Close()
}

func TestDialSaysWhatToDoWhenNobodyListens(t *testing.T) {
	t.Parallel()
	options := plainOptions("127.0.0.1:" + strconv.Itoa(unusedPort(t)))
	options.DialTimeout = 300 * time.Millisecond

	_, err := temporalclient.Dial(t.Context(), options)

	var failed *temporalclient.DialError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, options.Address, failed.Address)
	require.GreaterOrEqual(t, failed.Attempts, 2)
	require.False(t, failed.Refused)
	require.ErrorContains(t, err, "TEMPORAL_ADDRESS")
	require.ErrorContains(t, err, "holdfast dev")
	require.ErrorContains(t, err, "connection refused")
}

func TestDialWaitsForAServerThatIsStillStarting(t *testing.T) {
	t.Parallel()
	address := serveFake(t, func(call int64) error {
		if call < 3 {
			return status.Error(codes.Unavailable, "still starting")
		}
		return nil
	})

	client, err := temporalclient.Dial(t.Context(), plainOptions(address))

	require.NoError(t, err)
	client.Close()
}

func TestDialGivesUpAtOnceWhenRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]codes.Code{"no key": codes.Unauthenticated, "wrong key": codes.PermissionDenied} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serveFake(t, func(int64) error { return status.Error(tc, "no entry") })
			options := plainOptions(address)
			options.DialTimeout = time.Minute

			_, err := temporalclient.Dial(t.Context(), options)

			var failed *temporalclient.DialError
			require.ErrorAs(t, err, &failed)
			require.True(t, failed.Refused)
			require.Equal(t, 1, failed.Attempts)
			require.ErrorContains(t, err, "TEMPORAL_API_KEY")
		})
	}
}

func plainOptions(address string) temporalclient.Options {
	return temporalclient.Options{
		Role: "test", Address: address, Plain: true, Env: env{}, NoConfigFile: true,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}
}

// unusedPort returns a port on which nobody listens.
func unusedPort(t *testing.T) int {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().(*net.TCPAddr).Port
}

// fakeService answers the nth GetSystemInfo with answer(n).
type fakeService struct {
	workflowservice.UnimplementedWorkflowServiceServer

	answer func(call int64) error
	calls  *atomic.Int64
}

func (f fakeService) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, f.answer(f.calls.Add(1))
}

// serveFake serves the fake until the test ends and returns its address.
func serveFake(t *testing.T, answer func(call int64) error) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, fakeService{answer: answer, calls: new(atomic.Int64)})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return listener.Addr().String()
}
