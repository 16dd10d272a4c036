package api

import "net/http"

// checkHost refuses a request that names the gateway by a name that is not its own: see package origin.
func (a *API) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.names.Host(r.Host) {
			a.refuse(w, r, failf(CodeForbidden, "This gateway is not reached by that name: add it to the setting gateway.hosts."))
			return
		}
		next.ServeHTTP(w, r)
	})
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
		own := a.names.Own(origin, r.Host)
		if !own && !a.names.Foreign(origin) {
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
