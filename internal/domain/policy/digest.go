package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
)

// versionDigits is how much of a version's digest is kept: it is compared, and shown to people.
const versionDigits = 12

// Version names rules and defaults: other ones have another version, the same ones always the same.
func Version(rules []Rule, defaults Defaults) string {
	if rules == nil {
		rules = []Rule{}
	}
	// Marshalling texts, numbers and booleans cannot fail.
	text, _ := json.Marshal(struct {
		Rules    []Rule
		Defaults Defaults
	}{rules, defaults})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:versionDigits]
}

// Digest binds a decision to one call: the SHA-256, in hexadecimal, of its address, its arguments in the form that [Canonical] gives,
// and the version of the policy under which it was asked.
func Digest(address string, canonicalArguments []byte, version string) string {
	hash := sha256.New()
	for _, part := range [][]byte{[]byte(address), canonicalArguments, []byte(version)} {
		var length [8]byte // so that no two calls run into the same bytes
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
