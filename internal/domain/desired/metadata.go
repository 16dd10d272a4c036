package desired

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

// Metadata is what is known about a desired config beside the config itself.
// The maps hold only texts, numbers, booleans and nulls; texts are redacted.
type Metadata struct {
	Token map[string]any `json:"tokenMetadata,omitempty"`
	Org   map[string]any `json:"org,omitempty"`
	// App tells who asked; it is no part of the revision.
	App                   map[string]any `json:"app,omitempty"`
	ConnectCatalogEnabled bool           `json:"connectCatalogEnabled"`
	// ExpectedTools are the direct names that a generic server must list; empty
	// means that any one tool will do. The openwork profile ignores them.
	ExpectedTools []string `json:"expectedTools,omitempty"`
}

// DefaultMetadata is the metadata of a config about which nothing was said.
func DefaultMetadata() Metadata {
	return Metadata{ConnectCatalogEnabled: true}
}

// NormaliseMetadata reads the metadata out of the body that [Normalise] reads
// the config from: tokenMetadata, org (or organization), app (or appVersion and
// buildSha), connectCatalogEnabled and expectedTools. What has another type
// than it should have is dropped; a body that is no object is a *[PayloadError].
func NormaliseMetadata(raw json.RawMessage) (Metadata, error) {
	body, err := object(raw)
	if err != nil {
		return Metadata{}, err
	}
	m := DefaultMetadata()
	m.Token = facts(body["tokenMetadata"])
	m.Org = facts(body["org"])
	if m.Org == nil {
		m.Org = facts(body["organization"])
	}
	m.App = appFacts(body)
	if enabled, ok := body["connectCatalogEnabled"].(bool); ok {
		m.ConnectCatalogEnabled = enabled
	}
	m.ExpectedTools = toolNames(body["expectedTools"])
	return m, nil
}

// facts keeps the plain values of an object; nil if none are left.
func facts(v any) map[string]any {
	fields, _ := v.(map[string]any)
	var kept map[string]any
	for name, field := range fields {
		switch t := field.(type) {
		case string:
			field = redact.String(t)
		case float64, bool, nil:
		default:
			continue
		}
		if kept == nil {
			kept = make(map[string]any, len(fields))
		}
		kept[name] = field
	}
	return kept
}

func appFacts(body map[string]any) map[string]any {
	if app := facts(body["app"]); app != nil {
		return app
	}
	flat := map[string]any{}
	if version, ok := body["appVersion"].(string); ok {
		flat["version"] = version
	}
	for _, name := range []string{"buildSHA", "buildSha"} { // the last one wins
		if sha, ok := body[name].(string); ok {
			flat["buildSha"] = sha
		}
	}
	return facts(flat)
}

// toolNames keeps each name once, in order, so that a revision does not depend
// on how often or in which order they were given.
func toolNames(v any) []string {
	items, _ := v.([]any)
	var names []string
	for _, item := range items {
		text, _ := item.(string)
		if name := strings.TrimSpace(text); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Tools of the openwork profile, by their direct names.
const (
	ToolSearchCapabilities = "search_capabilities"
	ToolExecuteCapability  = "execute_capability"
)

// ExpectedTools are the direct names of the tools that the endpoint must list.
// Empty means that any one tool will do.
func ExpectedTools(p Profile, m Metadata) []string {
	if p == ProfileOpenWork {
		return []string{ToolSearchCapabilities, ToolExecuteCapability}
	}
	return slices.Clone(m.ExpectedTools)
}

// EngineToolID is the id under which an engine offers a server's tool to models: all
// but ASCII letters, digits, "_" and "-" becomes "_".
func EngineToolID(server, tool string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		default:
			return '_'
		}
	}, server+"_"+tool)
}
