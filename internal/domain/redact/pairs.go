package redact

import (
	"regexp"
	"strings"
)

var (
	separator = regexp.MustCompile(`(?::|=|%3[DdAa])[:=>]*`)

	flag = regexp.MustCompile("(?:^|[\\s\"'`\\[(,])(--?[A-Za-z][A-Za-z0-9_\\-]*)")

	flagGap = regexp.MustCompile("^(?:[ \t]+|\\\\*[\"'`][ \t]*,[ \t]*)")

	wholeFlag = regexp.MustCompile(`^--?[A-Za-z][A-Za-z0-9_\-]*$`)
)

// redactPairs replaces the value after a sensitive key and ":" or "=".
func redactPairs(s string) string {
	var b strings.Builder
	done := 0
	for _, m := range separator.FindAllStringIndex(s, -1) {
		if m[0] < done {
			continue
		}
		k := keyBefore(s[done:m[0]])
		if !sensitive(k.name) || isErrorCode(k, s[m[0]:]) {
			continue
		}
		start := skipBlanks(s, m[1])
		end, replacement := pairValue(s, start, k, s[m[0]] == ':')
		if replacement == "" {
			continue
		}
		b.WriteString(s[done:start])
		b.WriteString(replacement)
		done = end
	}
	b.WriteString(s[done:])
	return b.String()
}

// isErrorCode is true for "invalid_token: some sentence": the name is an error
// code of the protocol and what follows explains it.
func isErrorCode(k key, rest string) bool {
	if k.quoted || !strings.HasPrefix(rest, ": ") {
		return false
	}
	switch strings.ToLower(k.last) {
	case "invalid_token", "invalid_mcp_token", "missing_token", "missing_mcp_token", "expired_token":
		return true
	default:
		return false
	}
}

// pairValue finds the secret that starts at s[start] and what to write in its
// place; "" means that there is nothing to replace.
func pairValue(s string, start int, k key, colon bool) (end int, replacement string) {
	if v, ok := quotedAt(s, start); ok {
		if v.clean() {
			return v.end, ""
		}
		return v.end, v.open + Marker + v.open
	}
	if colon && wholeLine(k.name) {
		end = lineEnd(s, start, k.opener)
		if isCleanOrEmpty(strings.TrimSpace(s[start:end])) {
			return end, ""
		}
		return end, Marker
	}
	end = groupEnd(s, start)
	if end == start {
		end = bareEnd(s, start+schemeLen(s[start:]), isCookie(k.name))
	}
	if isCleanOrEmpty(s[start:end]) {
		return end, ""
	}
	return end, `"` + Marker + `"`
}

// redactFlags replaces the value that follows a sensitive command-line flag,
// also in the text of an argument list: --token abc, "--token","abc".
func redactFlags(s string) string {
	var b strings.Builder
	done := 0
	for _, m := range flag.FindAllStringSubmatchIndex(s, -1) {
		if m[2] < done || !sensitive(s[m[2]:m[3]]) {
			continue
		}
		gap := len(flagGap.FindString(s[m[3]:]))
		start := m[3] + gap
		if gap == 0 || strings.HasPrefix(s[start:], "--") {
			continue
		}
		end, replacement := flagValue(s, start, strings.Contains(s[m[3]:start], ","))
		if replacement == "" {
			continue
		}
		b.WriteString(s[done:start])
		b.WriteString(replacement)
		done = end
	}
	b.WriteString(s[done:])
	return b.String()
}

func flagValue(s string, start int, inList bool) (end int, replacement string) {
	if v, ok := quotedAt(s, start); ok {
		switch {
		case v.clean():
			return v.end, ""
		case inList:
			return v.end, v.open + Marker + v.open
		default:
			return v.end, Marker
		}
	}
	end = bareEnd(s, start, false)
	if isCleanOrEmpty(s[start:end]) {
		return end, ""
	}
	return end, Marker
}

// isSecretFlag is true for a string that is a sensitive flag and nothing else.
func isSecretFlag(s string) bool {
	return wholeFlag.MatchString(s) && sensitive(s)
}

func isCleanOrEmpty(value string) bool {
	return value == "" || value == Marker
}
