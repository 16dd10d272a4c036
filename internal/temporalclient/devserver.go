package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/holdfast-mcp/holdfast/internal/filelock"
)

const (
	devHost = "127.0.0.1"

	// DefaultReadyTimeout bounds the start of a development server.
	DefaultReadyTimeout = 60 * time.Second
	readyPause          = 50 * time.Millisecond
	// dataLockTimeout lets a predecessor that is just ending go, and tells early of one that stays.
	dataLockTimeout = time.Second
	// freePortStarts is how often a start on ports of our choice is tried: between choosing a free port and the server taking
	// it another process may be faster.
	freePortStarts = 3
)

// DevServerOptions describe a development server.
type DevServerOptions struct {
	CLI CLI

	// DataFile is the SQLite file that outlives the server; its directory is made. Empty means in memory.
	DataFile string
	// Port and UIPort are bound on loopback; zero chooses a free one.
	Port   int
	UIPort int
	// Headless leaves the UI out.
	Headless bool
	// Namespace is created beside "default", which always exists; empty means "default".
	Namespace string
	// Retention is how long closed runs are kept at least.
	Retention time.Duration
	// SearchAttributes are created with the namespace; nil means SearchAttributes().
	SearchAttributes []Attribute
	// CodecEndpoint is given to the UI. A path secret in it is as open as the UI itself: to every user of this machine.
	CodecEndpoint string

	// LogWriter gets what the server prints (errors only: it warns at every stop); nil discards it.
	LogWriter io.Writer
	// ReadyTimeout bounds the start; zero means DefaultReadyTimeout.
	ReadyTimeout time.Duration
}

// PortTakenError says that a port that was asked for belongs to another program.
type PortTakenError struct {
	Port int
	// Purpose is server or ui.
	Purpose string
}

// Error says what to do.
func (e *PortTakenError) Error() string {
	return fmt.Sprintf("start temporal dev server: port %d for the %s is taken: stop the program that uses it (another `holdfast dev`?) or choose another port",
		e.Port, e.Purpose)
}

// DataFileBusyError says that another development server of ours works on the data file.
type DataFileBusyError struct{ Path string }

// Error says what to do.
func (e *DataFileBusyError) Error() string {
	return fmt.Sprintf("start temporal dev server: %s is in use by another one: stop it or choose another data directory", e.Path)
}

// ExitError says that the server ended although nobody had asked it to.
type ExitError struct {
	// Output is the end of what it printed.
	Output string
	Cause  error
}

// Error holds the last output, which tells why.
func (e *ExitError) Error() string {
	return fmt.Sprintf("temporal dev server ended: %v: %s", e.Cause, e.Output)
}

// Unwrap returns how the process ended.
func (e *ExitError) Unwrap() error { return e.Cause }

// StartDevServer runs `temporal server start-dev` as a child process in a process group of its own and returns once it serves,
// with the namespace, its retention and the search attributes in place. ctx bounds the start only; end the server with
// [DevServer.Stop]. On Linux the kernel ends it when this process dies, however that happens.
func StartDevServer(ctx context.Context, o DevServerOptions) (*DevServer, error) {
	ctx, cancel := context.WithTimeout(ctx, o.readyTimeout())
	defer cancel()
	unlock, err := o.lockData(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		server, err := startOnce(ctx, o)
		if err == nil {
			server.release(unlock)
			return server, nil
		}
		_, exited := errors.AsType[*ExitError](err)
		if ourPorts := o.Port == 0; !exited || !ourPorts || attempt == freePortStarts || ctx.Err() != nil {
			unlock()
			return nil, err
		}
	}
}

// startOnce chooses the ports, starts the child and waits until it serves; on an error nothing is left running.
func startOnce(ctx context.Context, o DevServerOptions) (*DevServer, error) {
	var err error
	if o.Port, err = takePort(ctx, o.Port, "server"); err != nil {
		return nil, err
	}
	if !o.Headless {
		if o.UIPort, err = takePort(ctx, o.UIPort, "ui"); err != nil {
			return nil, err
		}
	}
	server := newDevServer(o)
	if err := server.launch(ctx); err != nil {
		return nil, err
	}
	if err := server.awaitReady(ctx, o); err != nil {
		_ = server.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return server, nil
}

// takePort returns port if it is free, or a free one for zero.
func takePort(ctx context.Context, port int, purpose string) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(devHost, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return 0, &PortTakenError{Port: port, Purpose: purpose}
	}
	if err != nil {
		return 0, fmt.Errorf("find port for temporal dev server (%s): %w", purpose, err)
	}
	defer func() { _ = listener.Close() }()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("find port for temporal dev server (%s): no TCP address", purpose)
	}
	return address.Port, nil
}

// lockData makes the directory of the data file and keeps two servers from working on it.
func (o DevServerOptions) lockData(ctx context.Context) (unlock func(), err error) {
	if o.DataFile == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(filepath.Dir(o.DataFile), 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dataLockTimeout)
	defer cancel()
	lock, err := filelock.Acquire(ctx, o.DataFile+".lock")
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, &DataFileBusyError{Path: o.DataFile}
	}
	if err != nil {
		return nil, fmt.Errorf("start temporal dev server: %w", err)
	}
	return func() { _ = lock.Release() }, nil
}

// awaitReady waits until the server answers and prepares the namespace.
func (s *DevServer) awaitReady(ctx context.Context, o DevServerOptions) error {
	probe, err := NewLazy(Options{Role: "dev", Address: s.Address(), Namespace: s.namespace, Plain: true, NoConfigFile: true, Env: noEnv{}})
	if err != nil {
		return err
	}
	defer probe.Close()
	for {
		if err = s.probe(ctx, probe); err == nil {
			break
		}
		if exited := s.exitedEarly(); exited != nil {
			return exited
		}
		if !sleep(ctx, readyPause) {
			return fmt.Errorf("wait for temporal dev server at %s: %w: %s", s.Address(), err, s.output.String())
		}
	}
	if _, err := Setup(ctx, probe, s.namespace, o.Retention); err != nil {
		return fmt.Errorf("prepare temporal dev server: %w", err)
	}
	return nil
}

// probe asks for the namespace and, if there is a UI, for its socket.
func (s *DevServer) probe(ctx context.Context, svc Services) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	_, err := svc.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.namespace})
	if err != nil || s.uiPort == 0 {
		return err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(devHost, strconv.Itoa(s.uiPort)))
	if err != nil {
		return err
	}
	return conn.Close()
}

// readyTimeout is the bound of the start.
func (o DevServerOptions) readyTimeout() time.Duration {
	if o.ReadyTimeout > 0 {
		return o.ReadyTimeout
	}
	return DefaultReadyTimeout
}

// noEnv is an environment without variables: the probe talks to our own child, whatever TEMPORAL_* says.
type noEnv struct{}

func (noEnv) Environ() []string               { return nil }
func (noEnv) LookupEnv(string) (string, bool) { return "", false }
