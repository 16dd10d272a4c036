package auth

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

const (
	maxAccountBytes = 256
	maxRoles        = 200
)

// Claims are what a token of the provider says of somebody, as far as it matters here.
type Claims struct {
	Account      string    `json:"account"`
	Organisation string    `json:"organisation,omitempty"`
	Name         string    `json:"name,omitempty"`
	Roles        []string  `json:"roles,omitempty"` // those that the settings know
	Expires      time.Time `json:"expires"`
}

func (p *Provider) read(token *oidc.IDToken) (Claims, error) {
	var all map[string]any
	if err := token.Claims(&all); err != nil {
		return Claims{}, &UnauthorizedError{Problem: "the token's claims cannot be read"}
	}
	c := Claims{
		Account: text(claim(all, p.options.AccountClaim)), Organisation: text(claim(all, p.options.OrganisationClaim)),
		Name: displayName(all), Expires: token.Expiry,
	}
	for _, role := range texts(claim(all, p.options.RolesClaim)) {
		if _, known := p.options.Roles[role]; known {
			c.Roles = append(c.Roles, role)
		}
	}
	return c, nil
}

// Principal is who comes with such claims, as the settings are now. The error is a *[ForbiddenError].
func (p *Provider) Principal(c Claims) (Principal, error) {
	o := p.options
	organisation := c.Organisation
	switch {
	case !sound(c.Account) || strings.HasPrefix(c.Account, "token:") || c.Account == Local().Identity.Account:
		return Principal{}, forbidden("no_account", "the token names no account that may be used")
	case o.OrganisationClaim == "":
		organisation = DefaultOrganisation
	case !sound(organisation):
		return Principal{}, forbidden("no_organisation", "the token names no organisation")
	}
	if len(o.Organisations) > 0 && !slices.Contains(o.Organisations, organisation) {
		return Principal{}, forbidden("wrong_organisation", "this organisation may not use the gateway")
	}
	role := o.DefaultRole
	for _, name := range c.Roles {
		if given := o.Roles[name]; given.rank() > role.rank() {
			role = given
		}
	}
	if role.rank() == 0 {
		return Principal{}, forbidden("no_role", "the account has no role here: ask whoever runs the gateway")
	}
	name := c.Name
	if name == "" {
		name = c.Account
	}
	return Principal{
		ID: "oidc:" + c.Account, Name: name, Role: role, Identity: approval.Identity{Account: c.Account, Organisation: organisation},
	}, nil
}

func sound(name string) bool {
	return name != "" && len(name) <= maxAccountBytes && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// claim finds a claim by its name, or by the names of those around it with dots between.
func claim(all map[string]any, name string) any {
	if name == "" {
		return nil
	}
	if value, found := all[name]; found {
		return value
	}
	outer, inner, dotted := strings.Cut(name, ".")
	if within, isObject := all[outer].(map[string]any); dotted && isObject {
		return claim(within, inner)
	}
	return nil
}

func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		raw, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(raw)
	default:
		return ""
	}
}

// texts reads a list, or a text with blanks between as scopes are.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return append(strings.Fields(v), v)
	case []any:
		var all []string
		for _, one := range v[:min(len(v), maxRoles)] {
			if t, isText := one.(string); isText {
				all = append(all, t)
			}
		}
		return all
	default:
		return nil
	}
}

// displayName is how somebody is called, for lists.
func displayName(all map[string]any) string {
	for _, name := range []string{"name", "preferred_username", "email"} {
		shown := strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return -1
		}, strings.TrimSpace(text(all[name])))
		if shown != "" {
			runes := []rune(shown)
			return string(runes[:min(len(runes), MaxNameBytes)])
		}
	}
	return ""
}
