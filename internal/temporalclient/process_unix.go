//go:build unix

package temporalclient

import (
	"errors"
	"os/exec"
	"syscall"
)

// ownGroup starts cmd in a process group of its own, so that a Ctrl-C in the terminal reaches only us and we decide when the
// child stops, and makes a cancelled command take its children with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
}

// interruptGroup asks the group of cmd to end.
func interruptGroup(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGINT) }

// killGroup ends the group of cmd.
func killGroup(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGKILL) }

// signalGroup signals the whole group; a group that is gone is no error. It must not be called once cmd was waited for: the id
// may then belong to somebody else.
func signalGroup(cmd *exec.Cmd, signal syscall.Signal) error {
	if err := syscall.Kill(-cmd.Process.Pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
