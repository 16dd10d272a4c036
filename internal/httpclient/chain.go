package httpclient

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// maxLinks is how many levels of a cause chain are told.
const maxLinks = 5

// Link is one level of a cause chain, fit to be shown.
type Link struct {
	// Message is the level's text, sanitised.
	Message string `json:"message"`
	// Name is the error's Go type, such as net.OpError.
	Name string `json:"name,omitempty"`
	// Code is the symbolic code of this level or of what it wraps, in the names of Node.js: ECONNREFUSED,
	// ENOTFOUND, CERT_HAS_EXPIRED.
	Code string `json:"code,omitempty"`
	// Errno is the system's error number as Node.js shows it, negative; 0 when there is none.
	Errno int `json:"errno,omitempty"`
	// Syscall is the system call that failed, such as connect.
	Syscall string `json:"syscall,omitempty"`
}

// Chain tells the causes of err, outermost first, at most five. An [*Error] itself is left out when it has a cause:
// its text repeats it. Of joined errors the first is followed.
func Chain(err error) []Link {
	var links []Link
	for depth := 0; err != nil && len(links) < maxLinks && depth < 4*maxLinks; depth++ {
		next := unwrap(err)
		if _, own := err.(*Error); !own || next == nil { //nolint:errorlint // this very level, not what it wraps
			links = append(links, linkOf(err))
		}
		err = next
	}
	return links
}

func unwrap(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, inner := range many.Unwrap() {
			if inner != nil {
				return inner
			}
		}
		return nil
	}
	return errors.Unwrap(err)
}

func linkOf(err error) Link {
	link := Link{
		Message: safeText(err),
		Name:    strings.TrimPrefix(fmt.Sprintf("%T", err), "*"),
		Code:    codeOf(err),
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		link.Errno = -int(number)
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		link.Syscall = call.Syscall
	}
	return link
}
