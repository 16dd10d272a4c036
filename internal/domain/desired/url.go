package desired

import (
	"strings"
)

// URLError says what is wrong with the URL of a desired config. It never quotes
// the URL, which may hold secrets.
type URLError struct {
	Problem string
}

func (e *URLError) Error() string {
	return "normalise url: it " + e.Problem
}

func urlError(problem string) *URLError {
	return &URLError{Problem: problem}
}

// Where the OpenWork app is reached on its API host, and what that stands for.
const (
	agentPath   = "/mcp/agent"
	appHost     = "app.openworklabs.com"
	appPath     = "/api/den/mcp/agent"
	appAPIHost  = "api.app.openworklabs.com"
	cloudHost   = "api.openworklabs.com"
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// NormaliseURL brings the URL of an MCP endpoint to the form in which browsers
// and engines write it (WHATWG URL standard), so that one endpoint has one name.
// Any http(s) URL without user info and fragment will do; the openwork profile
// also wants no query and a path that ends in /mcp/agent, drops slashes after
// it, and sends the app's own address to its API host. Errors are *[URLError].
//
// A "?" or "#" with nothing behind it stays, as the standard has it. The result
// is a fixed point: normalising it again changes nothing.
func NormaliseURL(profile Profile, raw string) (string, error) {
	u, err := parseURL(raw)
	if err != nil {
		return "", err
	}
	if u.fragment != "" {
		return "", urlError("must not have a fragment")
	}
	if profile == ProfileOpenWork {
		if err := u.toCloudEndpoint(); err != nil {
			return "", err
		}
	}
	return u.String(), nil
}

// toCloudEndpoint applies what the openwork profile asks of a URL.
func (u *webURL) toCloudEndpoint() error {
	if u.query != "" {
		return urlError("must not have a query")
	}
	u.path = strings.TrimRight(u.path, "/")
	if !strings.HasSuffix(u.path, agentPath) {
		return urlError("must have a path that ends in " + agentPath)
	}
	if u.scheme == schemeHTTPS && u.host == appHost && u.path == appPath {
		u.host, u.path = appAPIHost, agentPath
	}
	return nil
}

// TrustedEndpoint reports whether anybody may store a desired config with this
// URL for a whole account: loopback, and the origins of OpenWork Cloud. What
// cannot be normalised is trusted too, since validation refuses it with a better
// error.
func TrustedEndpoint(raw string) bool {
	u, err := parseURL(raw)
	if err != nil {
		return true
	}
	if cloud := u; cloud.toCloudEndpoint() == nil {
		u = cloud
	}
	switch u.host {
	case "localhost", "127.0.0.1", "[::1]":
		return true
	case cloudHost, appAPIHost:
		return u.scheme == schemeHTTPS && u.port == ""
	default:
		return false
	}
}
