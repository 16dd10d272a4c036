package desired

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// PayloadError says that input does not have the shape of a desired config.
type PayloadError struct {
	// Code is the wire code, always "invalid_payload".
	Code string
	// Problem names what is wrong and quotes nothing.
	Problem string
}

func (e *PayloadError) Error() string {
	return "read desired config: " + e.Problem
}

func payloadError(problem string) *PayloadError {
	return &PayloadError{Code: "invalid_payload", Problem: problem}
}

// Normalise reads a desired config from the member "config" of raw or, if that
// is absent or null, from raw itself. It keeps the members it knows in one form
// and drops the rest and whatever has another type: a config that lacks
// something is refused by [Validate], not here. Only input that is no object is
// an error, a *[PayloadError].
func Normalise(profile Profile, raw json.RawMessage) (Config, error) {
	if !profile.Valid() {
		return Config{}, payloadError(fmt.Sprintf("profile must be %s or %s", ProfileOpenWork, ProfileGeneric))
	}
	fields, err := object(raw)
	if err != nil {
		return Config{}, err
	}
	if inner, ok := fields["config"]; ok && inner != nil {
		if fields, ok = inner.(map[string]any); !ok {
			return Config{}, payloadError("config must be a JSON object")
		}
	}
	c := Config{
		Type:          configType(fields["type"]),
		URL:           configURL(profile, fields["url"]),
		Headers:       configHeaders(fields["headers"]),
		TimeoutMillis: configTimeout(fields["timeout"]),
	}
	if enabled, ok := fields["enabled"].(bool); ok {
		c.Enabled = &enabled
	}
	if c.OAuth, err = configOAuth(fields["oauth"]); err != nil {
		return Config{}, err
	}
	return c, nil
}

func object(raw json.RawMessage) (map[string]any, error) {
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, payloadError("it must be a JSON object")
	}
	return fields, nil
}

// configType gives a type that is no text a value that no rule accepts.
func configType(v any) string {
	switch t := v.(type) {
	case nil:
		return typeRemote
	case string:
		return t
	default:
		return ""
	}
}

// configURL keeps a URL that cannot be normalised, so that validation can say
// what is wrong with it.
func configURL(profile Profile, v any) string {
	raw, _ := v.(string)
	raw = strings.TrimSpace(raw)
	if normal, err := NormaliseURL(profile, raw); err == nil {
		return normal
	}
	return raw
}

func configHeaders(v any) map[string]string {
	fields, _ := v.(map[string]any)
	var headers map[string]string
	for name, field := range fields {
		value, ok := field.(string)
		if !ok {
			continue
		}
		if headers == nil {
			headers = make(map[string]string, len(fields))
		}
		headers[name] = value
	}
	return headers
}

func configOAuth(v any) (json.RawMessage, error) {
	switch t := v.(type) {
	case bool:
		if t {
			return json.RawMessage(`{}`), nil
		}
		return json.RawMessage(`false`), nil
	case map[string]any:
		return Canonical(t)
	default:
		return nil, nil
	}
}

// configTimeout cuts fractions of a millisecond off, upwards, so that a small
// timeout does not become none.
func configTimeout(v any) int {
	millis, _ := v.(float64)
	millis = math.Ceil(math.Abs(millis)) * math.Copysign(1, millis)
	return int(max(math.MinInt32, min(math.MaxInt32, millis)))
}
