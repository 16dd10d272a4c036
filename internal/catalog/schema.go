package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const maxProblem = 300

var errNotObject = errors.New("they must be an object")

// validator is the compiled schema of a tool's arguments. nil takes every object: so does a schema that this program does not
// understand, since the tool itself has the last word.
type validator struct{ schema *jsonschema.Resolved }

func compile(raw json.RawMessage) (*validator, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if !strings.Contains(schema.Schema, "draft-07") {
		schema.Schema = "" // other drafts are close enough to the latest one
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve schema: %w", err)
	}
	return &validator{schema: resolved}, nil
}

// Fits says what keeps an object from fitting a schema, and quotes no value of it. No object is an empty one. A schema that this program
// does not understand takes every object.
func Fits(schema, object json.RawMessage) error {
	compiled, err := compile(schema)
	if err != nil {
		compiled = nil
	}
	return compiled.validate(object)
}

func (v *validator) validate(arguments json.RawMessage) error {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	var value any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return errors.New("they are not valid JSON")
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		return errNotObject
	}
	if v == nil {
		return nil
	}
	if err := v.schema.Validate(object); err != nil {
		return errors.New(problem(err))
	}
	return nil
}

// problem says what is wrong, and where. The library's own text quotes the values that it was given.
func problem(err error) string {
	place := ""
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		prefix := strings.TrimSuffix(err.Error(), inner.Error())
		if path, isPlace := strings.CutPrefix(strings.TrimSuffix(prefix, ": "), "validating "); isPlace {
			place = instancePath(path, place)
		}
		err = inner
	}
	words := wordsOf(err.Error())
	if place != "" {
		words = place + ": " + words
	}
	if len(words) > maxProblem {
		words = strings.ToValidUTF8(words[:maxProblem], "") + "…"
	}
	return words
}

func wordsOf(text string) string {
	keyword, rest, _ := strings.Cut(text, ":")
	after := func(mark string) string {
		if at := strings.LastIndex(rest, mark); at >= 0 {
			return rest[at+len(mark):]
		}
		return "something else"
	}
	switch {
	case keyword == "type":
		return "it must be " + strings.TrimPrefix(strings.TrimSpace(after(", want")), "one of ")
	case keyword == "required":
		return "it lacks " + strings.TrimSpace(after("missing properties:"))
	case keyword == "enum":
		return "it must be one of " + strings.TrimSpace(after("does not equal any of:"))
	case keyword == "const":
		return "it has another value than the only one allowed"
	case strings.HasPrefix(text, "unexpected additional properties"):
		return "it has properties that are not known: " + strings.TrimSpace(strings.TrimPrefix(text, "unexpected additional properties"))
	default:
		return "it does not fit " + keyword
	}
}

// instancePath turns the place in a schema into one in the arguments, where it can; otherwise it keeps what was known.
func instancePath(schema, otherwise string) string {
	parts := strings.Split(schema, "/")
	if parts[0] != "" {
		return otherwise
	}
	path := ""
	for i := 1; i < len(parts); i++ {
		switch parts[i] {
		case "properties":
			if i++; i < len(parts) {
				path += "." + strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i])
			}
		case "items", "prefixItems":
			path += "[]"
		}
	}
	if path == "" {
		return otherwise
	}
	return strings.TrimPrefix(path, ".")
}
