package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// OIDC says whose tokens are taken beside those made by holdfast token create, and what their claims mean.
type OIDC struct {
	Issuer            string   `yaml:"issuer" shown:"none" doc:"URL of the OpenID provider whose bearer tokens and logins are taken"`
	Audience          []string `yaml:"audience" shown:"gateway.public_url, and /mcp and /mcp/agent under it" doc:"audiences one of which a bearer token must be for, separated by commas"`
	AccountClaim      string   `yaml:"account_claim" default:"sub" doc:"claim that is the account; a claim inside of others is named with dots"`
	OrganisationClaim string   `yaml:"organisation_claim" shown:"none: everybody is of one organisation" doc:"claim that is the organisation; a token without it is refused"`
	Organisations     []string `yaml:"organisations" shown:"any" doc:"organisations that may use the gateway, separated by commas"`
	RolesClaim        string   `yaml:"roles_claim" shown:"none" doc:"claim whose values oidc.roles turns into roles"`
	Roles             []string `yaml:"roles" shown:"none" doc:"what values of the claim mean, as value=viewer, value=collaborator or value=owner, separated by commas; the greatest counts"`
	DefaultRole       string   `yaml:"default_role" shown:"none: they are refused" doc:"role of those whom oidc.roles gives none: viewer, collaborator or owner"`
	Scopes            []string `yaml:"scopes" default:"openid,profile,email" doc:"scopes that clients and logins ask for, separated by commas"`
	ClientID          string   `yaml:"client_id" shown:"none: pages take API tokens only" doc:"client under which people log in to pages; its redirect URI is /login/callback under gateway.public_url"`
	ClientSecret      Secret   `yaml:"client_secret" shown:"none" doc:"secret of the client, where it has one"`
	ClientSecretFile  string   `yaml:"client_secret_file" shown:"none" doc:"file that holds the secret of the client"`
}

// Audiences are those that a bearer token may be for: the settings', or the names of the gateway's own resources.
func (o OIDC) Audiences(publicURL string) []string {
	if len(o.Audience) > 0 || publicURL == "" {
		return o.Audience
	}
	return []string{publicURL, publicURL + "/mcp", publicURL + "/mcp/agent"}
}

// RoleMap is what values of the claim mean; Validate has refused what is none.
func (o OIDC) RoleMap() map[string]string {
	roles := map[string]string{}
	for _, entry := range o.Roles {
		if at := strings.LastIndexByte(entry, '='); at > 0 {
			roles[entry[:at]] = entry[at+1:]
		}
	}
	return roles
}

// Secret is the secret of the client, from the setting or from the file that it names; empty when there is none.
func (o OIDC) Secret() (Secret, error) {
	if o.ClientSecretFile == "" {
		return o.ClientSecret, nil
	}
	secret, err := readSecret(o.ClientSecretFile)
	if err != nil {
		return "", fmt.Errorf("read secret of OIDC client: %w", err)
	}
	if secret == "" {
		return "", errors.New("read secret of OIDC client: the file is empty")
	}
	return secret, nil
}

func (v *validator) oidc(o OIDC, publicURL string) {
	if o.Issuer == "" {
		v.require(o.ClientID == "", "oidc.client_id", "set oidc.issuer too: there is nobody to log in at")
		return
	}
	v.require(isIssuer(o.Issuer), "oidc.issuer", "it is no issuer: give the https URL that the provider calls itself by; http only on this machine")
	v.require(len(o.Audiences(publicURL)) > 0, "oidc.audience", "say for whom a bearer token must be: set it, or gateway.public_url")
	v.require(o.AccountClaim != "", "oidc.account_claim", "name a claim, such as sub")
	v.require(o.RolesClaim != "" || len(o.Roles) == 0, "oidc.roles_claim", "name the claim that oidc.roles is about")
	for i, entry := range o.Roles {
		value, role, found := strings.Cut(entry, "=")
		if at := strings.LastIndexByte(entry, '='); found {
			value, role = entry[:at], entry[at+1:]
		}
		v.require(found && value != "" && isRole(role), "oidc.roles", "entry %d is none: write value=viewer, value=collaborator or value=owner", i+1)
	}
	v.require(o.DefaultRole == "" || isRole(o.DefaultRole), "oidc.default_role", "%q is no role: give viewer, collaborator or owner", o.DefaultRole)
	v.require(len(o.Roles) > 0 || o.DefaultRole != "", "oidc.default_role", "nobody would have a role: set it, or oidc.roles_claim and oidc.roles")
	v.require(len(o.Organisations) == 0 || o.OrganisationClaim != "", "oidc.organisation_claim", "name the claim that oidc.organisations is about")
	v.require(o.ClientID == "" || slices.Contains(o.Scopes, "openid"), "oidc.scopes", "a login needs the scope openid")
	v.require(o.ClientSecret == "" || o.ClientSecretFile == "", "oidc.client_secret_file", "give the secret or its file, not both")
}

func isRole(text string) bool { return text == "viewer" || text == "collaborator" || text == "owner" }

// isIssuer takes http for this machine only: whoever can change the answers on the way can make tokens.
func isIssuer(text string) bool {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return false
	}
	ip := net.ParseIP(parsed.Hostname())
	local := parsed.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return parsed.Scheme == "https" || parsed.Scheme == "http" && local
}
