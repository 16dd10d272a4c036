package engine

import (
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

const (
	// shortestSecret is the length from which a configured value counts as a secret: shorter ones would punch holes into
	// every text.
	shortestSecret = 6
	redacted       = "[REDACTED]"
)

// Scrub takes what we sent the engine out of what it says: its error texts may repeat an endpoint's answer, which may
// repeat anything that it was sent. Patterns alone do not know a bare token.
func Scrub(text string, sent desired.Config) string {
	if text == "" {
		return ""
	}
	for _, secret := range secretsOf(sent) {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

// secretsOf are the secrets of a config, the longest first: one may be part of another.
func secretsOf(c desired.Config) []string {
	var found []string
	add := func(value string) {
		if value = strings.TrimSpace(value); len(value) >= shortestSecret {
			found = append(found, value)
		}
	}
	for _, value := range c.Headers {
		add(value)
		if _, credentials, ok := strings.Cut(strings.TrimSpace(value), " "); ok {
			add(credentials)
		}
	}
	if u, err := url.Parse(c.URL); err == nil {
		add(u.RawQuery)
		for _, values := range u.Query() {
			for _, value := range values {
				add(value)
				add(url.QueryEscape(value))
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}
