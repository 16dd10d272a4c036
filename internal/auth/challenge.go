package auth

import (
	"errors"
	"strings"
)

// Challenge is the WWW-Authenticate header for an error of an [Authenticator]: it names the metadata of the resource, where a client
// finds whom to ask for a token. It is empty for what no other token would mend.
func Challenge(err error, metadataURL string, scopes []string) string {
	var (
		wrong  *UnauthorizedError
		denied *ForbiddenError
		parts  = []string{`realm="holdfast"`}
	)
	switch {
	case errors.As(err, &wrong):
		if wrong.Shown() {
			parts = append(parts, `error="invalid_token"`, `error_description="`+quotable(wrong.Problem)+`"`)
		}
	case errors.Is(err, ErrUnauthorized):
	case errors.As(err, &denied):
		parts = append(parts, `error="insufficient_scope"`, `error_description="`+quotable(denied.Message)+`"`)
	default:
		return ""
	}
	if metadataURL != "" {
		parts = append(parts, `resource_metadata="`+quotable(metadataURL)+`"`)
	}
	if len(scopes) > 0 {
		parts = append(parts, `scope="`+quotable(strings.Join(scopes, " "))+`"`)
	}
	return "Bearer " + strings.Join(parts, ", ")
}

// quotable keeps what RFC 6750 allows in such a text.
func quotable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '\''
		}
		return r
	}, text)
}
