package catalog

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// cause says in our own words why a source is down; empty: nothing is known beside the code. Errors themselves quote addresses with their
// queries, and what servers answer: neither is for a log.
func (d definition) cause(err error) string {
	if d.local() {
		if text := d.childCause(err); text != "" {
			return text
		}
	}
	var (
		opening *openError
		name    *net.DNSError
		trust   *tls.CertificateVerificationError
		network net.Error
	)
	switch {
	case errors.As(err, &opening) && opening.status >= http.StatusBadRequest:
		return "it answered " + strconv.Itoa(opening.status)
	case errors.As(err, &name) && name.IsNotFound:
		return "host " + strconv.Quote(name.Name) + " not found"
	case errors.As(err, &trust):
		return "its certificate is not trusted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "no answer in time"
	default:
		return ""
	}
}

// childCause is about a program that is a source.
func (d definition) childCause(err error) string {
	program := "program " + strconv.Quote(filepath.Base(d.command))
	var path *fs.PathError
	switch {
	case errors.As(err, &path) && path.Op == "chdir":
		return "the folder of " + program + " cannot be entered"
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return program + " not found"
	case errors.Is(err, fs.ErrPermission):
		return program + " may not be run"
	case errors.Is(err, io.EOF), errors.Is(err, mcp.ErrConnectionClosed):
		return program + " ended"
	default:
		return ""
	}
}
