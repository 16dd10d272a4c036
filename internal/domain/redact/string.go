package redact

import (
	"regexp"
	"strings"
)

// Marker stands where a secret stood.
const Marker = "[REDACTED]"

// maxPasses bounds the search for a stable text. Two passes are the normal case:
// one that redacts, one that finds nothing more.
const maxPasses = 8

var (
	// User info of a URL of any scheme, with or without a password: tokens are
	// given in either half.
	userInfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.\-]*://)[^\s/?#"'<>\\]*@`)

	// The second part makes a JWT recognisable even when its tail was cut off.
	jwt = regexp.MustCompile(`eyJ[A-Za-z0-9_\-]{2,}(?:\.[A-Za-z0-9_\-]*){1,4}`)

	// Prefixes of well-known token formats that occur in no ordinary word.
	prefixed = regexp.MustCompile(`(?:ow[thc]_|gh[pousr]_|github_pat_|xox[a-z][\-.]|ya29\.|AIza|sk-(?:proj|ant)-)` +
		`[A-Za-z0-9_.\-]*[A-Za-z0-9_\-]`)

	// "sk-" is the end of words such as "disk-", so it needs a boundary; an
	// escape sequence (\n, %3D) is one, although it ends in a letter or digit.
	prefixedSK = regexp.MustCompile(`(^|[^A-Za-z0-9]|\\[nrt]|%[0-9A-Fa-f]{2})sk-[A-Za-z0-9_.\-]*[A-Za-z0-9_\-]`)

	scheme = regexp.MustCompile("(?i)(^|[^A-Za-z0-9]|\\\\[nrt])(bearer|basic)((?:[ \t]|%20)+\\\\*[\"'`<]?)([A-Za-z0-9._~+/=\\-]+)")
)

// String replaces every secret in s that it can recognise by [Marker]: user info
// of URLs, JWTs, tokens with a known prefix, what follows "Bearer" or "Basic",
// header lines, the value after a sensitive key and the value of a sensitive
// command-line flag. Values of keys become a quoted marker, so that JSON stays
// JSON.
//
// String(String(s)) == String(s) holds for every s: a text that the rules do not
// leave stable is given up as a whole.
func String(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD") // what JSON would make of it anyway
	for range maxPasses {
		next := pass(s)
		if next == s {
			return s
		}
		s = next
	}
	return Marker
}

func pass(s string) string {
	// User info goes first: in "https://token:x@host" the colon is no key's.
	s = userInfo.ReplaceAllString(s, "${1}"+Marker+"@")
	s = jwt.ReplaceAllString(s, Marker)
	s = prefixed.ReplaceAllString(s, Marker)
	s = prefixedSK.ReplaceAllString(s, "${1}"+Marker)
	s = redactSchemes(s)
	s = redactPairs(s)
	return redactFlags(s)
}

// redactSchemes replaces the credentials after an authentication scheme. A word
// that only talks about the scheme ("Provide a Bearer token") is no credential.
func redactSchemes(s string) string {
	var b strings.Builder
	done := 0
	for _, m := range scheme.FindAllStringSubmatchIndex(s, -1) {
		if proseAfterScheme(s[m[8]:m[9]]) {
			continue
		}
		b.WriteString(s[done:m[8]])
		b.WriteString(Marker)
		done = m[9]
	}
	b.WriteString(s[done:])
	return b.String()
}

// proseAfterScheme is true for the closed list of words that follow a scheme's
// name in sentences and in WWW-Authenticate challenges. Such a word is redacted
// only if something is joined to it ("token.x1").
func proseAfterScheme(word string) bool {
	switch strings.ToLower(strings.TrimRight(word, ".=")) {
	case "token", "tokens", "auth", "authentication", "authorization", "scheme", "header",
		"credential", "credentials", "realm", "error", "error_description", "scope", "resource_metadata":
		return true
	default:
		return false
	}
}
