package health

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// Hosts, ports and paths are addresses, not statements: "auth.example.com",
	// ":401" and "/session" must not be read as words.
	addresses = regexp.MustCompile(`(?i)[a-z][a-z0-9+.\-]*://\S+` +
		`|(?:[a-z0-9\-]+(?:\.[a-z0-9\-]+)+|localhost|\[[0-9a-f:.]+\]):\d+` +
		`|\b(?:enotfound|eai_again|lookup)\s+\S+`)

	wordChars = regexp.MustCompile(`[a-z0-9]+`)

	tlsWord = regexp.MustCompile(`^(?:certificat[a-z]*|certs?|(?:tls|ssl)(?:v?\d+)?|x509)$`)
)

// wordsOf cuts a text into lower-case words: whatever is no letter or digit
// separates them, so "membership_required" is two words and "remember" is one.
func wordsOf(text string) []string {
	return wordChars.FindAllString(strings.ToLower(addresses.ReplaceAllString(text, " ")), -1)
}

func has(words []string, wanted ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(wanted, word) })
}

// hasPhrase is true if the words follow one another.
func hasPhrase(words []string, phrase ...string) bool {
	for i := 0; i+len(phrase) <= len(words); i++ {
		if slices.Equal(words[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}

func mentionsTLS(words []string) bool {
	return slices.ContainsFunc(words, tlsWord.MatchString) || hasPhrase(words, "self", "signed")
}

func tokenMissing(words []string) bool {
	return hasPhrase(words, "missing", "mcp", "token") || hasPhrase(words, "provide", "a", "bearer", "token")
}

func grantRevoked(words []string) bool {
	return hasPhrase(words, "invalid", "grant") || has(words, "revoked")
}

func membership(words []string) bool {
	return has(words, "membership", "member")
}

// unauthenticated lists the forms of the word in use, since "auth" as a mere
// part of a word also occurs in "author" and "authority".
func unauthenticated(words []string) bool {
	return hasPhrase(words, "invalid", "token") || has(words,
		"401", "auth", "oauth", "oauth2", "unauthorized", "unauthorised", "unauthenticated",
		"authorized", "authorised", "authorization", "authorisation", "authenticate", "authenticated", "authentication")
}

// byWords is the last resort. The order is part of the contract: the first rule
// that applies decides.
func byWords(text string, words []string) Failure {
	details := errorDetails(text)
	switch {
	case has(words, "expired"):
		return tokenExpired(details)
	case tokenMissing(words):
		return MissingToken(text)
	case unauthenticated(words):
		return authInvalid(details)
	case grantRevoked(words):
		return SessionRevoked(text)
	case has(words, "session"):
		return SessionLost(text)
	case membership(words):
		return MembershipRevoked(text)
	case has(words, "scope", "scopes"):
		return InsufficientScope(text)
	case has(words, "forbidden", "403", "policy"):
		return forbidden(details)
	case hasPhrase(words, "not", "found"), has(words, "404", "resource"):
		return notFound(details)
	case hasPhrase(words, "client", "registration"):
		return ClientRegistrationRequired(text)
	default:
		return SyncFailed(true, text)
	}
}
