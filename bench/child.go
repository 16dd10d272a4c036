package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is a process of ours. It ends with us, however we end.
type child struct {
	command *exec.Cmd
	log     *os.File
	ended   chan struct{}
	inspect string // where it can be looked into; empty: nowhere
}

// startChild starts a program whose output goes to a file.
func startChild(log string, env []string, path string, args ...string) (*child, error) {
	file, err := os.Create(log) //nolint:gosec // in the folder of the run, which the user may choose
	if err != nil {
		return nil, err
	}
	c := &child{log: file, ended: make(chan struct{})}
	// The child outlives the context that bounds its start: stop ends it.
	c.command = exec.CommandContext(context.Background(), path, args...) //nolint:gosec // a program of this repository
	c.command.Env, c.command.Stdout, c.command.Stderr = env, file, file
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go c.own(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return c, nil
}

// own starts the child and waits for it on one locked thread: the kernel ties Pdeathsig to the thread that forked.
func (c *child) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() { _ = c.log.Close() }()
	if err := c.command.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	_ = c.command.Wait()
	close(c.ended)
}

func (c *child) pid() int { return c.command.Process.Pid }

// stop asks the child to end, and kills it with its group when it does not.
func (c *child) stop(grace time.Duration) {
	_ = syscall.Kill(-c.pid(), syscall.SIGTERM)
	select {
	case <-c.ended:
		return
	case <-time.After(grace):
	}
	_ = syscall.Kill(-c.pid(), syscall.SIGKILL)
	<-c.ended
}
