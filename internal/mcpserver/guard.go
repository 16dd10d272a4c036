package mcpserver

import (
	"errors"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

const (
	headerSession   = "Mcp-Session-Id"
	headerProtocol  = "Mcp-Protocol-Version"
	headerLastEvent = "Last-Event-Id"
	headerShown     = "Authorization"

	allowedMethods = "GET, POST, DELETE, OPTIONS"
	allowedHeaders = "content-type, authorization, mcp-session-id, accept, mcp-protocol-version, last-event-id, mcp-method, mcp-name"
	exposedHeaders = "mcp-session-id, WWW-Authenticate, Retry-After"
)

// guard is what every request goes through before any other work: a panic has an answer, the name under which the gateway is reached
// and the page that calls are its own or allowed, and the method is known.
func (e *Endpoint) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if broken := recover(); broken != nil {
				if broken == http.ErrAbortHandler { //nolint:errorlint // the value itself is what net/http agreed on
					panic(broken)
				}
				e.Log.ErrorContext(r.Context(), "MCP handler panicked", "stack", string(debug.Stack()))
				e.fail(w, r, refuse(http.StatusInternalServerError, -32603, "Internal server error"))
			}
		}()
		if !e.allowPage(w, r) {
			return
		}
		switch r.Method {
		case http.MethodOptions:
			w.WriteHeader(http.StatusNoContent)
		case http.MethodGet, http.MethodPost, http.MethodDelete:
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Allow", allowedMethods)
			e.fail(w, r, refuse(http.StatusMethodNotAllowed, codeSession, "Method not allowed"))
		}
	})
}

// allowPage refuses what a page of somebody else's makes a browser send, and tells browsers which pages may read the answers.
func (e *Endpoint) allowPage(w http.ResponseWriter, r *http.Request) bool {
	names, from := e.Settings.Names, r.Header.Get("Origin")
	if !names.Host(r.Host) {
		e.fail(w, r, refuse(http.StatusForbidden, codeSession, "This gateway is not reached by that name: add it to the setting gateway.hosts."))
		return false
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	if from != "" && !names.Own(from, r.Host) && !names.Foreign(from) {
		e.fail(w, r, refuse(http.StatusForbidden, codeSession, "Pages of that origin may not call this gateway: add it to the setting gateway.origins."))
		return false
	}
	allowed := "*"
	if from != "" {
		allowed = from
		h.Add("Vary", "Origin")
	}
	h.Set("Access-Control-Allow-Origin", allowed)
	h.Set("Access-Control-Expose-Headers", exposedHeaders)
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", allowedMethods)
		h.Set("Access-Control-Allow-Headers", allowedHeaders)
	}
	return true
}

// serve tells who asks, and by which era's rules.
func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	resource, ours := resourceOf(r.URL.Path)
	if !ours {
		e.fail(w, r, refuse(http.StatusNotFound, codeSession, "There is no such MCP resource"))
		return
	}
	e.held.add()
	defer e.held.done()
	if e.stopping() {
		w.Header().Set("Connection", "close")
		e.fail(w, r, errStopping)
		return
	}
	shown := r.Header.Values(headerShown)
	who, ok := e.authenticate(w, r)
	if !ok {
		return
	}
	q := &request{Request: r, who: who, shown: shown, resource: resource, session: r.Header.Get(headerSession)}
	var err error
	switch r.Method {
	case http.MethodPost:
		err = e.post(w, q)
	case http.MethodGet:
		err = e.get(w, q)
	default:
		err = e.delete(w, q)
	}
	if err != nil {
		e.fail(w, r, err)
	}
}

// request is one HTTP request whose sender is known.
type request struct {
	*http.Request

	who      auth.Principal
	shown    []string // by which the sender was known
	resource string
	session  string // as the client names it
}

// version is the protocol version that the request names; empty: none.
func (q *request) version() string { return q.Header.Get(headerProtocol) }

func (e *Endpoint) authenticate(w http.ResponseWriter, r *http.Request) (auth.Principal, bool) {
	who, err := e.Authenticator.Authenticate(r.Context(), r)
	// Tools have no business with what was shown.
	r.Header.Del(headerShown)
	r.Header.Del("Cookie")
	if err == nil {
		return who, true
	}
	if challenge := e.Challenge(r, err); challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	if unauthorized(err) {
		e.fail(w, r, refuse(http.StatusUnauthorized, codeSession, unauthorizedText(err)))
		return auth.Principal{}, false
	}
	e.fail(w, r, err)
	return auth.Principal{}, false
}

// unauthorizedText is the next step for whoever is not let in. Nothing of what was shown is in it.
func unauthorizedText(err error) string {
	var wrong *auth.UnauthorizedError
	if errors.As(err, &wrong) && wrong.Shown() {
		return "Unauthorized: the token that was sent is not valid: it is unknown, expired, revoked or not well formed. " +
			"Send another as Authorization: Bearer TOKEN. " + nextToken
	}
	return "Unauthorized: no token was sent. Send one as Authorization: Bearer TOKEN. " + nextToken
}

const nextToken = "holdfast token create makes one; where the gateway has an identity provider, the URL in WWW-Authenticate names it: log in there."

// revoked reports whether the sender of a request would not be let in any more. Who cannot be asked just now has revoked nothing.
func (e *Endpoint) revoked(q *request) bool {
	who, err := e.Authenticator.Authenticate(q.Context(), &http.Request{Header: http.Header{headerShown: q.shown}})
	denied := (*auth.ForbiddenError)(nil)
	return err == nil && who.Identity != q.who.Identity || unauthorized(err) || errors.As(err, &denied)
}

// resourceOf is the resource that a path names. Sessions belong to one.
func resourceOf(path string) (string, bool) {
	return resourceDefault, slices.Contains(Paths(), strings.TrimSuffix(path, "/"))
}

const resourceDefault = "default"
