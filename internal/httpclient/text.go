package httpclient

import (
	"regexp"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

const maxText = 500

var (
	quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	urlTail    = regexp.MustCompile(`(https?://[^\s"'?#]*)[?#][^\s"']*`)
)

// safeText is err's text without quoted strings (the transport quotes URLs and what servers send), URL queries and
// anything that looks like a secret.
func safeText(err error) string {
	text := quotedText.ReplaceAllString(err.Error(), `"…"`)
	text = urlTail.ReplaceAllString(text, "$1")
	text = redact.String(text)
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
