package engineapi

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// DefaultUsername is the engine's own default user.
const DefaultUsername = "opencode"

// ErrBadOptions is in the chain of every error of [New].
var ErrBadOptions = errors.New("bad engine options")

// Options says where an engine is and how to be let in.
type Options struct {
	// BaseURL is the engine's http or https address, with or without a path; no user info, query or fragment.
	BaseURL string
	// Username is the Basic auth user; empty means [DefaultUsername]. Only used with a password.
	Username string
	// Password is the Basic auth password; empty means that the engine asks for none.
	Password string
	// Timeout bounds each call with its body; 0 means 5 s.
	Timeout time.Duration
}

// String returns the options without the password.
func (o Options) String() string {
	return fmt.Sprintf("engine %s (password set: %t)", safeURL(o.BaseURL), o.Password != "")
}

// GoString returns the options without the password.
func (o Options) GoString() string { return o.String() }

// LogValue returns the options without the password.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }

// Client calls one engine. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	header  http.Header
	timeout time.Duration
	http    *httpclient.Client
}

// New returns a client for the engine that o describes; it makes no call. Every error wraps [ErrBadOptions].
func New(o Options) (*Client, error) {
	base, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadOptions, err)
	}
	header := http.Header{"Accept": {"application/json"}}
	if o.Password != "" {
		user := o.Username
		if user == "" {
			user = DefaultUsername
		}
		if strings.Contains(user, ":") {
			return nil, fmt.Errorf("%w: the user name must not contain a colon", ErrBadOptions)
		}
		pair := base64.StdEncoding.EncodeToString([]byte(user + ":" + o.Password))
		header.Set("Authorization", "Basic "+pair)
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = httpclient.DefaultTimeout
	}
	return &Client{
		base:    base,
		header:  header,
		timeout: timeout,
		http:    httpclient.New(httpclient.Options{Timeout: timeout}),
	}, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.Close() }

// String names the engine, without credentials.
func (c *Client) String() string { return "engine " + c.base.String() }

// GoString names the engine, without credentials.
func (c *Client) GoString() string { return c.String() }

// LogValue names the engine, without credentials.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

func parseBase(raw string) (*url.URL, error) {
	base, err := url.Parse(raw)
	switch {
	case err != nil:
		// The parser's error quotes the text, which may hold a password.
		return nil, errors.New("the base url is not a url")
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("the base url must begin with http:// or https://")
	case base.Hostname() == "":
		return nil, errors.New("the base url has no host")
	case base.User != nil:
		return nil, errors.New("the base url must not hold a user or password, set them apart")
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, errors.New("the base url must not have a query or fragment")
	}
	return &url.URL{
		Scheme:  base.Scheme,
		Host:    base.Host,
		Path:    strings.TrimRight(base.Path, "/"),
		RawPath: strings.TrimRight(base.RawPath, "/"),
	}, nil
}

func safeURL(raw string) string {
	base, err := parseBase(raw)
	if err != nil {
		return "with an unusable url"
	}
	return base.String()
}
