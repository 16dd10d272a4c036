package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// laterTag marks a member whose value is an object of another's: whoever reads it refuses what it gives twice, in the words for it.
const laterTag = "checked"

// exact refuses what two readers of a body could understand differently, and the decoder takes: a member whose name differs from the
// body's own in case alone, and one that is given twice. The body is valid JSON, and of the type's shape.
func exact(body json.RawMessage, into any) error {
	reader := exactReader{json.NewDecoder(bytes.NewReader(body))}
	return reader.value("The body", reflect.TypeOf(into))
}

type exactReader struct{ tokens *json.Decoder }

// value reads one value of a type; a type that is no struct says nothing of names. The decoder bounds how deep it is nested.
func (r exactReader) value(place string, t reflect.Type) error {
	token, err := r.tokens.Token()
	if err != nil {
		return fail(CodeInvalidJSON).because(err)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
	case json.Delim('{'):
		err = r.object(place, t)
	case json.Delim('['):
		err = r.array(place, t)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := r.tokens.Token(); err != nil { // the closing bracket
		return fail(CodeInvalidJSON).because(err)
	}
	return nil
}

func (r exactReader) array(place string, t reflect.Type) error {
	for r.tokens.More() {
		if err := r.value(place, inside(t)); err != nil {
			return err
		}
	}
	return nil
}

func (r exactReader) object(place string, t reflect.Type) error {
	names, own := ownMembers(t)
	seen := map[string]bool{}
	for r.tokens.More() {
		token, err := r.tokens.Token()
		name, isText := token.(string)
		if err != nil || !isText {
			return fail(CodeInvalidJSON).because(err)
		}
		field, known := own[name]
		switch {
		case seen[name]:
			return failf(CodeInvalidPayload, "%s has a member twice: %s.", place, legible(name))
		case !known && slices.ContainsFunc(names, func(each string) bool { return strings.EqualFold(each, name) }):
			return failf(CodeInvalidPayload, "%s", notKnown(place, legible(name), names))
		}
		seen[name] = true
		if err := r.member(place, name, field, inside(t)); err != nil {
			return err
		}
	}
	return nil
}

// member reads the value of a member: that of a field, or one of another type where there is no field for it.
func (r exactReader) member(place, name string, field reflect.StructField, other reflect.Type) error {
	switch {
	case field.Type == nil:
		return r.value(place, other)
	case field.Tag.Get(laterTag) != "":
		var passed json.RawMessage
		if err := r.tokens.Decode(&passed); err != nil {
			return fail(CodeInvalidJSON).because(err)
		}
		return nil
	default:
		return r.value(name, field.Type)
	}
}

// inside is the type of what a list or a map holds; for any other type one that says nothing.
func inside(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		return t.Elem()
	}
	return of[json.RawMessage]()
}

// ownMembers are those of a struct, in its order; another type has none.
func ownMembers(t reflect.Type) (names []string, fields map[string]reflect.StructField) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, nil
	}
	fields = map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names, fields[name] = append(names, name), field
		}
	}
	return names, fields
}

// notKnown says which member there is none of, and which there are.
func notKnown(place, quoted string, names []string) string {
	own := "none"
	if len(names) > 0 {
		own = strings.Join(names, ", ")
	}
	return fmt.Sprintf("%[1]s has a member that is not known: %[2]s. %[1]s's own are %[3]s: see /openapi.json.", place, quoted, own)
}
