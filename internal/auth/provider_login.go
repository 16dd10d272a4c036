package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/oauth2"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// Login is a login that was begun. It is for whoever began it alone: seal it.
type Login struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	// Callback is where the provider sends the person back to.
	Callback string `json:"callback"`
	// Return is the page that the person wanted.
	Return string `json:"return"`
}

// Begin begins a login: the person is sent to the address. The error is an *[UnavailableError].
func (p *Provider) Begin(ctx context.Context, callback, back string) (address string, login Login, err error) {
	told, err := p.known.endpoints(ctx)
	if err != nil {
		return "", Login{}, unavailable(WhatProvider, err)
	}
	login = Login{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Callback: callback, Return: back}
	address = p.flow(told, callback).AuthCodeURL(login.State,
		oauth2.S256ChallengeOption(login.Verifier), oauth2.SetAuthURLParam("nonce", login.Nonce))
	return address, login, nil
}

// Finish ends a login with what the provider sent back. The error is one of *[UnauthorizedError], *[ForbiddenError] and
// *[UnavailableError].
func (p *Provider) Finish(ctx context.Context, login Login, answer url.Values) (Claims, error) {
	told, err := p.known.endpoints(ctx)
	if err != nil {
		return Claims{}, unavailable(WhatProvider, err)
	}
	if err := p.checkAnswer(told, login, answer); err != nil {
		return Claims{}, err
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: httpclient.Transport{Client: p.client, Op: "finish login"}})
	token, err := p.flow(told, login.Callback).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(login.Verifier))
	if err != nil {
		return Claims{}, exchangeFault(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Claims{}, &UnauthorizedError{Problem: "the identity provider sent no id token: add openid to oidc.scopes"}
	}
	// An id token is for this client, and for this login.
	who, err := p.verify(ctx, raw, []string{p.options.ClientID})
	if err != nil {
		return Claims{}, err
	}
	if subtle.ConstantTimeCompare([]byte(who.Nonce), []byte(login.Nonce)) != 1 {
		return Claims{}, &UnauthorizedError{Problem: "the identity provider answered another login: begin again"}
	}
	return p.read(who)
}

func (p *Provider) checkAnswer(told endpoints, login Login, answer url.Values) error {
	issuer := answer.Get("iss")
	switch {
	case subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(login.State)) != 1:
		return &UnauthorizedError{Problem: "the answer belongs to another login: begin again"}
	case issuer != "" && issuer != told.Issuer, issuer == "" && told.TellsIssuer:
		return &UnauthorizedError{Problem: "the answer comes from another identity provider: begin again"}
	case answer.Get("error") == "access_denied":
		return forbidden("denied", "the identity provider did not let you in")
	case answer.Get("error") == "temporarily_unavailable" || answer.Get("error") == "server_error":
		return unavailable(WhatProvider, errors.New("it says so"))
	case answer.Get("error") != "" || answer.Get("code") == "":
		return &UnauthorizedError{Problem: "the identity provider did not finish the login: begin again"}
	default:
		return nil
	}
}

func (p *Provider) flow(told endpoints, callback string) *oauth2.Config {
	style := oauth2.AuthStyleInHeader
	basic := len(told.Styles) == 0 || slices.Contains(told.Styles, "client_secret_basic")
	if p.options.ClientSecret == "" || !basic {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: p.options.ClientID, ClientSecret: p.options.ClientSecret, RedirectURL: callback, Scopes: p.options.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: told.Authorization, TokenURL: told.Token, AuthStyle: style},
	}
}

// exchangeFault tells a provider that refuses from one that cannot be reached. Its words are not passed on.
func exchangeFault(err error) error {
	var refusal *oauth2.RetrieveError
	if errors.As(err, &refusal) && refusal.Response != nil && refusal.Response.StatusCode < http.StatusInternalServerError &&
		refusal.Response.StatusCode != http.StatusTooManyRequests {
		return &UnauthorizedError{Problem: "the identity provider refused to finish the login: begin again"}
	}
	if errors.As(err, &refusal) {
		return unavailable(WhatProvider, errors.New("finish login: it answered with an error"))
	}
	return unavailable(WhatProvider, fmt.Errorf("finish login: %w", err))
}
