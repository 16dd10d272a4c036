package redact

import (
	"regexp"
	"strings"
)

var schemeWord = regexp.MustCompile(`^(?i)(?:bearer|basic|digest|negotiate|token|apikey)[ \t]+`)

// quoted is a value in quotes: where it ends and how the marker is quoted.
type quoted struct {
	content string
	open    string // backslashes and a double quote
	end     int
}

func (q quoted) clean() bool {
	return isCleanOrEmpty(q.content)
}

// quotedAt reads a quoted value at s[start]. The quotes may be escaped, as in
// JSON within JSON. A value that is not closed on its own line takes the rest of
// the text: where its quotes do not pair, nothing after it can be read safely.
func quotedAt(s string, start int) (quoted, bool) {
	open := start
	for open < len(s) && s[open] == '\\' {
		open++
	}
	if open == len(s) || !isQuote(s[open]) {
		return quoted{}, false
	}
	escapes := open - start
	q := quoted{open: s[start:open] + `"`, end: len(s)}
	slashes := 0
	for i := open + 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			slashes++
			continue
		case c == '\n' || c == '\r':
			q.content = s[open+1:]
			return q, true
		case c == s[open] && closes(escapes, slashes):
			q.content = s[open+1 : i-slashes]
			q.end = i + 1
			if slashes < escapes {
				q.end = i - slashes // the quote belongs to the text around
			}
			if escapes == 0 {
				q.content = s[open+1 : i]
			}
			return q, true
		}
		slashes = 0
	}
	q.content = s[open+1:]
	return q, true
}

// closes decides whether a quote after so many backslashes ends a value whose
// opening quote had escapes of them.
func closes(escapes, slashes int) bool {
	if escapes == 0 {
		return slashes%2 == 0
	}
	return slashes <= escapes
}

// groupEnd returns the end of the bracketed group at s[start], the end of s if
// it is not closed, and start if there is none.
func groupEnd(s string, start int) int {
	if start == len(s) || strings.HasPrefix(s[start:], Marker) || (s[start] != '{' && s[start] != '[') {
		return start
	}
	depth := 0
	var quote byte
	for i := start; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// bareEnd returns the end of the unquoted value at s[start]. A comma or
// semicolon inside it ends it only before a blank or a bracket, since
// passwords contain them; in a cookie it never does.
func bareEnd(s string, start int, cookie bool) int {
	i := start
	for i < len(s) {
		if strings.HasPrefix(s[i:], Marker) {
			i += len(Marker)
			continue
		}
		if cookie && s[i] == ';' {
			i = skipBlanks(s, i+1)
			continue
		}
		if endsBare(s[i]) || (s[i] == ',' || s[i] == ';') && (i+1 == len(s) || endsBare(s[i+1])) {
			break
		}
		i++
	}
	return i
}

func endsBare(c byte) bool {
	return c <= ' ' || isQuote(c) || strings.IndexByte("&)}]<>", c) >= 0
}

// schemeLen is the length of an authentication scheme's name at the start of a
// bare value, when credentials follow it.
func schemeLen(s string) int {
	n := len(schemeWord.FindString(s))
	if n < len(s) && (strings.HasPrefix(s[n:], Marker) || !endsBare(s[n])) {
		return n
	}
	return 0
}

// lineEnd returns the end of the line, or of the quoted text that began with
// opener right before the key.
func lineEnd(s string, start int, opener byte) int {
	end := len(s)
	if i := strings.IndexAny(s[start:], "\r\n"); i >= 0 {
		end = start + i
	}
	if opener == 0 {
		return end
	}
	if i := strings.IndexByte(s[start:end], opener); i >= 0 {
		return start + len(strings.TrimRight(s[start:start+i], `\`))
	}
	return end
}

func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}
