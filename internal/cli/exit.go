package cli

import (
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// Exit codes of the command line. They are part of its interface.
const (
	ExitOK       = 0
	ExitError    = 1
	ExitUsage    = 2 // the command was not understood; nothing was done
	ExitNotReady = 3 // a connection is not ready, or a call has no outcome yet
	ExitNotFound = 4 // there is nothing of that name or id
)

// CodeError is an error that asks for an exit code of its own.
type CodeError struct {
	Code  int
	Cause error
}

func (e *CodeError) Error() string { return e.Cause.Error() }

// Unwrap gives the cause.
func (e *CodeError) Unwrap() error { return e.Cause }

func usagef(format string, args ...any) error {
	return &CodeError{Code: ExitUsage, Cause: fmt.Errorf(format, args...)}
}

func notFoundf(format string, args ...any) error {
	return &CodeError{Code: ExitNotFound, Cause: fmt.Errorf(format, args...)}
}

// exitCode is the code of what a command returned.
func exitCode(err error) int {
	var exit *CodeError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit):
		return exit.Code
	case errors.Is(err, connection.ErrNotFound):
		return ExitNotFound
	default:
		return ExitError
	}
}

// worstExit is the code for several outcomes at once: an error weighs more than a connection that is not ready.
func worstExit(errs []error) int {
	worst := ExitOK
	for _, err := range errs {
		switch code := exitCode(err); {
		case code == ExitOK:
		case worst == ExitOK, code == ExitError:
			worst = code
		case worst == ExitNotReady:
			worst = code
		}
	}
	return worst
}
