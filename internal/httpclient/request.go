package httpclient

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"time"
)

// statusBody is how much of an error answer's body is kept: enough for a typed error, too little to matter.
const statusBody = 64 << 10

// Request is one call.
type Request struct {
	// Op says what the caller is doing, in lower case, as the beginning of error texts: "read mcp statuses".
	Op string
	// Method is the HTTP method; empty means GET.
	Method string
	// URL is where the request goes. Its query never appears in an error.
	URL *url.URL
	// Header is sent as it is; the client does not change it.
	Header http.Header
	// Body is sent as it is; nil means none.
	Body []byte
	// Timeout replaces the client's timeout for this call when it is above 0.
	Timeout time.Duration
	// Repeatable allows up to three tries within the call's time. The first may use a kept connection, each other one
	// is made on a new connection at once. A try that stays unanswered is given up after [ShortAttempt] (at most half
	// of the time that is left), the last one when the time is over; a connection that breaks is made good once. A
	// refused connection, a failed lookup or handshake and any answer are final.
	// Requests that are not repeatable are sent once, always on a new connection, so that a kept one to
	// a server that has gone cannot swallow them.
	Repeatable bool
}

// Response is a complete answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends r and reads the whole answer. Every error is an [*Error]. For [KindStatus] (anything but 2xx) the response
// is returned beside the error, with at most the first 64 KiB of its body; otherwise it is nil on error.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeoutOf(r))
	defer cancel()

	if !r.Repeatable {
		return c.attempt(ctx, c.fresh, r)
	}
	return c.repeat(ctx, r)
}

func (c *Client) repeat(ctx context.Context, r Request) (*Response, error) {
	via, broken := c.kept, false
	for range maxTries - 1 {
		resp, err := c.shortAttempt(ctx, via, r)
		if err == nil || ctx.Err() != nil || !mayPass(err) {
			return resp, err
		}
		if KindOf(err) == KindUnreachable {
			if broken {
				return nil, err
			}
			broken = true
		}
		via = c.fresh
	}
	return c.attempt(ctx, via, r)
}

func (c *Client) timeoutOf(r Request) time.Duration {
	if r.Timeout > 0 {
		return r.Timeout
	}
	return c.timeout
}

func (c *Client) shortAttempt(ctx context.Context, via *http.Client, r Request) (*Response, error) {
	limit := ShortAttempt
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.attempt(ctx, via, r)
}

func (c *Client) attempt(ctx context.Context, via *http.Client, r Request) (*Response, error) {
	req, err := newRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := via.Do(req)
	if err != nil {
		return nil, fault(ctx, r.Op, 0, err)
	}
	defer func() { _ = resp.Body.Close() }()

	out := &Response{Status: resp.StatusCode, Header: resp.Header}
	if !successful(resp.StatusCode) {
		// The status alone is the news: a body that breaks off must not hide it.
		out.Body, _ = io.ReadAll(io.LimitReader(resp.Body, statusBody))
		return out, &Error{Op: r.Op, Kind: KindStatus, Status: resp.StatusCode}
	}
	if resp.ContentLength > c.maxBody {
		return nil, tooLarge(r.Op, resp.StatusCode, c.maxBody)
	}
	out.Body, err = io.ReadAll(io.LimitReader(resp.Body, c.maxBody+1))
	if err != nil {
		return nil, fault(ctx, r.Op, resp.StatusCode, err)
	}
	if int64(len(out.Body)) > c.maxBody {
		return nil, tooLarge(r.Op, resp.StatusCode, c.maxBody)
	}
	return out, nil
}

func newRequest(ctx context.Context, r Request) (*http.Request, error) {
	if r.URL == nil {
		return nil, BadRequest(r.Op, errNoURL)
	}
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), body)
	if err != nil {
		return nil, BadRequest(r.Op, safeCause(err))
	}
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
	return req, nil
}

func successful(status int) bool { return status >= 200 && status < 300 }
