package httpclient

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport sends the requests of a library by a [Client]: each once, on a new connection, with a deadline for the whole answer and a cap
// on its size. An answer is one whatever its status says; the error is an *[Error].
type Transport struct {
	Client *Client
	// Op is what the request is for, in errors: "finish login".
	Op string
	// Read may look at the body of a 2xx, and say what the library is given instead; nil: as it is.
	Read func(body []byte, contentType string) []byte
}

// RoundTrip implements [http.RoundTripper].
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("%s: read request: %w", t.Op, err)
		}
	}
	answer, err := t.Client.Do(r.Context(), Request{Op: t.Op, Method: r.Method, URL: r.URL, Header: r.Header, Body: body})
	if err != nil && KindOf(err) != KindStatus {
		return nil, err
	}
	if err == nil && t.Read != nil {
		answer.Body = t.Read(answer.Body, answer.Header.Get("Content-Type"))
	}
	return &http.Response{
		StatusCode: answer.Status, Status: http.StatusText(answer.Status), Header: answer.Header, Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(answer.Body)), ContentLength: int64(len(answer.Body)), Request: r,
	}, nil
}
