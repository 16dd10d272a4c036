package tokensource

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// othersMayWrite is the permission to write for everybody: such a file says nothing about who put the token there.
const othersMayWrite fs.FileMode = 0o002

// envSource reads a variable of the process's environment.
type envSource struct {
	variable string
	lookup   func(string) (string, bool)
	now      func() time.Time
}

func (s envSource) Mint(ctx context.Context, _ Previous) (Minted, error) {
	if err := ctx.Err(); err != nil {
		return Minted{}, err
	}
	value, set := s.lookup(s.variable)
	if !set {
		return Minted{}, invalid("the environment variable is not set where the worker runs")
	}
	return usable(strings.TrimSpace(value), "environment variable", s.now())
}

// fileSource reads a file anew for each token: whoever renews it replaces the file.
type fileSource struct {
	path string
	now  func() time.Time
}

func (s fileSource) Mint(ctx context.Context, _ Previous) (Minted, error) {
	if err := ctx.Err(); err != nil {
		return Minted{}, err
	}
	text, err := readToken(s.path)
	if err != nil {
		return Minted{}, err
	}
	return usable(withoutNewline(text), "file", s.now())
}

// readToken reads a regular file. Its errors do not quote the path: a record of them is shown to more people than may
// know it.
func readToken(path string) (string, error) {
	// Looked at before it is opened: opening a pipe waits for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return "", fileFault(err)
	}
	switch {
	case !info.Mode().IsRegular():
		return "", invalid("the path of the token is not that of a file")
	case info.Mode().Perm()&othersMayWrite != 0:
		return "", invalid("the file may be written by everybody: take that permission away")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fileFault(err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxToken+3))
	if err != nil {
		return "", fileFault(err)
	}
	return string(text), nil
}

// fileFault tells what is wrong with a file.
func fileFault(err error) *Error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return invalid("the file of the token is not there")
	case errors.Is(err, fs.ErrPermission):
		return invalid("the worker may not read the file of the token")
	default:
		return invalid("the file of the token cannot be read")
	}
}

// withoutNewline drops the one line end that editors leave behind a text.
func withoutNewline(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}
