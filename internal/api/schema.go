package api

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// schema is a JSON Schema as OpenAPI 3.1 has it.
type schema map[string]any

// enums are the types of text with few values.
var enums = map[reflect.Type][]string{
	of[auth.Role]():          texts(auth.Roles()),
	of[delivery.State]():     stateNames(),
	of[desired.Profile]():    {string(desired.ProfileOpenWork), string(desired.ProfileGeneric)},
	of[store.IntentKind]():   {string(store.IntentEnabled), string(store.IntentDisabled), string(store.IntentRemoved)},
	of[Code]():               texts(Codes()),
	of[desired.SourceKind](): {"literal", "env", "file", "client_credentials", "refresh_token"},
	of[health.Phase]():       nil, // grows with the failures: readers must take new ones
}

func texts[T ~string](values []T) []string {
	plain := make([]string, 0, len(values))
	for _, v := range values {
		plain = append(plain, string(v))
	}
	return plain
}

func stateNames() []string { return texts(delivery.States()) }

// schemas makes schemas of Go types, from the same tags that the encoder goes by: what is answered and what is documented cannot
// differ.
type schemas struct {
	named map[string]schema
	types map[string]reflect.Type
}

func newSchemas() *schemas {
	return &schemas{named: map[string]schema{}, types: map[string]reflect.Type{}}
}

// of is the schema of a type; structs are put among the named ones.
func (s *schemas) of(t reflect.Type) (schema, error) {
	switch {
	case t == of[time.Time]():
		return schema{"type": "string", "format": "date-time"}, nil
	case t == of[json.RawMessage](), t.Kind() == reflect.Interface:
		return schema{}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		made := schema{"type": "string"}
		if values := enums[t]; len(values) > 0 {
			made["enum"] = values
		}
		return made, nil
	case reflect.Bool:
		return schema{"type": "boolean"}, nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return schema{"type": "integer"}, nil
	case reflect.Float64:
		return schema{"type": "number"}, nil
	case reflect.Slice:
		items, err := s.of(t.Elem())
		return schema{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := s.of(t.Elem())
		return schema{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return s.reference(t)
	default:
		return nil, fmt.Errorf("make schema: %s has no form in JSON", t)
	}
}

// reference names a struct and describes it once.
func (s *schemas) reference(t reflect.Type) (schema, error) {
	if t.Implements(of[json.Marshaler]()) || t.Implements(of[encoding.TextMarshaler]()) || t.Name() == "" {
		return nil, fmt.Errorf("make schema: %s has no name, or writes itself", t)
	}
	name := s.name(t)
	link := schema{"$ref": "#/components/schemas/" + name}
	if _, known := s.named[name]; known {
		return link, nil
	}
	made := schema{"type": "object"}
	s.named[name] = made // before its fields: a type may hold itself
	properties, required := schema{}, []string{}
	if err := s.fields(t, properties, &required); err != nil {
		return nil, err
	}
	made["properties"] = properties
	if len(required) > 0 {
		slices.Sort(required)
		made["required"] = required
	}
	return link, nil
}

// name is the type's own with a capital; where two packages have the same, the later one is told apart by its package.
func (s *schemas) name(t reflect.Type) string {
	name := title(t.Name())
	if other, taken := s.types[name]; taken && other != t {
		path := t.PkgPath()
		name = title(path[strings.LastIndex(path, "/")+1:]) + name
	}
	s.types[name] = t
	return name
}

func (s *schemas) fields(t reflect.Type, properties schema, required *[]string) error {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			if err := s.fields(field.Type, properties, required); err != nil {
				return err
			}
			continue
		}
		if !field.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		made, err := s.field(field)
		if err != nil {
			return err
		}
		properties[name] = made
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
	return nil
}

func (s *schemas) field(field reflect.StructField) (schema, error) {
	if shape := field.Tag.Get("shape"); shape != "" {
		return schema{"type": shape}, nil
	}
	made, err := s.of(field.Type)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field.Name, err)
	}
	if values := field.Tag.Get("enum"); values != "" {
		made["enum"] = strings.Split(values, ",")
	}
	// What the encoder leaves out is never null.
	_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	nullable := field.Type.Kind() == reflect.Pointer || field.Type.Kind() == reflect.Map || field.Type.Kind() == reflect.Slice
	if !nullable || strings.Contains(options, "omitempty") || len(made) == 0 {
		return made, nil
	}
	return schema{"anyOf": []schema{made, {"type": "null"}}}, nil
}

// title turns mark-stale into MarkStale.
func title(text string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(text, "-") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}
