package executions

import (
	"bytes"
	"encoding/json"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

const maskDepth = 32

// Mask takes secrets out of arguments for people: what the schema calls a password or write-only, and what by its name or form is a
// secret. Numbers stay digit by digit as they are.
func Mask(arguments, schema json.RawMessage) json.RawMessage {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return json.RawMessage(`"` + redact.Marker + `"`)
	}
	var shape shape
	_ = json.Unmarshal(schema, &shape) // a schema that cannot be read masks nothing: names still do
	value = shape.mask(value, maskDepth)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(numbers(value, redact.Value(value))) != nil {
		return json.RawMessage(`"` + redact.Marker + `"`)
	}
	return bytes.TrimSpace(out.Bytes())
}

// shape is what of a JSON Schema says that a value is a secret.
type shape struct {
	Format     string           `json:"format"`
	WriteOnly  bool             `json:"writeOnly"`
	Properties map[string]shape `json:"properties"`
	Items      *shape           `json:"items"`
}

func (s shape) mask(value any, depth int) any {
	if s.Format == "password" || s.WriteOnly || depth == 0 {
		return redact.Marker
	}
	switch value := value.(type) {
	case map[string]any:
		for name, each := range value {
			value[name] = s.Properties[name].mask(each, depth-1)
		}
	case []any:
		if s.Items != nil {
			for i, each := range value {
				value[i] = s.Items.mask(each, depth-1)
			}
		}
	}
	return value
}

// numbers puts numbers back as they were written, wherever they have not been masked.
func numbers(written, redacted any) any {
	switch written := written.(type) {
	case json.Number:
		if redacted != redact.Marker {
			return written
		}
	case map[string]any:
		if fields, ok := redacted.(map[string]any); ok {
			for name, each := range written {
				if _, ok := fields[name]; ok {
					fields[name] = numbers(each, fields[name])
				}
			}
		}
	case []any:
		if items, ok := redacted.([]any); ok {
			for i, each := range written {
				items[i] = numbers(each, items[i])
			}
		}
	}
	return redacted
}
