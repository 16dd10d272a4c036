package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// ProviderOptions say whose tokens are taken and what their claims mean. Issuer is needed, and Audience for bearer tokens.
type ProviderOptions struct {
	Issuer string
	// Audience are the audiences one of which a bearer token must be for.
	Audience []string
	// AccountClaim names the claim that is the account; empty: sub. Claims inside of others are named with dots.
	AccountClaim string
	// OrganisationClaim names the claim of the organisation; empty: everybody is of [DefaultOrganisation].
	OrganisationClaim string
	// Organisations are those that may come in; empty: any.
	Organisations []string
	// RolesClaim names the claim whose values Roles turns into roles; the greatest counts.
	RolesClaim string
	Roles      map[string]Role
	// DefaultRole is the role of who has none of Roles; empty: they may not come in.
	DefaultRole Role

	// ClientID and ClientSecret are those of the login of pages; without an id there is none. Scopes are asked for by logins.
	ClientID     string
	ClientSecret string
	Scopes       []string

	// Timeout bounds each request to the provider; 0: 5 s.
	Timeout time.Duration
	// Now is the clock; nil: the system's.
	Now func() time.Time
}

// maxTokenBytes is above any token that fits into a header.
const maxTokenBytes = 32 << 10

// algorithms are those that a provider may sign with: none of them has a secret in common with anybody.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA,
}

// Provider is an OpenID provider whose tokens let people in. It asks the provider only when it has to: nothing happens before the
// first token, and a provider that cannot be reached keeps nobody out whose key is known. It is safe for concurrent use.
type Provider struct {
	options ProviderOptions
	client  *httpclient.Client
	known   *discovery
}

// NewProvider makes it, without asking anybody.
func NewProvider(o ProviderOptions) *Provider {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.AccountClaim == "" {
		o.AccountClaim = "sub"
	}
	client := httpclient.New(httpclient.Options{Timeout: o.Timeout, MaxBody: maxDocument})
	return &Provider{options: o, client: client, known: newDiscovery(o.Issuer, client, o.Now)}
}

// Close waits for the requests under way.
func (p *Provider) Close() {
	p.known.close()
	p.client.Close()
}

// Issuer is the provider's name.
func (p *Provider) Issuer() string { return p.options.Issuer }

// CanLogin reports whether people can log in by it.
func (p *Provider) CanLogin() bool { return p.options.ClientID != "" }

// Bearer checks a bearer token: its signature, issuer, audience and time. The error is a *[UnauthorizedError] or an
// *[UnavailableError].
func (p *Provider) Bearer(ctx context.Context, raw string) (Claims, error) {
	token, err := p.verify(ctx, raw, p.options.Audience)
	if err != nil {
		return Claims{}, err
	}
	return p.read(token)
}

func (p *Provider) verify(ctx context.Context, raw string, audience []string) (*oidc.IDToken, error) {
	invalid := func(problem string) (*oidc.IDToken, error) { return nil, &UnauthorizedError{Problem: problem} }
	if len(raw) > maxTokenBytes {
		return invalid("the token is too long")
	}
	parsed, err := jose.ParseSigned(raw, algorithms)
	if err != nil || len(parsed.Signatures) != 1 {
		return invalid("the token is neither an API token nor one of the identity provider")
	}
	found, err := p.known.keys(ctx, parsed.Signatures[0].Header.KeyID)
	if err != nil {
		return nil, unavailable(WhatProvider, err)
	}
	token, err := p.verifier(found).Verify(ctx, raw)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return invalid("the token has expired")
	case err != nil: // not quoted: it holds claims
		return invalid("the token's signature, issuer or time is not valid")
	case !intersect(token.Audience, audience):
		return invalid("the token is for another audience")
	default:
		return token, nil
	}
}

func (p *Provider) verifier(found keySet) *oidc.IDTokenVerifier {
	names := make([]string, 0, len(algorithms))
	for _, algorithm := range algorithms {
		names = append(names, string(algorithm))
	}
	return oidc.NewVerifier(p.options.Issuer, found, &oidc.Config{
		SkipClientIDCheck:    true, // the audience is checked against all that are allowed
		SupportedSigningAlgs: names, Now: p.options.Now,
	})
}

func intersect(some, others []string) bool {
	for _, one := range some {
		for _, other := range others {
			if one == other && one != "" {
				return true
			}
		}
	}
	return false
}

// keySet are the keys that may have signed a token.
type keySet []jose.JSONWebKey

// VerifySignature implements [oidc.KeySet].
func (k keySet) VerifySignature(_ context.Context, raw string) ([]byte, error) {
	parsed, err := jose.ParseSigned(raw, algorithms)
	if err != nil {
		return nil, fmt.Errorf("parse token: %w", err)
	}
	for _, key := range k {
		if payload, err := parsed.Verify(key); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("no key of the identity provider fits the signature")
}
