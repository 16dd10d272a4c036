package auth

import "context"

// Principal is who asks.
type Principal struct {
	// ID names the principal for good: "token:<id>", or "local" where nobody has to show a token.
	ID   string
	Name string
	Role Role
}

// Local is whoever reaches a gateway that asks for no token: somebody on this machine.
func Local() Principal { return Principal{ID: "local", Name: "local", Role: RoleOwner} }

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
