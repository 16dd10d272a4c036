package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// Authenticator tells who sends a request: by an API token, or by a bearer token of the identity provider. It is safe for
// concurrent use.
type Authenticator struct {
	tokens   *Tokens
	provider *Provider
	sessions *Sessions
	open     bool
}

// Sources are what an [Authenticator] takes. Tokens are needed; the others may be nil.
type Sources struct {
	Tokens   *Tokens
	Provider *Provider
	Sessions *Sessions
	// Open lets in whoever asks, as [Local].
	Open bool
}

// NewAuthenticator makes it.
func NewAuthenticator(s Sources) *Authenticator {
	return &Authenticator{tokens: s.Tokens, provider: s.Provider, sessions: s.Sessions, open: s.Open}
}

// Provider is the identity provider; nil: there is none.
func (a *Authenticator) Provider() *Provider { return a.provider }

// Sessions are the logins of pages; nil: there are none.
func (a *Authenticator) Sessions() *Sessions { return a.sessions }

// Open reports whether nobody has to show anything.
func (a *Authenticator) Open() bool { return a.open }

// Authenticate tells who sends a request, by its Authorization header alone. The error is one of *[UnauthorizedError],
// *[ForbiddenError] and *[UnavailableError].
func (a *Authenticator) Authenticate(ctx context.Context, r *http.Request) (Principal, error) {
	if a.open {
		return Local(), nil
	}
	shown, err := bearer(r.Header)
	if err != nil {
		return Principal{}, err
	}
	return a.Check(ctx, shown)
}

// Browser is [Authenticator.Authenticate] for what pages also ask for: without an Authorization header it takes the session of a
// login. Whether a request that changes something comes from a page of ours is for the caller to check: session says that it matters.
func (a *Authenticator) Browser(ctx context.Context, r *http.Request) (who Principal, session bool, err error) {
	if a.open || a.sessions == nil || len(r.Header.Values("Authorization")) > 0 {
		who, err = a.Authenticate(ctx, r)
		return who, false, err
	}
	found, err := a.sessions.Read(ctx, r)
	return found.Principal, true, err
}

// AsksProvider reports whether a request shows a token that the identity provider has to vouch for: no store is asked about it.
func (a *Authenticator) AsksProvider(r *http.Request) bool {
	shown, err := bearer(r.Header)
	return err == nil && a.ofProvider(shown)
}

func (a *Authenticator) ofProvider(shown string) bool {
	return a.provider != nil && !strings.HasPrefix(shown, prefix+"_")
}

// Check tells whose a token is, as [Authenticator.Authenticate] does.
func (a *Authenticator) Check(ctx context.Context, shown string) (Principal, error) {
	if a.ofProvider(shown) {
		claims, err := a.provider.Bearer(ctx, shown)
		if err != nil {
			return Principal{}, err
		}
		return a.provider.Principal(claims)
	}
	who, err := a.tokens.Authenticate(ctx, shown)
	return who, tokenFault(err)
}

// tokenFault says what is wrong in the words of this package's callers.
func tokenFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrUnauthorized):
		return &UnauthorizedError{Problem: "the token is not valid: it is unknown, expired or revoked"}
	default:
		return unavailable(WhatStore, err)
	}
}

// bearer reads the one token of a request. A token in a query is not looked at: URLs end up in logs.
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", &UnauthorizedError{}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	switch {
	case !strings.EqualFold(scheme, "bearer"):
		return "", &UnauthorizedError{}
	case len(values) > 1 || token == "" || strings.ContainsAny(token, " ,\t"):
		return "", &UnauthorizedError{Problem: "send one Authorization header with one bearer token"}
	default:
		return token, nil
	}
}
