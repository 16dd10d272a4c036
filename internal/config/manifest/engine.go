package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// EngineURL is the normal form of an engine's base URL: scheme and host in lower case, no default port, no slash at the end. It
// refuses what is no http(s) URL and what has user info, a query or a fragment; the error does not quote the URL.
func EngineURL(raw string) (string, error) {
	parsed, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || parsed.Hostname() == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return "", errors.New("must be an http or https URL, such as http://127.0.0.1:4096")
	}
	if parsed.User != nil {
		return "", errors.New("must not hold credentials: give username and password")
	}
	if parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" {
		return "", errors.New("must not have a query or a fragment")
	}
	if port := parsed.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", errors.New("must have a port of 1 to 65535")
		}
	}
	host := strings.ToLower(parsed.Host)
	host = strings.TrimSuffix(host, ":")
	if port := defaultPort(parsed.Scheme); parsed.Port() == port {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return parsed.Scheme + "://" + host + strings.TrimRight(parsed.EscapedPath(), "/"), nil
}

// EngineID derives a readable id from an engine's URL: host and port, and a short hash of the whole where there is a path. Equal
// URLs, in any spelling that EngineURL evens out, have equal ids. A text that is no engine URL gives an empty id.
func EngineID(raw string) string {
	normal, err := EngineURL(raw)
	if err != nil {
		return ""
	}
	parsed, err := url.Parse(normal)
	if err != nil {
		return ""
	}
	port := parsed.Port()
	if port == "" {
		port = defaultPort(parsed.Scheme)
	}
	id := strings.NewReplacer(":", "-", "%", "-").Replace(parsed.Hostname()) + "-" + port
	if parsed.Path != "" {
		sum := sha256.Sum256([]byte(normal))
		id += "-" + hex.EncodeToString(sum[:4])
	}
	return id
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}
