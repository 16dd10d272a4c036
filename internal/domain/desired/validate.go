package desired

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// Limits of a desired config, in bytes. Nothing that works is longer: servers
// answer a longer URL or header with 414 or 431.
const (
	MaxURLBytes      = 8 << 10
	MaxHeaderBytes   = 32 << 10
	MaxMetadataBytes = 64 << 10
)

// Validate applies the profile's rules in their order and returns the first one
// that is broken, nil if none is. All are of the stage desired_config and not
// retryable. Messages quote no value of the config.
func Validate(profile Profile, c Config, m Metadata) *health.Failure {
	rules := []func() *health.Failure{
		func() *health.Failure { return checkType(c) },
		func() *health.Failure { return checkEnabled(c) },
		func() *health.Failure { return checkURL(profile, c) },
	}
	if profile == ProfileOpenWork {
		rules = append(rules,
			func() *health.Failure { return checkAuthorization(c) },
			func() *health.Failure { return checkNoOAuth(c) },
			func() *health.Failure { return checkOrganisation(m) },
		)
	}
	// Both profiles: an engine cannot be given anything else.
	rules = append(rules,
		func() *health.Failure { return checkHeaders(c.Headers) },
		func() *health.Failure { return checkTimeout(c) },
		func() *health.Failure { return checkMetadata(m) },
	)
	for _, rule := range rules {
		if f := rule(); f != nil {
			return f
		}
	}
	return nil
}

func checkType(c Config) *health.Failure {
	if c.Type != typeRemote {
		return endpointInvalid(`type must be "remote"`)
	}
	return nil
}

func checkEnabled(c Config) *health.Failure {
	if c.Enabled == nil || !*c.Enabled {
		f := health.DesiredDisabled()
		return &f
	}
	return nil
}

func checkURL(profile Profile, c Config) *health.Failure {
	if len(c.URL) > MaxURLBytes {
		return endpointInvalid(fmt.Sprintf("url is longer than %d bytes", MaxURLBytes))
	}
	_, err := NormaliseURL(profile, c.URL)
	var invalid *URLError
	if errors.As(err, &invalid) {
		return endpointInvalid("url " + invalid.Problem)
	}
	return nil
}

func checkAuthorization(c Config) *health.Failure {
	if !authorized(c.Headers) {
		return invalidToken(health.AliasAuthRequired, "The desired config has no Authorization header.")
	}
	return nil
}

func checkNoOAuth(c Config) *health.Failure {
	switch string(c.OAuth) {
	case "false":
		return nil
	case "", "null":
		return invalidToken(health.AliasAuthInvalid, "oauth must be false in the desired config; it is missing.")
	default:
		return invalidToken(health.AliasAuthInvalid, "oauth must be false in the desired config; it is configured.")
	}
}

// checkOrganisation compares only what is known: a token without an
// organisation passes.
func checkOrganisation(m Metadata) *health.Failure {
	token, active := trimmed(m.Token["organizationId"]), trimmed(m.Org["id"])
	if token != "" && active != "" && token != active {
		f := health.TokenOrgMismatch()
		return &f
	}
	return nil
}

func trimmed(v any) string {
	text, _ := v.(string)
	return strings.TrimSpace(text)
}

// checkHeaders accepts what every HTTP client sends in the same way: token
// names, each once whatever its case, and values of visible ASCII.
func checkHeaders(headers map[string]string) *health.Failure {
	seen := make(map[string]bool, len(headers))
	total := 0
	for name, value := range headers {
		total += len(name) + len(value)
	}
	if total > MaxHeaderBytes {
		return endpointInvalid(fmt.Sprintf("headers are longer than %d bytes together", MaxHeaderBytes))
	}
	for name, value := range headers {
		folded := strings.ToLower(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return endpointInvalid("every header name must be an HTTP token")
		case seen[folded]:
			return endpointInvalid("a header is given twice, in different case")
		case strings.ContainsFunc(value, notSendable):
			return endpointInvalid("header values may hold visible ASCII characters, blanks and tabs only")
		}
		seen[folded] = true
	}
	return nil
}

func notSendable(r rune) bool {
	return r != '\t' && (r < ' ' || r > '~')
}

func checkTimeout(c Config) *health.Failure {
	if c.TimeoutMillis < 0 || time.Duration(c.TimeoutMillis)*time.Millisecond > MaxTimeout {
		return endpointInvalid("timeout must be 1 to 600000 ms, or unset")
	}
	return nil
}

// checkMetadata bounds what is carried along: it is read at every look.
func checkMetadata(m Metadata) *health.Failure {
	raw, err := json.Marshal(m)
	if err != nil || len(raw) > MaxMetadataBytes {
		return endpointInvalid(fmt.Sprintf("expected tools and metadata are longer than %d bytes together", MaxMetadataBytes))
	}
	return nil
}

func endpointInvalid(problem string) *health.Failure {
	f := health.EndpointInvalid("The desired config is not valid: " + problem + ".")
	return &f
}

func invalidToken(alias, message string) *health.Failure {
	f := health.InvalidToken(health.StageDesiredConfig, alias, message)
	return &f
}
