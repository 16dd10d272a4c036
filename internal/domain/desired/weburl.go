package desired

import (
	"strconv"
	"strings"
)

// webURL is an http(s) URL in the normal form of the WHATWG URL standard.
// net/url drops no default port, resolves no dot segments, knows no backslashes
// and no number forms of addresses, and so gives one endpoint several names.
type webURL struct {
	scheme string
	host   string // ASCII; IPv6 in brackets
	port   string // "" for the scheme's own
	path   string // starts with "/"

	query       string
	hasQuery    bool
	fragment    string
	hasFragment bool
}

func (u webURL) String() string {
	var b strings.Builder
	b.WriteString(u.scheme + "://" + u.host)
	if u.port != "" {
		b.WriteString(":" + u.port)
	}
	b.WriteString(u.path)
	if u.hasQuery {
		b.WriteString("?" + u.query)
	}
	if u.hasFragment {
		b.WriteString("#" + u.fragment)
	}
	return b.String()
}

// parseURL reads an absolute http(s) URL without user info.
func parseURL(raw string) (webURL, error) {
	text := strings.ToValidUTF8(raw, "\uFFFD")
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)

	var u webURL
	scheme, rest, ok := strings.Cut(text, ":")
	u.scheme = strings.ToLower(scheme)
	if !ok || (u.scheme != schemeHTTP && u.scheme != schemeHTTPS) {
		return webURL{}, urlError("must be absolute and start with http:// or https://")
	}

	var fragment, query string
	rest, fragment, u.hasFragment = strings.Cut(rest, "#")
	u.fragment = percentEncode(fragment, "\"<>`")
	rest, query, u.hasQuery = strings.Cut(rest, "?")
	u.query = percentEncode(query, "\"<>'")

	rest = strings.TrimLeft(strings.ReplaceAll(rest, `\`, "/"), "/")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i+1:]
	}
	u.path = normalPath(path)
	return u, u.setAuthority(authority)
}

func (u *webURL) setAuthority(authority string) error {
	if strings.Contains(authority, "@") {
		return urlError("must not have user info; use a header for credentials")
	}
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
	}
	var err error
	if u.port, err = normalPort(u.scheme, port); err != nil {
		return err
	}
	u.host, err = normalHost(host)
	return err
}

func normalPort(scheme, port string) (string, error) {
	if port == "" {
		return "", nil
	}
	if strings.ContainsFunc(port, func(r rune) bool { return r < '0' || r > '9' }) {
		return "", urlError("must have a decimal port")
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", urlError("must have a port up to 65535")
	}
	if scheme == schemeHTTP && number == 80 || scheme == schemeHTTPS && number == 443 {
		return "", nil
	}
	return strconv.FormatUint(number, 10), nil
}

// normalPath resolves dot segments, also percent-encoded ones, and encodes what
// must not stand in a path. path comes without its first slash.
func normalPath(path string) string {
	segments := strings.Split(path, "/")
	var kept []string
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case "..":
			kept = kept[:max(0, len(kept)-1)]
			if last {
				kept = append(kept, "")
			}
		case ".":
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, percentEncode(segment, "\"#<>?^`{}"))
		}
	}
	return "/" + strings.Join(kept, "/")
}

// percentEncode encodes blanks, controls, everything beyond ASCII and the given
// characters. A "%" is left alone: what is encoded already stays as it is.
func percentEncode(s, also string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c > '~' || strings.IndexByte(also, c) >= 0 {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
