package mcpprobe

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

const (
	maxText = 200
	// minSecret is the length from which a configured value counts as a secret: shorter ones ("1", "json") would
	// punch holes into every text.
	minSecret = 6
	mark      = "[REDACTED]"
)

var lostSession = regexp.MustCompile(`(?i)\b(?:` + strings.Join([]string{
	`session (?:id )?(?:was )?(?:not found|unknown|expired|terminated|missing|does not exist)`,
	`(?:unknown|expired|terminated|no valid|invalid|missing|no such) (?:mcp[ -])?session(?:[ -]?id)?`,
	`no (?:active )?session (?:with|for|found)`,
}, "|") + `)\b`)

// speaksOfLostSession tells whether a refusal's text says that the endpoint does not know the session.
func speaksOfLostSession(text string) bool { return lostSession.MatchString(text) }

// scrubber takes the target's own secrets out of what an endpoint said, which may echo anything that it was sent.
type scrubber struct{ secrets []string }

func newScrubber(t Target, endpoint *url.URL) *scrubber {
	s := &scrubber{}
	for _, value := range t.Headers {
		s.add(value)
		if _, credentials, found := strings.Cut(strings.TrimSpace(value), " "); found {
			s.add(credentials)
		}
	}
	if endpoint != nil {
		for _, values := range endpoint.Query() {
			for _, value := range values {
				s.add(value)
			}
		}
		s.add(endpoint.RawQuery)
	}
	if t.Canary != nil {
		s.add(t.Canary.ID)
	}
	return s
}

func (s *scrubber) add(secret string) {
	if secret = strings.TrimSpace(secret); len(secret) >= minSecret {
		s.secrets = append(s.secrets, secret)
		// The longest first: one secret may be part of another.
		slices.SortFunc(s.secrets, func(a, b string) int { return len(b) - len(a) })
	}
}

// clean makes a text fit to be shown: no secret, one line, at most 200 bytes.
func (s *scrubber) clean(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, mark)
	}
	text = redact.String(strings.Join(strings.Fields(text), " "))
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// address is the endpoint without user info, query and fragment.
func (s *scrubber) address(endpoint *url.URL) string {
	if endpoint == nil {
		return ""
	}
	return s.clean((&url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host, Path: endpoint.Path}).String())
}
