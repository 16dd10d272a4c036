package mcpprobe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	headerSession   = "Mcp-Session-Id"
	headerVersion   = "Mcp-Protocol-Version"
	headerLastEvent = "Last-Event-Id"

	// maxRefusalBytes is how much of a refusal is read, to see whether it speaks of the session.
	maxRefusalBytes = 64 << 10
	maxRedirects    = 3
)

var (
	errTooLarge  = errors.New("the answers exceed the size limit")
	errTooMany   = errors.New("the endpoint caused too many requests")
	errForeign   = errors.New("the request would leave the endpoint's origin")
	errStepIsOut = errors.New("the request is no longer needed")
)

// wire is the only way from a probe to the network. It adds the configured headers, never leaves the endpoint's
// origin, bounds time and bytes, notes what it sees in the request's step, and answers itself what must not be sent:
// a standing GET stream, and the DELETE of a session that is kept.
type wire struct {
	endpoint *url.URL
	header   http.Header
	timeout  time.Duration
	base     *http.Transport

	bytesLeft atomic.Int64
	requests  atomic.Int64
	keep      atomic.Bool
}

func newWire(t Target, endpoint *url.URL) *wire {
	w := &wire{endpoint: endpoint, header: t.header(), timeout: orDefault(t.RequestTimeout)}
	// The request's context bounds dialling; a transport may go on with it for a later request, and these end that.
	abandoned := 2 * w.timeout
	w.base = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: abandoned}).DialContext,
		TLSHandshakeTimeout:    abandoned,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	w.bytesLeft.Store(maxAnswerBytes)
	return w
}

func (w *wire) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: w.checkRedirect}
}

// checkRedirect follows a redirect only if it stays at the origin and repeats the request as it was. Any other one is
// an answer like any refusal.
func (w *wire) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || req.Method != via[0].Method || !sameOrigin(req.URL, w.endpoint) {
		return http.ErrUseLastResponse
	}
	return nil
}

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if local := w.answerLocally(req); local != nil {
		closeBody(req)
		return local, nil
	}
	s := stepFrom(req.Context())
	if err := w.refuse(req, s); err != nil {
		closeBody(req)
		return nil, err
	}
	timeout := w.timeout
	if req.Method == http.MethodDelete {
		timeout = closing(w.timeout)
	}
	ctx, cancel := context.WithTimeoutCause(req.Context(), timeout, &deadlineError{after: timeout})
	resp, err := w.base.RoundTrip(w.dress(ctx, req))
	if err != nil {
		cancel()
		s.fail(err)
		return nil, err
	}
	resp.Body = &answer{ReadCloser: resp.Body, wire: w, step: s, cancel: cancel}
	return w.note(req, resp, s), nil
}

// answerLocally is the answer to a request that must not be sent, or nil.
func (w *wire) answerLocally(req *http.Request) *http.Response {
	switch {
	case req.Method == http.MethodGet && req.Header.Get(headerLastEvent) == "":
		return localAnswer(req, http.StatusMethodNotAllowed)
	case req.Method == http.MethodDelete && w.keep.Load():
		return localAnswer(req, http.StatusNoContent)
	default:
		return nil
	}
}

func (w *wire) refuse(req *http.Request, s *step) error {
	var err error
	switch {
	case !sameOrigin(req.URL, w.endpoint):
		err = errForeign
	case w.requests.Add(1) > maxRequests:
		err = errTooMany
	case !s.admit(req.Response != nil || req.Method == http.MethodGet):
		return errStepIsOut
	}
	if err != nil {
		s.fail(err)
	}
	return err
}

// dress adds the configured headers to a copy of the request.
func (w *wire) dress(ctx context.Context, req *http.Request) *http.Request {
	req = req.Clone(ctx)
	for name, values := range w.header {
		req.Header[name] = values
	}
	if host := w.header.Get("Host"); host != "" {
		req.Host = host
	}
	req.Header.Del("Host")
	req.Header.Del("Referer")
	return req
}

// note keeps the facts of an answer in its step, and turns it into what the SDK should see.
func (w *wire) note(req *http.Request, resp *http.Response, s *step) *http.Response {
	if s == nil {
		return resp
	}
	good := statusOK(resp.StatusCode)
	if req.Method == http.MethodPost || !good {
		s.answered(resp.StatusCode, resp.Header.Get("X-Request-Id"))
	}
	if good {
		if s.name != StepInitialize {
			// Some endpoints send a session id with every answer, each a new one. Clients go on with the first.
			resp.Header.Del(headerSession)
		}
		return w.match(req, resp, s)
	}
	if speaksOfLostSession(readRefusal(resp)) {
		s.sessionLost()
	}
	if s.name == StepInitializedNotice && !repeats(resp.StatusCode) {
		// Never fatal: an endpoint that means it refuses what comes next as well.
		return localAnswer(req, http.StatusAccepted)
	}
	return resp
}

// match makes sure that a JSON answer is one to its request: the SDK would wait for ever for the right one.
func (w *wire) match(req *http.Request, resp *http.Response, s *step) *http.Response {
	if s.name == StepInitializedNotice || mediaType(resp) != mediaJSON {
		return resp
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil {
		s.fail(mismatch(req, body))
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp
}

// mismatch is what is wrong with the body as an answer to the request, or nil.
func mismatch(req *http.Request, body []byte) error {
	answer, err := decodeAnswer(body)
	if err != nil {
		return err
	}
	if id, known := requestID(req); known && answer.ID == id {
		return nil
	}
	if answer.Error != nil {
		return answer.Error
	}
	return errWrongAnswer
}

func requestID(req *http.Request) (jsonrpc.ID, bool) {
	if req.GetBody == nil {
		return jsonrpc.ID{}, false
	}
	reader, err := req.GetBody()
	if err != nil {
		return jsonrpc.ID{}, false
	}
	defer func() { _ = reader.Close() }()
	body, err := io.ReadAll(reader)
	if err != nil {
		return jsonrpc.ID{}, false
	}
	message, err := jsonrpc.DecodeMessage(body)
	call, isCall := message.(*jsonrpc.Request)
	if err != nil || !isCall {
		return jsonrpc.ID{}, false
	}
	return call.ID, true
}

// readRefusal reads a refusal's text, and leaves the SDK none of it: the status is all that counts.
func readRefusal(resp *http.Response) string {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusalBytes)) // what could be read is enough
	_ = resp.Body.Close()
	resp.Body = http.NoBody
	return string(text)
}

func localAnswer(req *http.Request, status int) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: req,
	}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// repeats tells whether a status asks to repeat the request elsewhere, method and body included.
func repeats(status int) bool {
	return status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// answer is an answer's body, bounded in time by its context and in bytes by the probe's budget.
type answer struct {
	io.ReadCloser
	wire   *wire
	step   *step
	cancel context.CancelFunc
}

// Read implements [io.Reader].
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if a.wire.bytesLeft.Add(-int64(n)) < 0 {
		a.step.fail(errTooLarge)
		return 0, errTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		a.step.fail(err)
	}
	return n, err
}

// Close implements [io.Closer].
func (a *answer) Close() error {
	err := a.ReadCloser.Close()
	a.cancel()
	return err
}
