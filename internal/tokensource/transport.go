package tokensource

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// transport sends the requests of the OAuth library by our own client: each once, on a new connection, with a deadline
// for the whole answer and a cap on its size. It serves one mint.
type transport struct {
	client *httpclient.Client
	told   *told // by the last answer
}

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("read token request: %w", err)
		}
	}
	answer, err := t.client.Do(r.Context(), httpclient.Request{
		Op: "ask token server", Method: r.Method, URL: r.URL, Header: r.Header, Body: body,
	})
	if err != nil && httpclient.KindOf(err) != httpclient.KindStatus {
		return nil, err
	}
	if err == nil {
		*t.told, answer.Body = read(answer.Body, answer.Header.Get("Content-Type"))
	}
	return &http.Response{
		StatusCode: answer.Status, Status: http.StatusText(answer.Status), Header: answer.Header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(answer.Body)), ContentLength: int64(len(answer.Body)), Request: r,
	}, nil
}
