package origin

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Policy is what whoever runs the gateway has said about its names.
type Policy struct {
	// Public is the scheme and host under which everybody reaches it; empty: as each request says.
	Public string
	// Hosts are names beside this machine's own, without port.
	Hosts []string
	// AnyAddress also takes requests that name it by an IP address.
	AnyAddress bool
	// Origins are pages that may call it beside its own.
	Origins []string
}

// Host reports whether a Host header names the gateway.
func (p Policy) Host(hostport string) bool {
	host := hostname(hostport)
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || p.AnyAddress) {
		return true
	}
	ours := func(name string) bool { return host != "" && strings.EqualFold(name, host) }
	public, err := url.Parse(p.Public)
	return host == "localhost" || slices.ContainsFunc(p.Hosts, ours) || err == nil && ours(public.Hostname())
}

// Own reports whether an Origin header is that of a page which the gateway itself has served under a host: same name, same port.
func (p Policy) Own(origin, host string) bool {
	if origin != "" && origin == p.Public {
		return true
	}
	parsed, err := url.Parse(origin)
	return err == nil && parsed.Host != "" && strings.EqualFold(parsed.Host, host) && p.Host(host) &&
		(parsed.Scheme == "http" || parsed.Scheme == "https")
}

// Foreign reports whether an Origin header is that of another page that may call the gateway.
func (p Policy) Foreign(origin string) bool { return slices.Contains(p.Origins, origin) }

// Base is the scheme and host under which a request reached the gateway, or under which everybody does.
func (p Policy) Base(r *http.Request) string {
	switch {
	case p.Public != "":
		return p.Public
	case r.TLS != nil:
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}

// SameSite reports whether a request that changes something comes from one of the gateway's own pages, as far as the browser says.
// A request without both headers comes from no browser of today, and is refused.
func (p Policy) SameSite(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		return p.Own(origin, r.Host)
	}
	return r.Header.Get("Sec-Fetch-Site") == "same-origin"
}

// hostname is the host of a Host header or an authority, without port and brackets.
func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}
