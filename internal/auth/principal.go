package auth

import (
	"context"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// Principal is who asks.
type Principal struct {
	// ID names the principal for good: "token:<id>", "oidc:<account>", or "local" where nobody has to show anything.
	ID   string
	Name string
	Role Role
	// Identity is whose sessions and executions the principal's are.
	Identity approval.Identity
}

// DefaultOrganisation is the organisation of everybody whose token cannot name one.
const DefaultOrganisation = "default"

// Local is whoever reaches a gateway that asks for no token: somebody on this machine.
func Local() Principal {
	return Principal{
		ID: "local", Name: "local", Role: RoleOwner, Identity: approval.Identity{Account: "local", Organisation: DefaultOrganisation},
	}
}

type principalKey struct{}

// With puts a principal into a request's context.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From is who asks. Of a context that nobody has authenticated it is a principal that may do nothing.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
