package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// maxDepth bounds nesting, and so also values that contain themselves.
const maxDepth = 32

// Value returns a redacted copy of v that is made only of what encoding/json
// decodes to: nil, bool, float64, string, []any and map[string]any. The value of
// a sensitive key is replaced by [Marker] as a whole, and so is the list element
// after a sensitive flag ("--token", "x"). Anything that has a JSON form is
// treated in that form, bytes and errors count as their text, and of another
// value only the type's name is left. What lies deeper than 32 levels becomes
// the marker.
func Value(v any) any {
	return value(v, maxDepth)
}

func value(v any, depth int) any {
	if depth == 0 {
		return Marker
	}
	switch t := v.(type) {
	case nil, bool:
		return t
	case string:
		return String(t)
	case float64:
		return number(t)
	case []any:
		return list(t, depth)
	case map[string]any:
		return object(t, depth)
	case []byte:
		return String(string(t))
	case error:
		// Not t.Error(): fmt survives an error that is a nil pointer.
		return String(fmt.Sprint(t))
	default:
		return viaJSON(t, depth)
	}
}

// number keeps what JSON can express.
func number(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Sprint(f)
	}
	return f
}

func list(items []any, depth int) []any {
	out := make([]any, len(items))
	secretNext := false
	for i, item := range items {
		text, isText := item.(string)
		isFlag := isText && isSecretFlag(text)
		switch {
		case isFlag:
			out[i] = text
		case secretNext:
			out[i] = Marker
		default:
			out[i] = value(item, depth-1)
		}
		secretNext = isFlag
	}
	return out
}

func object(fields map[string]any, depth int) map[string]any {
	out := make(map[string]any, len(fields))
	// In order, so that two keys that become equal give the same result each time.
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if sensitive(name) {
			out[String(name)] = Marker
			continue
		}
		out[String(name)] = value(fields[name], depth-1)
	}
	return out
}

// viaJSON treats structs, typed maps and lists, and numbers of other types.
func viaJSON(v any, depth int) any {
	text, err := json.Marshal(v)
	if err != nil {
		return String(fmt.Sprintf("%T", v))
	}
	var plain any
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&plain); err != nil {
		return String(fmt.Sprintf("%T", v))
	}
	return value(plain, depth)
}
