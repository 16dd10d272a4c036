package app

import (
	"fmt"
	"strings"

	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/origin"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func provideTokens(s *store.Store) *auth.Tokens { return auth.NewTokens(s, nil) }

// names are those under which the gateway is reached.
func names(cfg config.Config) origin.Policy {
	return origin.Policy{
		Public: cfg.Gateway.PublicURL, Hosts: cfg.Gateway.Hosts, AnyAddress: !config.Loopback(cfg.Gateway.Listen), Origins: cfg.Gateway.Origins,
	}
}

// provideProvider is the OpenID provider of the settings; nil where they name none.
func provideProvider(lc fx.Lifecycle, o Options) (*auth.Provider, error) {
	cfg := o.Config.OIDC
	if cfg.Issuer == "" {
		return nil, nil //nolint:nilnil // there is none, which is no fault
	}
	secret, err := cfg.Secret()
	if err != nil {
		return nil, fmt.Errorf("use OpenID provider: %w", err)
	}
	roles := map[string]auth.Role{}
	for value, role := range cfg.RoleMap() {
		roles[value] = auth.Role(role)
	}
	made := auth.NewProvider(auth.ProviderOptions{
		Issuer: cfg.Issuer, Audience: cfg.Audiences(o.Config.Gateway.PublicURL), AccountClaim: cfg.AccountClaim,
		OrganisationClaim: cfg.OrganisationClaim, Organisations: cfg.Organisations, RolesClaim: cfg.RolesClaim, Roles: roles,
		DefaultRole: auth.Role(cfg.DefaultRole), ClientID: cfg.ClientID, ClientSecret: secret.Reveal(), Scopes: cfg.Scopes,
	})
	lc.Append(fx.StopHook(made.Close))
	return made, nil
}

func provideAuthenticator(o Options, tokens *auth.Tokens, provider *auth.Provider, k *keys.Keys) *auth.Authenticator {
	cfg := o.Config.Gateway
	sources := auth.Sources{Tokens: tokens, Provider: provider, Open: cfg.Auth == config.AuthNone}
	sources.Sessions = auth.NewSessions(k.AEAD(), sources, strings.HasPrefix(cfg.PublicURL, "https://"), nil)
	return auth.NewAuthenticator(sources)
}

func provideMetadata(o Options) *auth.Metadata {
	return auth.NewMetadata(names(o.Config), o.Config.OIDC.Issuer, o.Config.OIDC.Scopes)
}
