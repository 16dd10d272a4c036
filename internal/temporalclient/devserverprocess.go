package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// stopGrace is how long the server may take to end after an interrupt before it is killed.
	stopGrace = 10 * time.Second
	// outputTail is how much of its output is kept for an error, in bytes.
	outputTail = 4000
)

// DevServer is a running development server, our own child process.
type DevServer struct {
	port      int
	uiPort    int
	namespace string
	output    *tail
	cmd       *exec.Cmd
	exited    chan struct{}

	mu       sync.Mutex
	stopping bool
	gone     bool
	exitErr  error
	onExit   func()
}

// newDevServer prepares the child; its ports are chosen.
func newDevServer(o DevServerOptions) *DevServer {
	server := &DevServer{
		port:      o.Port,
		namespace: o.namespace(),
		output:    newTail(outputTail),
		exited:    make(chan struct{}),
	}
	if !o.Headless {
		server.uiPort = o.UIPort
	}
	logs := io.Writer(server.output)
	if o.LogWriter != nil {
		logs = io.MultiWriter(server.output, o.LogWriter)
	}
	// The child outlives the context that bounds its start, so the command gets one that never ends.
	server.cmd = exec.CommandContext(context.Background(), o.CLI.Path, o.args()...)
	server.cmd.Env = childEnv(os.Environ())
	server.cmd.Stdout, server.cmd.Stderr = logs, logs
	server.cmd.WaitDelay = time.Second
	ownGroup(server.cmd)
	dieWithParent(server.cmd)
	return server
}

// launch starts the child and the goroutine that owns it.
func (s *DevServer) launch(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start temporal dev server: %w", err)
	}
	started := make(chan error, 1)
	go s.own(started)
	if err := <-started; err != nil {
		return fmt.Errorf("start temporal dev server: %w", err)
	}
	return nil
}

// own starts the child and waits for its end, all on one thread: the kernel kills the child when the thread that started it
// ends, and the Go runtime ends idle threads as it pleases.
func (s *DevServer) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := s.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	err := s.cmd.Wait()

	s.mu.Lock()
	s.gone = true
	if !s.stopping {
		if err == nil {
			err = errors.New("exit status 0")
		}
		s.exitErr = &ExitError{Output: strings.TrimSpace(s.output.String()), Cause: err}
	}
	onExit := s.onExit
	s.mu.Unlock()
	if onExit != nil {
		onExit()
	}
	close(s.exited)
}

// release runs f once the server has ended.
func (s *DevServer) release(f func()) {
	s.mu.Lock()
	gone := s.gone
	s.onExit = f
	s.mu.Unlock()
	if gone {
		f()
	}
}

// Address is host:port of the gRPC frontend.
func (s *DevServer) Address() string { return net.JoinHostPort(devHost, strconv.Itoa(s.port)) }

// Namespace is the namespace that was prepared.
func (s *DevServer) Namespace() string { return s.namespace }

// UIURL is the address of the Temporal UI, empty when it runs headless.
func (s *DevServer) UIURL() string {
	if s.uiPort == 0 {
		return ""
	}
	return "http://localhost:" + strconv.Itoa(s.uiPort)
}

// UIOrigins are the web origins under which a browser may show the UI.
func (s *DevServer) UIOrigins() []string {
	if s.uiPort == 0 {
		return nil
	}
	return UIOrigins(s.uiPort)
}

// UIOrigins are both loopback origins of a UI on a port.
func UIOrigins(port int) []string {
	return []string{"http://localhost:" + strconv.Itoa(port), "http://" + net.JoinHostPort(devHost, strconv.Itoa(port))}
}

// PID is the process id of the server.
func (s *DevServer) PID() int { return s.cmd.Process.Pid }

// Exited is closed when the server has ended; Err then tells why.
func (s *DevServer) Exited() <-chan struct{} { return s.exited }

// Err is nil while the server runs and after Stop, else an [*ExitError].
func (s *DevServer) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exitErr
}

// exitedEarly is Err for a server that has ended, nil while it runs.
func (s *DevServer) exitedEarly() error {
	select {
	case <-s.exited:
		return s.Err()
	default:
		return nil
	}
}

// Stop interrupts the server, waits for its end and kills it after ten seconds or when ctx ends. It may be called more than
// once and after the server has ended by itself. It returns nil once the process is gone.
func (s *DevServer) Stop(ctx context.Context) error {
	if err := s.signal(interruptGroup); err != nil {
		return fmt.Errorf("interrupt temporal dev server: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	select {
	case <-s.exited:
		return nil
	case <-ctx.Done():
	}
	if err := s.signal(killGroup); err != nil {
		return fmt.Errorf("kill temporal dev server: %w", err)
	}
	<-s.exited // a killed process ends, and WaitDelay bounds the rest
	return nil
}

// signal sends a signal unless the process is gone, when its id may be somebody else's.
func (s *DevServer) signal(send func(*exec.Cmd) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil
	}
	s.stopping = true
	return send(s.cmd)
}
