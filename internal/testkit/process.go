package testkit

import (
	"bytes"
	"context"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stopWithin is how long Stop waits for a process to end by itself.
const stopWithin = 15 * time.Second

// Command describes a child process.
type Command struct {
	Path string
	Args []string
	Dir  string   // working directory; empty = the test's
	Env  []string // complete environment; nil = the test's own
}

// Process is a running child in a process group of its own. It is killed with its group when the test ends, and its
// output is logged when the test failed.
type Process struct {
	command *exec.Cmd
	output  *output
	ended   chan struct{}
	err     error // of Wait; read after ended
}

// Start runs a command. It fails the test when the command cannot be started.
func Start(tb testing.TB, c Command) *Process {
	tb.Helper()
	command := exec.CommandContext(context.WithoutCancel(tb.Context()), c.Path, c.Args...)
	command.Dir, command.Env = c.Dir, c.Env
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &Process{command: command, output: &output{}, ended: make(chan struct{})}
	command.Stdout, command.Stderr = p.output, p.output
	command.WaitDelay = time.Second // a grandchild may hold the pipe
	started := make(chan error, 1)
	go p.own(started)
	if err := <-started; err != nil {
		tb.Fatalf("start %s: %v", c.Path, err)
	}
	tb.Cleanup(func() {
		p.Kill()
		if tb.Failed() {
			tb.Logf("output of %s:\n%s", c.Path, p.Output())
		}
	})
	return p
}

// own starts the command and waits for it on one locked thread: the kernel ties Pdeathsig to the thread that forked,
// and with it even a killed test leaves no child.
func (p *Process) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.command.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.command.Wait()
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // grandchildren; mostly there are none
	close(p.ended)
}

// Kill sends SIGKILL to the process group and waits for the end. Killing a dead process is harmless.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// Stop sends SIGTERM and waits; the exit error is that of exec.Cmd.Wait. A process that does not end in time is killed
// and the test fails.
func (p *Process) Stop(tb testing.TB) error {
	tb.Helper()
	return p.end(tb, syscall.SIGTERM)
}

// Interrupt is Stop with SIGINT, as Ctrl-C sends it.
func (p *Process) Interrupt(tb testing.TB) error {
	tb.Helper()
	return p.end(tb, syscall.SIGINT)
}

func (p *Process) end(tb testing.TB, signal syscall.Signal) error {
	tb.Helper()
	p.signal(signal)
	timer := time.NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case <-p.ended:
		return p.err
	case <-timer.C:
		p.Kill()
		tb.Fatalf("%s did not end within %s of %s", p.command.Path, stopWithin, signal)
		return nil
	}
}

// Running says whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// PID is the process id, which is also the id of its group.
func (p *Process) PID() int { return p.command.Process.Pid }

// Output returns what the process has written to both streams so far.
func (p *Process) Output() string { return p.output.String() }

// signal reaches the whole group; it may have ended a moment ago, and that is fine.
func (p *Process) signal(signal syscall.Signal) {
	if p.Running() {
		_ = syscall.Kill(-p.command.Process.Pid, signal)
	}
}

// output is a buffer that may be read while it is written.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}
