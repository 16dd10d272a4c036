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
	from     place
	lookup   func(string) (string, bool)
	now      func() time.Time
}

func (s envSource) Mint(ctx context.Context, _ Previous) (Minted, error) {
	if err := ctx.Err(); err != nil {
		return Minted{}, err
	}
	value, set := s.lookup(s.variable)
	if !set {
		return Minted{}, s.from.fault("is not set where the worker runs")
	}
	return usable(strings.TrimSpace(value), s.from, s.now())
}

// fileSource reads a file anew for each token: whoever renews it replaces the file.
type fileSource struct {
	path string
	from place
	now  func() time.Time
}

func (s fileSource) Mint(ctx context.Context, _ Previous) (Minted, error) {
	if err := ctx.Err(); err != nil {
		return Minted{}, err
	}
	text, err := s.read()
	if err != nil {
		return Minted{}, err
	}
	return usable(withoutNewline(text), s.from, s.now())
}

// read reads a regular file.
func (s fileSource) read() (string, error) {
	// Looked at before it is opened: opening a pipe waits for a writer.
	info, err := os.Stat(s.path)
	if err != nil {
		return "", s.fault(err)
	}
	switch {
	case !info.Mode().IsRegular():
		return "", s.from.fault("is not a regular file")
	case info.Mode().Perm()&othersMayWrite != 0:
		return "", s.from.fault("may be written by everybody: take that permission away")
	}
	file, err := os.Open(s.path)
	if err != nil {
		return "", s.fault(err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxToken+3))
	if err != nil {
		return "", s.fault(err)
	}
	return string(text), nil
}

// fault tells what is wrong with the file.
func (s fileSource) fault(err error) *Error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.from.fault("is not there where the worker runs")
	case errors.Is(err, fs.ErrPermission):
		return s.from.fault("may not be read by the worker")
	default:
		return s.from.fault("cannot be read")
	}
}

// withoutNewline drops the one line end that editors leave behind a text.
func withoutNewline(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}
