package api

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// checkHost refuses a request that names the gateway by a name that is not its own: a page whose name was made to point here
// (DNS rebinding) sends such requests, and a browser takes the answer for that page's own. An address cannot be made to point
// elsewhere.
func (a *API) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.ourHost(r.Host) {
			a.refuse(w, r, failf(CodeForbidden, "This gateway is not reached by that name: add it to the setting gateway.hosts."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *API) ourHost(hostport string) bool {
	host := hostname(hostport)
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || a.Settings.AnyAddress) {
		return true
	}
	return host == "localhost" || slices.ContainsFunc(a.Settings.Hosts, func(ours string) bool {
		return host != "" && strings.EqualFold(ours, host)
	})
}

// hostname is the host of a Host header or an authority, without port and brackets.
func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// checkOrigin refuses requests that a page of somebody else's makes a browser send, and tells the browser which pages may read
// the answers.
func (a *API) checkOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if origin == "" {
			next.ServeHTTP(w, r)
			return
		}
		own := a.ownOrigin(origin, r.Host)
		if !own && !slices.Contains(a.Settings.Origins, origin) {
			a.refuse(w, r, failf(CodeForbidden, "Pages of that origin may not call this gateway: add it to the setting gateway.origins."))
			return
		}
		if own {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Expose-Headers", "Location, Retry-After, Preference-Applied, Idempotent-Replayed, "+headerRequestID)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Prefer, Last-Event-ID, "+headerRequestID)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownOrigin holds for a page that this gateway itself has served: same name, same port.
func (a *API) ownOrigin(origin, host string) bool {
	parsed, err := url.Parse(origin)
	return err == nil && parsed.Host != "" && strings.EqualFold(parsed.Host, host) && a.ourHost(host) &&
		(parsed.Scheme == "http" || parsed.Scheme == "https")
}
