package engineapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// read is a request that only reads, so it may be sent again.
func (c *Client) read(op, directory string, path ...string) httpclient.Request {
	return httpclient.Request{
		Op:         op,
		Method:     http.MethodGet,
		URL:        c.url(directory, path...),
		Header:     c.header,
		Repeatable: true,
	}
}

// write is a request with effects: it is sent once.
func (c *Client) write(op, directory string, path ...string) httpclient.Request {
	return httpclient.Request{
		Op:     op,
		Method: http.MethodPost,
		URL:    c.url(directory, path...),
		Header: c.header,
	}
}

// url puts the directory, when there is one, into the query exactly once: the engine's answer to two is undefined.
func (c *Client) url(directory string, path ...string) *url.URL {
	u := *c.base
	raw := c.base.EscapedPath()
	for _, segment := range path {
		u.Path += "/" + segment
		raw += "/" + escapeSegment(segment)
	}
	u.RawPath = raw
	if directory != "" {
		u.RawQuery = url.Values{"directory": {directory}}.Encode()
	}
	return &u
}

// escapeSegment makes one path segment of any text. Dots are escaped in "." and ".." too, which proxies and the
// router would otherwise take for a way up.
func escapeSegment(segment string) string {
	if segment == "." || segment == ".." {
		return strings.ReplaceAll(segment, ".", "%2E")
	}
	return url.PathEscape(segment)
}
