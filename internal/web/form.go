package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
)

const (
	maxFields  = 100
	maxOptions = 500
	// areaAbove is from how many characters on a text is written into an area.
	areaAbove = 160
)

// The kinds of fields.
const (
	fieldText   = "text"
	fieldArea   = "area"
	fieldNumber = "number"
	fieldYesNo  = "boolean"
	fieldOne    = "one"  // of several options
	fieldMany   = "many" // of several options
	fieldJSON   = "json" // what no other kind fits
)

// option is one of those that can be chosen.
type option struct {
	// Value is the option's JSON; Title what people read.
	Value, Title string
}

// field is one field of a form.
type field struct {
	Name, Title, About string
	Kind               string
	Type               string // of a text's input element: text, email, url, date, datetime-local, password
	Required           bool
	Min, Max           string // of a number; empty: none
	Integer            bool
	MinLength          int
	MaxLength          int // 0: none
	MinItems           int
	MaxItems           int // 0: none
	Options            []option
	format             string

	// Values are those that the form shows: the defaults, or what somebody has sent. Problem is what is wrong with them.
	Values  []string
	Problem string
}

// ID is unique on the page.
func (f field) ID() string { return "field-" + f.Name }

// property is what a schema says of one field.
type property struct {
	Type        string            `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Format      string            `json:"format"`
	Default     json.RawMessage   `json:"default"`
	Enum        []json.RawMessage `json:"enum"`
	EnumNames   []string          `json:"enumNames"`
	OneOf       []choice          `json:"oneOf"`
	AnyOf       []choice          `json:"anyOf"`
	Minimum     json.Number       `json:"minimum"`
	Maximum     json.Number       `json:"maximum"`
	MinLength   int               `json:"minLength"`
	MaxLength   int               `json:"maxLength"`
	MinItems    int               `json:"minItems"`
	MaxItems    int               `json:"maxItems"`
	Items       *property         `json:"items"`
}

type choice struct {
	Const json.RawMessage `json:"const"`
	Title string          `json:"title"`
}

// fieldsOf makes the fields of a schema, in its order. A schema without properties has none.
func fieldsOf(schema json.RawMessage) ([]field, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var shape struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &shape); err != nil {
		return nil, errors.New("the schema of the form cannot be read")
	}
	names, values, err := inOrder(shape.Properties)
	if err != nil {
		return nil, err
	}
	fields := make([]field, 0, len(names))
	for i, name := range names {
		var p property
		if json.Unmarshal(values[i], &p) != nil {
			p = property{} // of a shape that is not known: any JSON
		}
		f := p.field(name)
		f.Required = slices.Contains(shape.Required, name)
		fields = append(fields, f)
	}
	return fields, nil
}

// inOrder reads an object's members in the order in which they are written.
func inOrder(object json.RawMessage) (names []string, values []json.RawMessage, err error) {
	if len(object) == 0 || string(object) == "null" {
		return nil, nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, nil, errors.New("the properties of the form cannot be read")
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, nil, errors.New("the properties of the form cannot be read")
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, nil, errors.New("the properties of the form cannot be read")
		}
		if len(names) == maxFields {
			return nil, nil, errors.New("the form has too many fields to be shown")
		}
		text, _ := name.(string)
		names, values = append(names, text), append(values, value)
	}
	return names, values, nil
}

func (p property) field(name string) field {
	f := field{Name: name, Title: p.Title, About: p.Description, format: p.Format}
	if f.Title == "" {
		f.Title = name
	}
	f.Options = p.options()
	switch {
	case len(f.Options) > 0:
		f.Kind = fieldOne
	case p.Type == "array" && p.Items != nil && len(p.Items.options()) > 0:
		f.Kind, f.Options, f.MinItems, f.MaxItems = fieldMany, p.Items.options(), p.MinItems, p.MaxItems
	case p.Type == "boolean":
		f.Kind = fieldYesNo
	case p.Type == "number" || p.Type == "integer":
		f.Kind, f.Min, f.Max, f.Integer = fieldNumber, p.Minimum.String(), p.Maximum.String(), p.Type == "integer"
	case p.Type == "string":
		f.Kind, f.Type, f.MinLength, f.MaxLength = fieldText, inputType(p.Format), p.MinLength, p.MaxLength
		if p.MaxLength > areaAbove && p.Format == "" {
			f.Kind = fieldArea
		}
	default:
		f.Kind = fieldJSON
	}
	f.Values = f.defaults(p.Default)
	return f
}

// options are those of an enumeration, in any of the forms that schemas write it in.
func (p property) options() []option {
	var all []option
	for i, value := range p.Enum {
		one := option{Value: compact(value), Title: plain(value)}
		if i < len(p.EnumNames) && p.EnumNames[i] != "" {
			one.Title = p.EnumNames[i]
		}
		all = append(all, one)
	}
	for _, each := range append(slices.Clone(p.OneOf), p.AnyOf...) {
		if len(each.Const) == 0 {
			return nil // not an enumeration
		}
		one := option{Value: compact(each.Const), Title: each.Title}
		if one.Title == "" {
			one.Title = plain(each.Const)
		}
		all = append(all, one)
	}
	return all[:min(len(all), maxOptions)]
}

func inputType(format string) string {
	switch format {
	case "email":
		return "email"
	case "uri":
		return "url"
	case "date":
		return "date"
	case "password":
		return "password"
	default:
		return "text"
	}
}

// defaults are the values of the schema as the form's elements write them.
func (f field) defaults(value json.RawMessage) []string {
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	switch f.Kind {
	case fieldMany:
		var many []json.RawMessage
		if json.Unmarshal(value, &many) != nil {
			return nil
		}
		var all []string
		for _, one := range many {
			all = append(all, compact(one))
		}
		return all
	case fieldOne, fieldJSON:
		return []string{compact(value)}
	default:
		return []string{plain(value)}
	}
}

// compact writes a value in one way, so that equal ones are equal texts.
func compact(value json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return ""
	}
	return out.String()
}

// plain is a text without its quotes, and any other value as it is written.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return compact(value)
}

// Value is the one value that the form shows.
func (f field) Value() string {
	if len(f.Values) == 0 {
		return ""
	}
	return f.Values[0]
}

// Hint says within which limits a value has to be.
func (f field) Hint() string {
	limits := func(low, high, unit string) string {
		switch {
		case low != "" && high != "":
			return low + " to " + high + unit
		case low != "":
			return "at least " + low + unit
		case high != "":
			return "at most " + high + unit
		default:
			return ""
		}
	}
	number := func(n int) string {
		if n <= 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	switch f.Kind {
	case fieldNumber:
		unit := ""
		if f.Integer {
			unit = ", a whole number"
		}
		if hint := limits(f.Min, f.Max, unit); hint != "" || !f.Integer {
			return hint
		}
		return "a whole number"
	case fieldText, fieldArea:
		return limits(number(f.MinLength), number(f.MaxLength), " characters")
	case fieldMany:
		return limits(number(f.MinItems), number(f.MaxItems), " choices")
	case fieldJSON:
		return "as JSON"
	default:
		return ""
	}
}
