package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
)

// Bounds of one attempt and of the pauses between attempts.
const (
	attemptTimeout = 5 * time.Second
	firstPause     = 100 * time.Millisecond
	longestPause   = 2 * time.Second
)

// DialError says that the Temporal server could not be reached or did not let us in.
type DialError struct {
	Address   string
	Namespace string
	Attempts  int
	// Refused is true when the server answered and refused the caller: trying again does not help.
	Refused bool
	Cause   error
}

// Error says what to do about it.
func (e *DialError) Error() string {
	advice := "start it (`holdfast dev` or `docker compose up`) or point TEMPORAL_ADDRESS at a running one"
	if e.Refused {
		advice = "check TEMPORAL_API_KEY and the TEMPORAL_TLS_* variables"
	}
	return fmt.Sprintf("reach temporal at %s (namespace %s, attempts: %d): %v: %s", e.Address, e.Namespace, e.Attempts, e.Cause, advice)
}

// Unwrap returns the last cause.
func (e *DialError) Unwrap() error { return e.Cause }

// Dial returns a client whose server has answered. It retries until Options.DialTimeout or the end of ctx, and then fails
// with a [*DialError]; wrong settings fail at once.
func Dial(ctx context.Context, o Options) (client.Client, error) {
	lazy, err := NewLazy(o)
	if err != nil {
		return nil, err
	}
	if err := WaitReady(ctx, lazy, o); err != nil {
		lazy.Close()
		return nil, err
	}
	return lazy, nil
}

// NewLazy returns a client that connects on its first call. It fails only on wrong settings.
func NewLazy(o Options) (client.Client, error) {
	resolved, err := o.ClientOptions()
	if err != nil {
		return nil, err
	}
	lazy, err := client.NewLazyClient(resolved)
	if err != nil {
		return nil, fmt.Errorf("make temporal client for %s: %w", resolved.HostPort, err)
	}
	return lazy, nil
}

// WaitReady waits until the server behind c answers, by the bounds of [Dial]. The options only name the server in the error
// and bound the wait.
func WaitReady(ctx context.Context, c Services, o Options) error {
	resolved, err := o.ClientOptions()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.dialTimeout())
	defer cancel()

	failed := &DialError{Address: resolved.HostPort, Namespace: resolved.Namespace}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		failed.Attempts++
		err := askSystemInfo(ctx, c)
		if err == nil {
			return nil
		}
		if failed.Cause == nil || ctx.Err() == nil {
			failed.Cause = err
		}
		if code := codeOf(err); code == codes.PermissionDenied || code == codes.Unauthenticated {
			failed.Refused = true
			return failed
		}
		if !sleep(ctx, pause) {
			return failed
		}
	}
}

// askSystemInfo is the cheapest call that proves a server: it needs no namespace.
func askSystemInfo(ctx context.Context, c Services) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	_, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	return err
}

// codeOf is the gRPC code of an error of the SDK's services.
func codeOf(err error) codes.Code {
	if errors.Is(err, context.DeadlineExceeded) {
		return codes.DeadlineExceeded
	}
	return serviceerror.ToStatus(err).Code()
}

// sleep waits for d and reports whether ctx still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
