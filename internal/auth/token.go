package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	prefix      = "hft"
	idBytes     = 8
	secretBytes = 32
)

// Secret is a token as its owner has it. It shows itself only through [Secret.Reveal].
type Secret struct{ id, secret string }

// newSecret makes a token that nobody has.
func newSecret() Secret {
	raw := make([]byte, idBytes+secretBytes)
	_, _ = rand.Read(raw) // never fails: it would have ended the process
	return Secret{id: hex.EncodeToString(raw[:idBytes]), secret: base64.RawURLEncoding.EncodeToString(raw[idBytes:])}
}

// parseSecret reads a token; ok is false for everything that cannot be one.
func parseSecret(text string) (s Secret, ok bool) {
	parts := strings.SplitN(text, "_", 3) // base64url has underscores of its own
	if len(parts) != 3 || parts[0] != prefix || len(parts[1]) != hex.EncodedLen(idBytes) ||
		len(parts[2]) != base64.RawURLEncoding.EncodedLen(secretBytes) {
		return Secret{}, false
	}
	return Secret{id: parts[1], secret: parts[2]}, true
}

// ID is the public part: it names the token in lists and logs.
func (s Secret) ID() string { return s.id }

// Reveal is the whole token.
func (s Secret) Reveal() string { return prefix + "_" + s.id + "_" + s.secret }

// String hides the secret part.
func (s Secret) String() string { return prefix + "_" + s.id + "_[hidden]" }

// GoString hides the secret part from %#v.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// MarshalText hides the secret part from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Secret) hash() []byte {
	sum := sha256.Sum256([]byte(s.secret))
	return sum[:]
}

// matches compares in constant time.
func (s Secret) matches(hash []byte) bool {
	return subtle.ConstantTimeCompare(s.hash(), hash) == 1
}
