package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Visible shows characters that would change how the text around them is read, that are not seen, or that a terminal acts on, as JSON
// escapes them: a name must not look like another one. JSON stays JSON of the same value. Line breaks and tabs are left; what is not
// UTF-8 becomes U+FFFD.
func Visible(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var out strings.Builder
	for i, r := range s {
		switch {
		case !hidden(r), strings.HasPrefix(s[i:], "\r\n"):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co))
}
