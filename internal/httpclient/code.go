package httpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// errnoNames holds the numbers that connecting, reading and writing give; the syscall package has texts but no names.
var errnoNames = map[syscall.Errno]string{
	syscall.ECONNREFUSED:  "ECONNREFUSED",
	syscall.ECONNRESET:    "ECONNRESET",
	syscall.ECONNABORTED:  "ECONNABORTED",
	syscall.EPIPE:         "EPIPE",
	syscall.ETIMEDOUT:     "ETIMEDOUT",
	syscall.EHOSTUNREACH:  "EHOSTUNREACH",
	syscall.ENETUNREACH:   "ENETUNREACH",
	syscall.EADDRNOTAVAIL: "EADDRNOTAVAIL",
	syscall.EMFILE:        "EMFILE",
	syscall.EACCES:        "EACCES",
}

// codeOf names the fault as Node.js does: operators know these names, and the system that Holdfast rebuilds shows them.
func codeOf(err error) string {
	if code := certificateCode(err); code != "" {
		return code
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		if dns.IsNotFound {
			return "ENOTFOUND"
		}
		return "EAI_AGAIN"
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		return errnoNames[number]
	}
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &record):
		return "ERR_SSL_WRONG_VERSION_NUMBER"
	case errors.As(err, &alert):
		return "ERR_SSL_ALERT"
	case errors.Is(err, context.DeadlineExceeded):
		return "ETIMEDOUT"
	case errors.Is(err, context.Canceled):
		return "ABORT_ERR"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "ECONNRESET"
	default:
		return ""
	}
}

func certificateCode(err error) string {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	switch {
	case errors.As(err, &invalid):
		return invalidCode(invalid)
	case errors.As(err, &host):
		return "ERR_TLS_CERT_ALTNAME_INVALID"
	case errors.As(err, &verification) && errors.As(err, &authority):
		return authorityCode(verification.UnverifiedCertificates)
	case errors.As(err, &authority) && authority.Cert != nil:
		return authorityCode([]*x509.Certificate{authority.Cert})
	case errors.As(err, &verification):
		return "ERR_TLS_CERT_INVALID"
	default:
		return ""
	}
}

func invalidCode(invalid x509.CertificateInvalidError) string {
	if invalid.Reason != x509.Expired {
		return "ERR_TLS_CERT_INVALID"
	}
	if invalid.Cert != nil && time.Now().Before(invalid.Cert.NotBefore) {
		return "CERT_NOT_YET_VALID"
	}
	return "CERT_HAS_EXPIRED"
}

func authorityCode(chain []*x509.Certificate) string {
	if len(chain) == 0 {
		return "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
	}
	last := chain[len(chain)-1]
	selfSigned := bytes.Equal(last.RawSubject, last.RawIssuer)
	switch {
	case selfSigned && len(chain) == 1:
		return "DEPTH_ZERO_SELF_SIGNED_CERT"
	case selfSigned:
		return "SELF_SIGNED_CERT_IN_CHAIN"
	default:
		return "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
	}
}
