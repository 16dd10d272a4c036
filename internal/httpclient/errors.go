package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

var errNoURL = errors.New("the request has no url")

// Kind says what went wrong, as far as a caller must tell faults apart.
type Kind string

// The kinds of faults.
const (
	// KindUnreachable: no connection, or it broke before the answer was complete.
	KindUnreachable Kind = "unreachable"
	// KindTimeout: the answer was not complete within the call's time.
	KindTimeout Kind = "timeout"
	// KindStatus: the answer's status is not 2xx.
	KindStatus Kind = "status"
	// KindMalformed: the answer is not what the call needs.
	KindMalformed Kind = "malformed"
	// KindRequest: the request could not be built; nothing was sent.
	KindRequest Kind = "request"
	// KindTooLarge: the answer exceeds the size limit.
	KindTooLarge Kind = "too_large"
	// KindCanceled: the caller gave up.
	KindCanceled Kind = "canceled"
)

// Valid tells whether k is one of the kinds above.
func (k Kind) Valid() bool {
	switch k {
	case KindUnreachable, KindTimeout, KindStatus, KindMalformed, KindRequest, KindTooLarge, KindCanceled:
		return true
	default:
		return false
	}
}

// Error is the fault of one call. Its text is safe to show; so are the texts of its causes.
type Error struct {
	Op   string
	Kind Kind
	// Status is the HTTP status, 0 when no headers arrived.
	Status int
	// Cause is the underlying error; nil for [KindStatus].
	Cause error
}

func (e *Error) Error() string {
	text := e.Op + ": " + e.what()
	if e.Cause != nil {
		text += ": " + safeText(e.Cause)
	}
	return text
}

func (e *Error) what() string {
	switch e.Kind {
	case KindUnreachable:
		if e.Status != 0 {
			return "connection lost while reading the answer"
		}
		return "server cannot be reached"
	case KindTimeout:
		if e.Status != 0 {
			return "answer not complete in time"
		}
		return "no answer in time"
	case KindStatus:
		return "server answered " + statusText(e.Status)
	case KindMalformed:
		return "not the expected answer"
	case KindRequest:
		return "cannot build the request"
	case KindTooLarge:
		return "answer too large"
	case KindCanceled:
		return "canceled"
	default:
		return string(e.Kind)
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Temporary tells whether the same call may succeed later with nothing changed on our side: the server could not be
// reached, was late, or answered 408, 429 or 5xx.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case KindUnreachable, KindTimeout:
		return true
	case KindStatus:
		return e.Status >= 500 || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests
	case KindMalformed, KindRequest, KindTooLarge, KindCanceled:
		return false
	default:
		return false
	}
}

// KindOf returns the kind of the [*Error] in err's chain, or "" when there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func statusText(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "http 401, check the user name and password"
	case http.StatusProxyAuthRequired:
		return "http 407, check the proxy settings"
	default:
		return fmt.Sprintf("http %d", status)
	}
}

// BadRequest is the error for a call that cannot be made with what the caller gave.
func BadRequest(op string, cause error) *Error {
	return &Error{Op: op, Kind: KindRequest, Cause: cause}
}

func tooLarge(op string, status int, limit int64) *Error {
	return &Error{Op: op, Kind: KindTooLarge, Status: status, Cause: fmt.Errorf("the limit is %d bytes", limit)}
}

// fault classifies what net/http returned. The context decides first: once it is over, whatever error the transport
// happened to see is only its echo.
func fault(ctx context.Context, op string, status int, err error) *Error {
	e := &Error{Op: op, Kind: KindUnreachable, Status: status, Cause: safeCause(err)}
	over := ctx.Err()
	if over == nil {
		return e
	}
	e.Kind = KindTimeout
	if errors.Is(over, context.Canceled) {
		e.Kind = KindCanceled
	}
	if !errors.Is(e.Cause, over) {
		e.Cause = over
	}
	return e
}

// mayPass tells whether a new connection may help: it does when an established one broke or stayed silent.
func mayPass(err error) bool {
	switch KindOf(err) {
	case KindTimeout:
		return true
	case KindUnreachable:
		return !establishing(err)
	case KindStatus, KindMalformed, KindRequest, KindTooLarge, KindCanceled:
		return false
	default:
		return false
	}
}

func establishing(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect") {
		return true
	}
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &cert) || errors.As(err, &record) || errors.As(err, &alert)
}

// safeCause drops the layer that quotes the URL with its query, and replaces protocol errors that quote what the
// server sent. Causes travel further than messages: failure converters print each of them.
func safeCause(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	if knownCause(err) || !strings.Contains(err.Error(), `"`) {
		return err
	}
	return errors.New(safeText(err))
}

func knownCause(err error) bool {
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	return errors.As(err, &op) || errors.As(err, &cert) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
