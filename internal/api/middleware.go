package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

const (
	maxBodyBytes = 1 << 20
	// writeMargin is how much longer an answer may take to be sent than its handler takes.
	writeMargin = 15 * time.Second

	headerRequestID = "X-Request-Id"
)

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

type requestIDKey struct{}

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

func newID() string {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // never fails: it would have ended the process
	return hex.EncodeToString(raw)
}

// guard answers for a handler that panics, and logs where.
func (a *API) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			broken := recover()
			if broken == nil {
				return
			}
			if err, isError := broken.(error); isError && errors.Is(err, http.ErrAbortHandler) {
				panic(broken)
			}
			a.log.ErrorContext(r.Context(), "handler panicked", "path", r.URL.Path, "stack", string(debug.Stack()))
			a.refuse(w, r, fail(CodeInternal))
		}()
		next.ServeHTTP(w, r)
	})
}

// identify gives each request an id: the caller's, or a new one.
func (a *API) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequestID)
		if !requestIDPattern.MatchString(id) {
			id = newID()
		}
		h := w.Header()
		h.Set(headerRequestID, id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

func (a *API) limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		next.ServeHTTP(w, r)
	})
}

// serve is what every request of a route goes through before its handler: who asks, may they, may anybody, within which time.
func (a *API) serve(r *route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c := &call{Request: req, route: r, query: req.URL.Query()}
		if err := a.admit(c); err != nil {
			a.refuse(w, req, asError(err))
			return
		}
		control := http.NewResponseController(w)
		if r.raw != nil {
			// A stream bounds each of its writes itself.
			_ = control.SetReadDeadline(time.Time{})
			_ = control.SetWriteDeadline(time.Now().Add(r.limit() + writeMargin))
			r.raw(a, w, c)
			return
		}
		if err := c.readBody(); err != nil {
			a.refuse(w, req, asError(err))
			return
		}
		ctx, cancel := context.WithTimeout(auth.With(req.Context(), c.principal), r.limit())
		defer cancel()
		// The body is here: from now on the server's own deadlines would only cut a long answer short.
		_ = control.SetReadDeadline(time.Time{})
		_ = control.SetWriteDeadline(time.Now().Add(r.limit() + writeMargin))
		c.Request = req.WithContext(ctx)
		rep, err := a.handle(c)
		if err != nil {
			a.refuse(w, c.Request, asError(err))
			return
		}
		a.write(w, c.Request, rep)
	})
}

func (a *API) handle(c *call) (*reply, error) {
	if c.route.operate != nil {
		return a.operate(c)
	}
	return c.route.read(a, c)
}

// admit tells who asks and refuses what they may not do. A route that anybody may use is not asked about.
func (a *API) admit(c *call) error {
	if c.route.least == "" {
		return nil
	}
	principal, err := a.authenticate(c.Request)
	if err != nil {
		return err
	}
	c.principal = principal
	if !principal.Role.Allows(c.route.least) {
		return failf(CodeForbidden, "This needs a token of the role %s; yours has %s.", c.route.least, principal.Role)
	}
	if c.route.writes && a.Settings.ReadOnly {
		return fail(CodeReadOnly)
	}
	return c.legible()
}

// refuse answers with an error.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, err *Error) {
	if err.status() >= http.StatusInternalServerError {
		a.log.WarnContext(r.Context(), "request failed", "code", string(err.Code), "error", err.Error(),
			"request_id", requestID(r.Context()), "method", r.Method, "path", r.URL.Path)
	}
	rep := &reply{status: err.status(), body: err, header: http.Header{}}
	if err.Code == CodeUnauthorized {
		rep.header.Set("WWW-Authenticate", a.challenge(r, err))
	}
	if wait := err.retryAfter(); wait > 0 {
		rep.header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
	}
	a.write(w, r, rep)
}

func (a *API) write(w http.ResponseWriter, r *http.Request, rep *reply) {
	raw, err := encode(rep.body)
	if err != nil {
		a.log.ErrorContext(r.Context(), "answer cannot be written", "error", err, "path", r.URL.Path)
		http.Error(w, `{"code":"internal_error","message":"The answer cannot be written."}`, http.StatusInternalServerError)
		return
	}
	h := w.Header()
	for name, values := range rep.header {
		h[name] = values
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(rep.status)
	_, _ = w.Write(raw) // the caller may have gone
}

// clean answers for a path that is not in its plain form. The mux would send its caller to the plain one, in HTML and before
// anybody was asked who calls.
func (a *API) clean(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.EscapedPath()
		plain := path.Clean(asked)
		if !strings.HasPrefix(asked, "/") || asked != plain && (plain == "/" || asked != plain+"/") {
			a.refuse(w, r, fail(CodeRouteNotFound))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// encode leaves <, > and & as they are: this is no HTML.
func encode(body any) ([]byte, error) {
	if raw, done := body.(json.RawMessage); done {
		return raw, nil
	}
	var buf strings.Builder
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(body)
	return []byte(buf.String()), err
}

// byMethod chooses among the routes of one path. The mux would take a path with a method and one without for a conflict where the
// first has a name in it and the second none.
func (a *API) byMethod(methods []*route) http.Handler {
	handlers := map[string]http.Handler{}
	for _, r := range methods {
		handlers[r.method] = a.serve(r)
	}
	if read := handlers[http.MethodGet]; read != nil {
		handlers[http.MethodHead] = read
	}
	wrong := a.wrongMethod(methods)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := handlers[r.Method]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		wrong.ServeHTTP(w, r)
	})
}

// wrongMethod answers for a path that takes other methods.
func (a *API) wrongMethod(methods []*route) http.Handler {
	var allowed []string
	for _, m := range methods {
		allowed = append(allowed, m.method)
		if m.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	slices.Sort(allowed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		a.refuse(w, r, fail(CodeMethodNotAllowed))
	})
}
