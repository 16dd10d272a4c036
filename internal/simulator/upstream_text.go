package simulator

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// The real engine's words for transport errors.
const (
	textRefused  = "Unable to connect. Is the computer able to access the url?"
	textUnknown  = "Was there a typo in the url or port?"
	textClosed   = "The socket connection was closed unexpectedly. For more information, pass `verbose: true` in the second argument to fetch()"
	textSelfSign = "self signed certificate"
	textExpired  = "certificate has expired"
)

// sseText puts the failure of the second connection attempt into the engine's words.
func sseText(err error) string {
	var status *statusError
	switch {
	case errors.As(err, &status):
		return fmt.Sprintf("Non-200 status code (%d)", status.code)
	case errors.Is(err, errContentType):
		return `Invalid content type, expected "text/event-stream"`
	}
	return transportText(err)
}

// callText puts the failure of a tool call into the engine's words.
func callText(err error) string {
	var status *statusError
	var reply *replyError
	switch {
	case errors.As(err, &status):
		return "Streamable HTTP error: Error POSTing to endpoint: " + status.body
	case errors.As(err, &reply):
		return reply.Error()
	}
	return transportText(err)
}

func transportText(err error) string {
	var dns *net.DNSError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns):
		return textUnknown
	case errors.Is(err, syscall.ECONNREFUSED):
		return textRefused
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return textExpired
	case errors.As(err, &verification):
		return textSelfSign
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, http.ErrServerClosed),
		strings.Contains(err.Error(), "server closed idle connection"):
		return textClosed
	}
	return textRefused
}
