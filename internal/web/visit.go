package web

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/executions"
)

const (
	maxBody = 256 << 10
	// pageLimit bounds the making of one page.
	pageLimit = 30 * time.Second
	// guardField is the field of the secret that pages send with what changes something.
	guardField = "guard"
)

const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// visit is one request for a page.
type visit struct {
	*http.Request

	session auth.Session // zero: nobody is logged in
}

// caller is on whose behalf the engine is asked.
func (v *visit) caller(w *Web) executions.Caller {
	who := v.session.Principal
	return executions.Caller{
		Identity: who.Identity, Principal: who.ID, Name: who.Name, Origin: w.Settings.Names.Base(v.Request), Via: "page",
		Operator: operator(who),
	}
}

// operator holds for whoever sees and decides what others of the same organisation have asked for.
func operator(who auth.Principal) bool { return who.Role.Allows(auth.RoleOwner) }

// mayDecide holds for whoever decides at all: a viewer reads.
func mayDecide(who auth.Principal) bool { return who.Role.Allows(auth.RoleCollaborator) }

// guard is what every request goes through first.
func (w *Web) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		for name, value := range map[string]string{
			"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			// Not no-referrer: browsers would send Origin: null with forms.
			"Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			"Permissions-Policy": "camera=(), geolocation=(), microphone=()", "Cache-Control": "no-store",
		} {
			h.Set(name, value)
		}
		defer func() {
			broken := recover()
			if broken == nil {
				return
			}
			if err, isError := broken.(error); isError && errors.Is(err, http.ErrAbortHandler) {
				panic(broken)
			}
			w.log.ErrorContext(r.Context(), "page panicked", "path", r.URL.Path, "stack", string(debug.Stack()))
			w.message(rw, &visit{Request: r}, http.StatusInternalServerError, messageInternal)
		}()
		if !w.Settings.Names.Host(r.Host) {
			w.message(rw, &visit{Request: r}, http.StatusForbidden, messageHost)
			return
		}
		r.Body = http.MaxBytesReader(rw, r.Body, maxBody)
		next.ServeHTTP(rw, r)
	})
}

func (w *Web) serve(route route, rw http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), pageLimit)
	defer cancel()
	v := &visit{Request: r}
	if !strings.HasSuffix(r.URL.Path, "/events") {
		v.Request = r.WithContext(ctx)
	}
	session, err := w.sessionOf(rw, v)
	if err != nil && route.login {
		w.turnAway(rw, v, err)
		return
	}
	v.session = session
	if r.Method == http.MethodPost && !w.fromPage(v, route.login) {
		w.message(rw, v, http.StatusForbidden, messageForeign)
		return
	}
	route.serve(w, rw, v)
}

// sessionOf tells who visits. Where nobody has to log in, everybody gets a session of their own: what changes something needs one.
func (w *Web) sessionOf(rw http.ResponseWriter, v *visit) (auth.Session, error) {
	sessions := w.Auth.Sessions()
	session, err := sessions.Read(v.Context(), v.Request)
	if !w.Auth.Open() || err == nil {
		return session, err
	}
	cookie, err := sessions.ByNothing()
	if err != nil {
		return auth.Session{}, err
	}
	http.SetCookie(rw, cookie)
	fresh := v.Clone(v.Context())
	fresh.Header.Set("Cookie", cookie.Name+"="+cookie.Value)
	return sessions.Read(v.Context(), fresh)
}

// turnAway sends who is not logged in to the login, and tells everybody else why not.
func (w *Web) turnAway(rw http.ResponseWriter, v *visit, err error) {
	var (
		denied *auth.ForbiddenError
		down   *auth.UnavailableError
	)
	switch {
	case errors.As(err, &denied):
		http.SetCookie(rw, w.Auth.Sessions().Out())
		w.message(rw, v, http.StatusForbidden, messageDenied.because(denied.Message))
	case errors.As(err, &down):
		w.unavailable(rw, v, err)
	case strings.HasSuffix(v.URL.Path, "/events"):
		rw.WriteHeader(http.StatusUnauthorized)
	case v.Method != http.MethodGet:
		http.Redirect(rw, v.Request, loginPath(v.URL.Path), http.StatusSeeOther)
	default:
		http.Redirect(rw, v.Request, loginPath(v.URL.RequestURI()), http.StatusSeeOther)
	}
}

func (w *Web) unavailable(rw http.ResponseWriter, v *visit, err error) {
	w.log.WarnContext(v.Context(), "page cannot be made", "error", err, "path", v.URL.Path)
	rw.Header().Set("Retry-After", strconv.Itoa(2))
	w.message(rw, v, http.StatusServiceUnavailable, messageDown)
}

// fromPage reports whether a request comes from one of our own pages: the browser says so, and of who is logged in the page knows the
// session's secret.
func (w *Web) fromPage(v *visit, guarded bool) bool {
	if !w.Settings.Names.SameSite(v.Request) {
		return false
	}
	if !guarded {
		return true
	}
	shown := v.PostFormValue(guardField)
	return v.session.Guard != "" && subtle.ConstantTimeCompare([]byte(shown), []byte(v.session.Guard)) == 1
}

const pathLogin = "/login"

func loginPath(back string) string {
	if back == "/" {
		return pathLogin
	}
	return pathLogin + "?" + url.Values{"return": {back}}.Encode()
}

// local is a path of our own pages, and the first page for anything else: a login must not lead elsewhere.
func local(back string) string {
	parsed, err := url.Parse(back)
	switch {
	case err != nil, parsed.Scheme != "", parsed.Host != "", parsed.User != nil, !strings.HasPrefix(back, "/"),
		strings.HasPrefix(back, "//"), strings.ContainsAny(back, "\\\r\n\t"), strings.HasPrefix(parsed.Path, pathLogin), len(back) > 1000:
		return "/"
	default:
		return back
	}
}
