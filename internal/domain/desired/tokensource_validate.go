package desired

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// MaxTokenMargin bounds [TokenSource.MarginSeconds].
const MaxTokenMargin = 30 * 24 * time.Hour

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// sourceFields are the members that a kind needs and those that it may have.
// Others are refused: they would be ignored in silence.
var sourceFields = map[SourceKind]struct{ needed, optional []string }{
	SourceLiteral: {needed: []string{"value"}},
	SourceEnv:     {needed: []string{"variable"}},
	SourceFile:    {needed: []string{"path"}},
	SourceClientCredentials: {
		needed:   []string{"tokenUrl", "clientId", "clientSecret"},
		optional: []string{"scopes", "audience", "resource", "authStyle"},
	},
	SourceRefreshToken: {
		needed:   []string{"tokenUrl", "clientId", "refreshToken"},
		optional: []string{"clientSecret", "scopes", "audience", "resource", "authStyle"},
	},
}

// sourceField is a member of a source as text.
type sourceField struct{ name, value string }

func (s *TokenSource) fields() []sourceField {
	return []sourceField{
		{"value", s.Value},
		{"variable", s.Variable},
		{"path", s.Path},
		{"tokenUrl", s.TokenURL},
		{"clientId", s.ClientID},
		{"clientSecret", s.ClientSecret},
		{"scopes", strings.Join(s.Scopes, " ")},
		{"audience", s.Audience},
		{"resource", s.Resource},
		{"authStyle", s.AuthStyle},
		{"refreshToken", s.RefreshToken},
	}
}

// Validate returns the first rule that the source breaks, nil if it breaks none
// or there is no source. All are [health.CodeTokenSourceInvalid] and not
// retryable. Messages quote no value of the source.
func (s *TokenSource) Validate() *health.Failure {
	if s == nil {
		return nil
	}
	for _, rule := range []func() string{s.checkFields, s.checkValue, s.checkPlace, s.checkTokenURL, s.checkGrant} {
		if problem := rule(); problem != "" {
			f := health.TokenSourceInvalid("The token source is not valid: " + problem + ".")
			return &f
		}
	}
	return nil
}

func (s *TokenSource) checkFields() string {
	known, ok := sourceFields[s.Kind]
	if !ok {
		return "kind must be literal, env, file, client_credentials or refresh_token"
	}
	total := 0
	for _, field := range s.fields() {
		total += len(field.value)
		needed := slices.Contains(known.needed, field.name)
		switch {
		case needed && strings.TrimSpace(field.value) == "":
			return fmt.Sprintf("kind %s needs %s", s.Kind, field.name)
		case field.value != "" && !needed && !slices.Contains(known.optional, field.name):
			return fmt.Sprintf("kind %s has no %s", s.Kind, field.name)
		}
	}
	if total > MaxHeaderBytes {
		return fmt.Sprintf("it is longer than %d bytes", MaxHeaderBytes)
	}
	if s.MarginSeconds < 0 || s.MarginSeconds > int(MaxTokenMargin/time.Second) {
		return fmt.Sprintf("marginSeconds must be 1 to %d, or unset", int(MaxTokenMargin/time.Second))
	}
	return ""
}

// checkValue accepts what can stand behind "Bearer " in a header.
func (s *TokenSource) checkValue() string {
	if strings.ContainsFunc(s.Value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "value may hold visible ASCII characters only, without blanks and without a scheme such as Bearer"
	}
	return ""
}

func (s *TokenSource) checkPlace() string {
	switch {
	case s.Kind == SourceEnv && !variableName.MatchString(s.Variable):
		return "variable must be the name of an environment variable"
	case s.Kind == SourceFile && (!filepath.IsAbs(s.Path) || strings.ContainsRune(s.Path, 0)):
		return "path must be absolute"
	default:
		return ""
	}
}

func (s *TokenSource) checkTokenURL() string {
	if s.TokenURL == "" {
		return ""
	}
	if len(s.TokenURL) > MaxURLBytes {
		return fmt.Sprintf("tokenUrl is longer than %d bytes", MaxURLBytes)
	}
	_, err := NormaliseURL(ProfileGeneric, s.TokenURL)
	var invalid *URLError
	if errors.As(err, &invalid) {
		return "tokenUrl " + invalid.Problem
	}
	return ""
}

func (s *TokenSource) checkGrant() string {
	if s.AuthStyle != "" && s.AuthStyle != AuthStyleHeader && s.AuthStyle != AuthStyleParams {
		return "authStyle must be header or params, or unset"
	}
	for _, scope := range s.Scopes {
		// The characters of RFC 6749, section 3.3.
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return "every scope must be visible ASCII without blanks, quotes and backslashes"
		}
	}
	return ""
}
