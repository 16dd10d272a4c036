package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// document is what a configuration says of tools: an object whose members keep their order, which decides between rules.
type document []member

type member struct {
	name  string
	value any // a document, or what encoding/json makes of anything else
}

var errNotJSON = errors.New("not json")

// invalidDocumentError says which value is not what the engine takes.
type invalidDocumentError struct{ path []string }

func (e *invalidDocumentError) Error() string {
	return fmt.Sprintf("invalid configuration at %q", strings.Join(e.path, "."))
}

// parseDocument reads and checks a configuration, and turns it into the form in which the engine tells it.
func parseDocument(text string) (document, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	value, err := decodeOrdered(decoder)
	if err != nil {
		return nil, errNotJSON
	}
	doc, ok := value.(document)
	if !ok {
		return nil, &invalidDocumentError{}
	}
	if doc.get("permissions") != nil {
		return nil, &invalidDocumentError{[]string{"permissions"}}
	}
	doc, err = checkTools(doc, nil)
	if err != nil {
		return nil, err
	}
	agents, _ := doc.get("agent").(document)
	for i, agent := range agents {
		settings, ok := agent.value.(document)
		if !ok {
			return nil, &invalidDocumentError{[]string{"agent", agent.name}}
		}
		if agents[i].value, err = checkTools(settings, []string{"agent", agent.name}); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func checkTools(d document, at []string) (document, error) {
	at = slices.Clip(at)
	if tools := d.get("tools"); tools != nil {
		switches, ok := tools.(document)
		if !ok {
			return nil, &invalidDocumentError{append(at, "tools")}
		}
		for _, s := range switches {
			if _, ok := s.value.(bool); !ok {
				return nil, &invalidDocumentError{append(at, "tools", s.name)}
			}
		}
	}
	switch permission := d.get("permission").(type) {
	case nil:
	case string:
		if !isAction(permission) {
			return nil, &invalidDocumentError{append(at, "permission")}
		}
		d = d.with("permission", document{{"*", permission}})
	case document:
		for _, rule := range permission {
			if !isRule(rule.value) {
				return nil, &invalidDocumentError{append(at, "permission", rule.name)}
			}
		}
	default:
		return nil, &invalidDocumentError{append(at, "permission")}
	}
	return d, nil
}

func isRule(value any) bool {
	patterns, ok := value.(document)
	if !ok {
		return isAction(value)
	}
	return !slices.ContainsFunc(patterns, func(m member) bool { return !isAction(m.value) })
}

func isAction(value any) bool { return value == "allow" || value == "ask" || value == "deny" }

// merge lays source over d: what both have keeps its place and takes the new value.
func (d document) merge(source document) document {
	merged := slices.Clone(d)
	for _, m := range source {
		below, isDocument := merged.get(m.name).(document)
		if above, ok := m.value.(document); ok && isDocument {
			merged = merged.with(m.name, below.merge(above))
			continue
		}
		merged = merged.with(m.name, m.value)
	}
	return merged
}

// folded has `tools` in `permission`, before what permission says itself.
func (d document) folded() document {
	switches, _ := d.get("tools").(document)
	if len(switches) == 0 {
		return d
	}
	var rules document
	for _, s := range switches {
		action := "deny"
		if s.value == true {
			action = "allow"
		}
		rules = rules.with(s.name, action)
	}
	own, _ := d.get("permission").(document)
	return d.with("permission", rules.merge(own))
}

// told is the document as the engine tells it, with its agents.
func (d document) told() document {
	told := d.folded()
	agents, _ := d.get("agent").(document)
	var all document
	for _, agent := range agents {
		settings, _ := agent.value.(document)
		all = all.with(agent.name, settings.with("options", document{}).folded())
	}
	return told.with("agent", append(document{}, all...))
}

func (d document) get(name string) any {
	for _, m := range d {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// with is a copy in which a member has a value, at its place or at the end.
func (d document) with(name string, value any) document {
	changed := slices.Clone(d)
	for i := range changed {
		if changed[i].name == name {
			changed[i].value = value
			return changed
		}
	}
	return append(changed, member{name, value})
}

// MarshalJSON keeps the order.
func (d document) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range d {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(compact(m.name) + ":" + compact(m.value))
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

func decodeOrdered(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := document{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := decodeOrdered(decoder)
			if err != nil {
				return nil, err
			}
			key, _ := name.(string)
			object = object.with(key, value)
		}
		_, err = decoder.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := decodeOrdered(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = decoder.Token()
		return list, err
	default:
		return token, nil
	}
}

// refusal is the answer of an engine that cannot use the directory's opencode.json, to whatever is asked.
func refusal(directory string, err error) map[string]any {
	data := map[string]any{"path": filepath.Join(directory, "opencode.json")}
	var invalid *invalidDocumentError
	if !errors.As(err, &invalid) {
		data["message"] = "\n--- JSONC Input ---\n"
		return map[string]any{"name": "ConfigJsonError", "data": data}
	}
	path := invalid.path
	if path == nil {
		path = []string{}
	}
	data["issues"] = []any{map[string]any{"path": path, "message": "Expected another value"}}
	return map[string]any{"name": "ConfigInvalidError", "data": data}
}
