package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

// authenticate tells who asks: by a token, or by the login of a page.
func (a *API) authenticate(r *http.Request) (auth.Principal, error) {
	type answer struct {
		who     auth.Principal
		session bool
	}
	ask := func(ctx context.Context) (answer, error) {
		who, session, err := a.Auth.Browser(ctx, r)
		return answer{who, session}, authFault(err)
	}
	var (
		got answer
		err error
	)
	if a.Auth.AsksProvider(r) { // which has deadlines of its own
		got, err = ask(r.Context())
	} else {
		got, err = fromStore(r.Context(), a, ask)
	}
	if err != nil {
		return auth.Principal{}, err
	}
	if got.session && changes(r) && !a.names.SameSite(r) {
		return auth.Principal{}, failf(CodeForbidden, "Only the gateway's own pages may use the login of a page: send a token.")
	}
	return got.who, nil
}

func changes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

func authFault(err error) error {
	var (
		wrong  *auth.UnauthorizedError
		denied *auth.ForbiddenError
		down   *auth.UnavailableError
	)
	switch {
	case errors.As(err, &wrong) && wrong.Shown():
		return failf(CodeUnauthorized, "%s. Make a new token with holdfast token create, or with POST /api/v1/tokens as an owner.",
			sentence(wrong.Problem)).because(err)
	case errors.Is(err, auth.ErrUnauthorized):
		return fail(CodeUnauthorized).because(err)
	case errors.As(err, &denied):
		return failf(CodeForbidden, "You are known here and may not come in: %s.", denied.Message).because(err)
	case errors.As(err, &down) && down.What == auth.WhatProvider:
		return fail(CodeProviderUnavailable).because(err)
	default:
		return err
	}
}

// challenge is the WWW-Authenticate header of a refusal.
func (a *API) challenge(r *http.Request, err *Error) string {
	cause := err.cause
	if cause == nil {
		cause = auth.ErrUnauthorized
	}
	if a.Metadata != nil {
		return a.Metadata.Challenge(r, cause)
	}
	return auth.Challenge(cause, "", nil)
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
