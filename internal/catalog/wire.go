package catalog

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

const (
	headerLastEvent = "Last-Event-Id"

	dialLimit = 5 * time.Second
	// standingLimit is how long a server may take to open the stream that it need not have.
	standingLimit   = 5 * time.Second
	idlePerHost     = 128
	idleLifetime    = 90 * time.Second
	maxHeaderBytes  = 64 << 10
	maxResult       = 64 << 20 // bytes of one answer
	maxResultEvents = maxResult + 1<<20
)

var errTooLarge = errors.New("the answer is larger than 64 MiB")

// newTransport makes the connections of one source. Nothing bounds how long headers may take: a tool may work before it answers.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialLimit}).DialContext,
		TLSHandshakeTimeout:    dialLimit,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleLifetime,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// wire is the way of one session to its source. It adds the source's headers and the idempotency key, follows no redirect (what it
// bears is for this address only), and notes in a request's attempt what happens to it.
type wire struct {
	url    string
	base   http.RoundTripper
	header http.Header

	standing atomic.Bool // the server's own stream was asked for
}

// bear adds what the source wants to see.
func (w *wire) bear(h http.Header) {
	for key, values := range w.header {
		h[key] = values
	}
}

func (w *wire) client() *http.Client {
	return &http.Client{
		Transport:     w,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(original *http.Request) (*http.Response, error) {
	request := original.WithContext(original.Context()) // a copy: the original is not ours to change
	request.Header = original.Header.Clone()
	w.bear(request.Header)
	if request.Method == http.MethodGet && request.Header.Get(headerLastEvent) == "" && w.standing.CompareAndSwap(false, true) {
		return w.openStanding(request)
	}
	a := attemptOf(request.Context())
	if a == nil || request.Method == http.MethodDelete {
		return w.base.RoundTrip(request)
	}
	return w.follow(request, a)
}

func (w *wire) follow(request *http.Request, a *attempt) (*http.Response, error) {
	continued := request.Method == http.MethodGet
	if !continued {
		if a.key != "" {
			// Not in the usual spelling: under that one, net/http itself sends a request again whose connection was cut, and only the
			// owner of the key knows whether that is safe.
			request.Header[strings.ToLower(KeyHeader)] = []string{a.key}
		}
		trace := &httptrace.ClientTrace{WroteHeaders: a.markSent}
		request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
	}
	response, err := w.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	a.answer(response.StatusCode, kind == "text/event-stream", continued)
	response.Body = &noted{ReadCloser: response.Body, attempt: a, left: maxResultEvents}
	return response, nil
}

// openStanding asks for the stream on which a server speaks unasked. A server that does not open it has none: this must neither hold up
// nor end the session.
func (w *wire) openStanding(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	late := time.AfterFunc(standingLimit, cancel)
	response, err := w.base.RoundTrip(request.WithContext(ctx))
	opened := late.Stop() && err == nil
	if opened && response.StatusCode == http.StatusOK && strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		response.Body = &ending{ReadCloser: response.Body, end: cancel}
		return response, nil
	}
	if err == nil {
		_ = response.Body.Close()
	}
	cancel()
	return &http.Response{
		Status: http.StatusText(http.StatusMethodNotAllowed), StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: request,
	}, nil
}

// ending releases what belongs to a body with it.
type ending struct {
	io.ReadCloser
	end context.CancelFunc
}

func (e *ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}

// noted copies a body into its attempt as it is read.
type noted struct {
	io.ReadCloser
	attempt *attempt
	left    int
}

func (n *noted) Read(p []byte) (int, error) {
	count, err := n.ReadCloser.Read(p)
	if n.left -= count; n.left < 0 {
		return 0, errTooLarge
	}
	n.attempt.add(p[:count])
	return count, err
}
