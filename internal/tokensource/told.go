package tokensource

import (
	"encoding/json"
	"math"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// shortestLifetime is how long a token must live at least: with less it has expired before the engine has it.
	shortestLifetime = 5 * time.Second
	// longestLifetime is what a longer lifetime is taken for.
	longestLifetime = farthest

	fieldExpiresIn    = "expires_in"
	fieldRefreshToken = "refresh_token"
)

// told is what we read ourselves in the answer of a token server. The OAuth library gives up the whole answer for one field
// that it does not like, and with it the only copy of a rotated refresh token; and it takes a lifetime of "3600.0" for an
// error, and one below 0 for a token like others.
type told struct {
	refreshToken string
	lifetime     time.Duration // 0: not told
	odd          bool          // the lifetime is told, and is no number
}

// read reads a good answer, and returns the body for the library: without the lifetime, where it is JSON.
func read(body []byte, contentType string) (told, []byte) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil {
		return readJSON(fields, body)
	}
	kind, _, _ := mime.ParseMediaType(contentType)
	if kind != "application/x-www-form-urlencoded" && kind != "text/plain" {
		return told{}, body
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return told{}, body
	}
	is := told{refreshToken: form.Get(fieldRefreshToken)}
	is.lifetime, is.odd = lifetime(form.Get(fieldExpiresIn))
	return is, body
}

func readJSON(fields map[string]json.RawMessage, body []byte) (told, []byte) {
	var is told
	for name, value := range fields {
		switch strings.ToLower(name) { // as encoding/json matches names
		case fieldRefreshToken:
			_ = json.Unmarshal(value, &is.refreshToken) // another type is no refresh token
		case fieldExpiresIn:
			is.lifetime, is.odd = lifetime(unquoted(value))
			delete(fields, name)
		}
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return is, body
	}
	return is, rest
}

// unquoted is a number as text, also where it is told as a string, and empty for null.
func unquoted(value json.RawMessage) string {
	var text *string
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	if text == nil {
		return ""
	}
	return *text
}

// lifetime reads a number of seconds; a fraction does not count.
func lifetime(text string) (span time.Duration, odd bool) {
	if text == "" {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(seconds, 0) || math.IsNaN(seconds) {
		return 0, true
	}
	bound := longestLifetime.Seconds()
	return time.Duration(math.Trunc(min(max(seconds, -bound), bound))) * time.Second, false
}
