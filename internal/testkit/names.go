package testkit

import (
	"crypto/rand"
	"strings"
)

// UniqueName is a name that no other test has, so that tests can share a server.
func UniqueName() string { return strings.ToLower(rand.Text()[:10]) }
