package redact

import "strings"

const (
	// Longer runs of key characters are data, not a key's name.
	maxKeyRun = 64
	// "secret access key: x" has the longest name that is written with blanks.
	maxKeyWords = 3
)

// sensitiveEndings are compared with the end of a key's name in lower case and
// without "-", "_" and blanks: mcp_token, X-Api-Key, "client secret".
var sensitiveEndings = []string{
	"authorization", "cookie",
	"token", "secret", "password", "passwd", "passphrase", "credential", "credentials",
	"apikey", "privatekey", "secretkey", "secretaccesskey", "mcpsessionid",
}

func sensitive(key string) bool {
	name := fold(key)
	for _, ending := range sensitiveEndings {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

// wholeLine is true for header names whose values contain blanks and commas.
func wholeLine(key string) bool {
	return strings.HasSuffix(key, "authorization") || isCookie(key)
}

func isCookie(key string) bool {
	return strings.HasSuffix(key, "cookie")
}

// fold brings a key's name to the form of [sensitiveEndings].
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, key)
}

// key is the name found in front of a separator.
type key struct {
	name   string // folded
	last   string // last word as written
	quoted bool
	opener byte // the quote that stands right before an unquoted key, or 0
}

// keyBefore reads the key at the end of text, with optional quotes round it.
func keyBefore(text string) key {
	var k key
	end := len(strings.TrimRight(text, " \t"))
	if end > 0 && isQuote(text[end-1]) {
		k.quoted = true
		end = len(strings.TrimRight(text[:end-1], `\`))
	}

	start := end
	for range maxKeyWords {
		wordEnd := start
		if start < end {
			wordEnd = start - 1 // the blank between two words
		}
		wordStart := keyRunStart(text, wordEnd)
		if wordStart == wordEnd {
			break
		}
		if k.last == "" {
			k.last = text[wordStart:wordEnd]
		}
		start = wordStart
		if start == 0 || text[start-1] != ' ' {
			break
		}
	}

	k.name = fold(text[start:end])
	if !k.quoted && start > 0 && isQuote(text[start-1]) {
		k.opener = text[start-1]
	}
	return k
}

func keyRunStart(text string, end int) int {
	start := end
	for start > 0 && end-start < maxKeyRun && isKeyByte(text[start-1]) {
		start--
	}
	return start
}

func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

func isQuote(c byte) bool {
	return c == '"' || c == '\'' || c == '`'
}
