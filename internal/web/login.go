package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

const (
	loginUse  = "holdfast page login v1"
	loginTime = 10 * time.Minute
)

// loginView is the page of the login.
type loginView struct {
	Return   string
	Provider string // host of the identity provider; empty: there is none
	Problem  string
	ByToken  bool // the problem is with a token
}

func (w *Web) loginView(back string) loginView {
	view := loginView{Return: local(back)}
	if p := w.Auth.Provider(); p != nil && p.CanLogin() {
		view.Provider = strings.TrimPrefix(strings.TrimPrefix(p.Issuer(), "https://"), "http://")
	}
	return view
}

func (w *Web) loginPage(rw http.ResponseWriter, v *visit) {
	view := w.loginView(v.URL.Query().Get("return"))
	if v.session.Guard != "" && !v.URL.Query().Has("switch") {
		http.Redirect(rw, v.Request, view.Return, http.StatusSeeOther)
		return
	}
	w.showLogin(rw, v, http.StatusOK, view)
}

func (w *Web) showLogin(rw http.ResponseWriter, v *visit, status int, view loginView) {
	v.session = auth.Session{} // it is the page of who is not logged in
	w.render(rw, v, page{Name: "login", Status: status, Title: "Log in", Body: view})
}

func (w *Web) loginByToken(rw http.ResponseWriter, v *visit) {
	view := w.loginView(v.PostFormValue("return"))
	view.ByToken = true
	cookie, err := w.Auth.Sessions().ByToken(v.Context(), strings.TrimSpace(v.PostFormValue("token")))
	if err != nil {
		w.refuseLogin(rw, v, view, err)
		return
	}
	http.SetCookie(rw, cookie)
	http.Redirect(rw, v.Request, view.Return, http.StatusSeeOther)
}

// refuseLogin tells why somebody is not logged in, on the page where they can try again.
func (w *Web) refuseLogin(rw http.ResponseWriter, v *visit, view loginView, err error) {
	var (
		wrong  *auth.UnauthorizedError
		denied *auth.ForbiddenError
		status = http.StatusServiceUnavailable
	)
	switch {
	case errors.As(err, &wrong):
		status, view.Problem = http.StatusUnauthorized, wrong.Problem
	case errors.As(err, &denied):
		status, view.Problem = http.StatusForbidden, denied.Message
	default:
		w.log.WarnContext(v.Context(), "login cannot be finished", "error", err)
		rw.Header().Set("Retry-After", "2")
		view.Problem = "it cannot be checked right now: try again in a moment"
	}
	w.showLogin(rw, v, status, view)
}

func (w *Web) loginBegin(rw http.ResponseWriter, v *visit) {
	view := w.loginView(v.URL.Query().Get("return"))
	if view.Provider == "" {
		w.nothing(rw, v)
		return
	}
	callback := w.Settings.Names.Base(v.Request) + pathLogin + "/callback"
	address, login, err := w.Auth.Provider().Begin(v.Context(), callback, view.Return)
	if err != nil {
		w.refuseLogin(rw, v, view, err)
		return
	}
	cookie, err := w.Auth.Sessions().Seal(loginCookie(login.State), loginUse, login, loginTime)
	if err != nil {
		w.refuseLogin(rw, v, view, err)
		return
	}
	http.SetCookie(rw, cookie)
	http.Redirect(rw, v.Request, address, http.StatusSeeOther)
}

// loginCookie gives each login a cookie of its own: two that are begun side by side do not disturb each other.
func loginCookie(state string) string {
	sum := sha256.Sum256([]byte(state))
	return "holdfast_login_" + hex.EncodeToString(sum[:4])
}

func (w *Web) loginFinish(rw http.ResponseWriter, v *visit) {
	view := w.loginView("/")
	if view.Provider == "" {
		w.nothing(rw, v)
		return
	}
	var login auth.Login
	sessions, name := w.Auth.Sessions(), loginCookie(v.URL.Query().Get("state"))
	if !sessions.Open(v.Request, name, loginUse, &login) {
		w.refuseLogin(rw, v, view, &auth.UnauthorizedError{Problem: "this login was begun elsewhere, or too long ago: begin again"})
		return
	}
	http.SetCookie(rw, sessions.Drop(name))
	view.Return = local(login.Return)
	claims, err := w.Auth.Provider().Finish(v.Context(), login, v.URL.Query())
	if err != nil {
		w.refuseLogin(rw, v, view, err)
		return
	}
	cookie, err := sessions.ByClaims(claims)
	if err != nil {
		w.refuseLogin(rw, v, view, err)
		return
	}
	http.SetCookie(rw, cookie)
	http.Redirect(rw, v.Request, view.Return, http.StatusSeeOther)
}

func (w *Web) logout(rw http.ResponseWriter, v *visit) {
	http.SetCookie(rw, w.Auth.Sessions().Out())
	http.Redirect(rw, v.Request, pathLogin, http.StatusSeeOther)
}
