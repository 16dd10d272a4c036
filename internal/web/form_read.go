package web

import (
	"encoding/json"
	"math/big"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

// fieldPrefix keeps the fields of a tool's form apart from the page's own.
const fieldPrefix = "f."

// Input is the name under which the form sends a field.
func (f field) Input() string { return fieldPrefix + f.Name }

// readForm reads what a form has sent. Where ok is false, the fields tell what is wrong, and show what was sent.
func readForm(fields []field, form url.Values) (content json.RawMessage, filled []field, ok bool) {
	values := map[string]json.RawMessage{}
	filled, ok = slices.Clone(fields), true
	for i := range filled {
		f := &filled[i]
		f.Values = form[f.Input()]
		value, problem := f.read()
		switch {
		case problem != "":
			f.Problem, ok = problem, false
		case value != nil:
			values[f.Name] = value
		case f.Required:
			f.Problem, ok = "Give a value.", false
		}
	}
	if !ok {
		return nil, filled, false
	}
	content, err := json.Marshal(values)
	return content, filled, err == nil
}

// read is the value of a field, nil where none was given, or what is wrong with it.
func (f field) read() (value json.RawMessage, problem string) {
	text := f.Value()
	switch f.Kind {
	case fieldYesNo:
		return quoted(text == "true"), ""
	case fieldMany:
		return f.readMany()
	}
	if text == "" {
		return nil, ""
	}
	switch f.Kind {
	case fieldOne:
		if !f.offers(text) {
			return nil, "Choose one of the options."
		}
		return json.RawMessage(text), ""
	case fieldNumber:
		return f.readNumber(strings.TrimSpace(text))
	case fieldJSON:
		return readJSON(text)
	default:
		return f.readText(strings.ReplaceAll(text, "\r\n", "\n"))
	}
}

func (f field) offers(value string) bool {
	return slices.ContainsFunc(f.Options, func(o option) bool { return o.Value == value })
}

func (f field) readMany() (json.RawMessage, string) {
	chosen := []json.RawMessage{}
	for _, each := range f.Values {
		if !f.offers(each) {
			return nil, "Choose among the options."
		}
		chosen = append(chosen, json.RawMessage(each))
	}
	switch {
	case len(chosen) == 0 && !f.Required && f.MinItems == 0:
		return nil, ""
	case len(chosen) < max(f.MinItems, 0), f.MaxItems > 0 && len(chosen) > f.MaxItems:
		return nil, "Choose " + f.Hint() + "."
	default:
		return quoted(chosen), ""
	}
}

// readNumber keeps a number digit by digit as it was written.
func (f field) readNumber(text string) (json.RawMessage, string) {
	var number json.Number
	value, isNumber := exact(text)
	if !isNumber || json.Unmarshal([]byte(text), &number) != nil {
		return nil, "This is not a number."
	}
	if !sendable(text) {
		return nil, "This number is too large."
	}
	if f.Integer && !value.IsInt() {
		return nil, "This is not a whole number."
	}
	low, hasLow := exact(f.Min)
	high, hasHigh := exact(f.Max)
	if hasLow && value.Cmp(low) < 0 || hasHigh && value.Cmp(high) > 0 {
		return nil, "It has to be " + f.Hint() + "."
	}
	return json.RawMessage(text), ""
}

// readJSON refuses also what two readers could understand differently.
func readJSON(text string) (json.RawMessage, string) {
	switch _, err := policy.Canonical([]byte(text)); {
	case !json.Valid([]byte(text)):
		return nil, "This is not valid JSON."
	case err != nil:
		return nil, "This JSON can be understood in more than one way, or is nested too deep: give each name once."
	case !sendable(text):
		return nil, "A number in this JSON is too large."
	default:
		return json.RawMessage(text), ""
	}
}

// sendable reports whether the numbers in JSON are of a size that its reader can take.
func sendable(text string) bool {
	var value any
	return json.Unmarshal([]byte(text), &value) == nil
}

// exact reads a number of a length that people type; longer ones would take long to compare.
func exact(text string) (*big.Rat, bool) {
	if text == "" || len(text) > 40 {
		return nil, false
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 && len(text)-at > 5 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

func (f field) readText(text string) (json.RawMessage, string) {
	length := utf8.RuneCountInString(text)
	switch {
	case length < f.MinLength, f.MaxLength > 0 && length > f.MaxLength:
		return nil, "It has to have " + f.Hint() + "."
	case f.format == "email" && !isMail(text):
		return nil, "This is not an e-mail address."
	case f.format == "uri" && !isURI(text):
		return nil, "This is not a whole URL: write it with https:// in front."
	case f.format == "date" && !isTime(time.DateOnly, text):
		return nil, "This is not a date: write it as 2026-01-31."
	case f.format == "date-time" && !isTime(time.RFC3339, text):
		return nil, "This is not a time: write it as 2026-01-31T12:00:00Z."
	default:
		return quoted(text), ""
	}
}

func isMail(text string) bool {
	parsed, err := mail.ParseAddress(text)
	return err == nil && parsed.Address == text
}

func isURI(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && parsed.IsAbs() && (parsed.Host != "" || parsed.Opaque != "" || parsed.Path != "")
}

func isTime(layout, text string) bool {
	_, err := time.Parse(layout, text)
	return err == nil
}

func quoted(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return raw
}
