package simulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// registrationPayload is a well-formed body of POST /mcp.
type registrationPayload struct {
	name   string
	config serverConfig
	raw    map[string]any
}

// serverConfig is what the engine keeps of a server's config.
type serverConfig struct {
	local   bool
	url     string
	enabled bool
	headers map[string]string
	noOAuth bool
	timeout time.Duration // 0 = unset
}

// decodeRegistration checks a body in the order of the real engine; problem is its message, empty when all is well.
func decodeRegistration(body any) (payload registrationPayload, problem string) {
	object, ok := body.(map[string]any)
	if !ok {
		return payload, "Expected object, got " + compact(body)
	}
	if payload.name, problem = requiredString(object, "name"); problem != "" {
		return payload, problem
	}
	raw, ok := object["config"]
	if !ok {
		return payload, "Missing key" + at("config")
	}
	payload.raw, ok = raw.(map[string]any)
	kind := payload.raw["type"]
	if !ok || kind != "remote" && kind != "local" {
		return payload, `Expected { readonly "type": "local", ... } | { readonly "type": "remote", ... }, got ` +
			compact(raw) + at("config")
	}
	payload.config, problem = decodeServer(payload.raw)
	return payload, problem
}

func decodeServer(raw map[string]any) (config serverConfig, problem string) {
	config.enabled = true
	if enabled, ok := raw["enabled"]; ok && enabled != nil {
		if config.enabled, ok = enabled.(bool); !ok {
			return config, "Expected boolean | null, got " + compact(enabled) + at("config", "enabled")
		}
	}
	if raw["type"] == "local" {
		config.local = true
		return config, ""
	}
	if config.url, problem = requiredString(raw, "url", "config"); problem != "" {
		return config, problem
	}
	if config.headers, problem = decodeHeaders(raw["headers"]); problem != "" {
		return config, problem
	}
	config.noOAuth = raw["oauth"] == false
	config.timeout, problem = decodeTimeout(raw["timeout"])
	return config, problem
}

func decodeHeaders(raw any) (headers map[string]string, problem string) {
	if raw == nil {
		return nil, ""
	}
	object, ok := raw.(map[string]any)
	if !ok {
		return nil, "Expected object, got " + compact(raw) + at("config", "headers")
	}
	headers = make(map[string]string, len(object))
	for name, value := range object {
		text, ok := value.(string)
		if !ok {
			return nil, "Expected string, got " + compact(value) + at("config", "headers", name)
		}
		headers[name] = text
	}
	return headers, ""
}

func decodeTimeout(raw any) (timeout time.Duration, problem string) {
	if raw == nil {
		return 0, ""
	}
	number, ok := raw.(json.Number)
	if !ok {
		return 0, "Expected number, got " + compact(raw) + at("config", "timeout")
	}
	millis, err := number.Int64()
	switch {
	case err != nil:
		return 0, "Expected an integer, got " + compact(raw) + at("config", "timeout")
	case millis <= 0:
		return 0, "Expected a value greater than 0, got " + compact(raw) + at("config", "timeout")
	}
	return time.Duration(millis) * time.Millisecond, ""
}

func requiredString(object map[string]any, key string, path ...string) (value, problem string) {
	raw, ok := object[key]
	path = append(slices.Clone(path), key)
	if !ok {
		return "", "Missing key" + at(path...)
	}
	if value, ok = raw.(string); !ok {
		return "", "Expected string, got " + compact(raw) + at(path...)
	}
	return value, ""
}

// at writes a path as the engine's validator does: a new line, then ["config"]["url"].
func at(path ...string) string {
	var text strings.Builder
	text.WriteString("\n  at ")
	for _, key := range path {
		fmt.Fprintf(&text, "[%q]", key)
	}
	return text.String()
}

func compact(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return "unknown"
	}
	return string(encoded)
}
