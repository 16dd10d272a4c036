package auth

import "errors"

// Role is what somebody may do. The zero value may do nothing.
type Role string

// The roles, from the least to the greatest.
const (
	// RoleViewer reads.
	RoleViewer Role = "viewer"
	// RoleCollaborator also changes connections whose endpoints are trusted.
	RoleCollaborator Role = "collaborator"
	// RoleOwner also connects endpoints that nobody vouches for, changes workspaces and manages tokens.
	RoleOwner Role = "owner"
)

// Roles lists the roles from the least to the greatest.
func Roles() []Role { return []Role{RoleViewer, RoleCollaborator, RoleOwner} }

// ParseRole reads a role as people write it.
func ParseRole(text string) (Role, error) {
	if r := Role(text); r.rank() > 0 {
		return r, nil
	}
	// Not quoted: a token pasted into the wrong place would be shown.
	return "", errors.New("that is no role: give viewer, collaborator or owner")
}

// Allows reports whether the role may do what asks for the least role given. Neither a role that is none nor a need that is
// none is ever met.
func (r Role) Allows(least Role) bool {
	return least.rank() > 0 && r.rank() >= least.rank()
}

func (r Role) rank() int {
	for i, known := range Roles() {
		if r == known {
			return i + 1
		}
	}
	return 0
}
