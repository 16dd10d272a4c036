//go:build unix && !linux

package temporalclient

import "os/exec"

// dieWithParent does nothing where the kernel offers no such thing: after a kill -9 of the parent the server stays, and the
// next start names the taken port.
func dieWithParent(*exec.Cmd) {}
