package strictyaml

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	tagString    = "!!str"
	tagBool      = "!!bool"
	tagInt       = "!!int"
	tagFloat     = "!!float"
	tagTimestamp = "!!timestamp"
	tagMerge     = "!!merge"
)

// visit is a node checked against a type. Anchored nodes are met again through each alias; once is enough, also where an anchor
// contains itself.
type visit struct {
	node  *yaml.Node
	shape reflect.Type
}

type checker struct {
	file    string
	options Options

	seen     map[visit]bool
	expanded map[*yaml.Node]bool // whether the node had anything to expand; expanding twice would be wrong
	faults   []error
}

func (c *checker) fault(node *yaml.Node, format string, args ...any) {
	c.faults = append(c.faults, &Error{File: c.file, Line: node.Line, Text: fmt.Sprintf(format, args...)})
}

// node checks one value. path is the dotted name of the value, for errors.
func (c *checker) node(node *yaml.Node, shape reflect.Type, path string) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for shape.Kind() == reflect.Pointer {
		shape = shape.Elem()
	}
	key := visit{node, shape}
	if c.seen[key] || isNull(node) {
		return
	}
	c.seen[key] = true
	switch shape.Kind() {
	case reflect.Struct, reflect.Map:
		c.mapping(node, shape, path)
	case reflect.Slice:
		c.sequence(node, shape, path)
	case reflect.Interface:
		c.free(node, path)
	default:
		c.scalar(node, shape, path)
	}
}

func (c *checker) mapping(node *yaml.Node, shape reflect.Type, path string) {
	if node.Kind != yaml.MappingNode {
		c.fault(node, "%s must be a mapping of keys to values", name(path))
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Tag == tagMerge {
			c.merged(value, shape, path)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			c.fault(key, "a key of %s must be plain text", name(path))
			continue
		}
		if first, twice := lines[key.Value]; twice {
			c.fault(key, "key %q is given twice in %s, first at line %d", key.Value, name(path), first)
			continue
		}
		lines[key.Value] = key.Line
		key.Tag = tagString
		if valueShape, known := member(shape, key.Value); known {
			c.node(value, valueShape, join(path, key.Value))
		} else {
			c.fault(key, "unknown key %q in %s: known are %s", key.Value, name(path), strings.Join(members(shape), ", "))
		}
	}
}

// merged checks what `<<` brings in: one mapping or a list of them.
func (c *checker) merged(value *yaml.Node, shape reflect.Type, path string) {
	if value.Kind != yaml.SequenceNode {
		c.node(value, shape, path)
		return
	}
	for _, each := range value.Content {
		c.node(each, shape, path)
	}
}

func (c *checker) sequence(node *yaml.Node, shape reflect.Type, path string) {
	if node.Kind != yaml.SequenceNode {
		c.fault(node, "%s must be a list", name(path))
		return
	}
	for i, each := range node.Content {
		c.node(each, shape.Elem(), fmt.Sprintf("%s[%d]", path, i))
	}
}

var (
	freeMap  = reflect.TypeFor[map[string]any]()
	freeList = reflect.TypeFor[[]any]()
)

// free checks a value of any shape. It must be expressible in JSON.
func (c *checker) free(node *yaml.Node, path string) {
	switch {
	case node.Kind == yaml.MappingNode:
		c.mapping(node, freeMap, path)
	case node.Kind == yaml.SequenceNode:
		c.sequence(node, freeList, path)
	case c.expand(node, path) || node.Tag == tagTimestamp || c.options.Text:
		node.Tag = tagString
	case node.Tag == tagFloat && strings.ContainsAny(node.Value, "nN"):
		c.fault(node, "%s must be a finite number", name(path))
	}
}

func (c *checker) scalar(node *yaml.Node, shape reflect.Type, path string) {
	if node.Kind != yaml.ScalarNode {
		c.fault(node, "%s must be a single value", name(path))
		return
	}
	expanded := c.expand(node, path)
	if c.options.Text || shape.Kind() == reflect.String {
		node.Tag = tagString
		return
	}
	if expanded {
		node.Tag = "" // what the variable holds decides, as if it stood in the file
	}
	want, words := scalarTags(shape.Kind())
	if !strings.Contains(want, node.ShortTag()) || node.ShortTag() == "" {
		c.fault(node, "%s must be %s", name(path), words)
	}
}

func scalarTags(kind reflect.Kind) (tags, words string) {
	switch kind {
	case reflect.Bool:
		return tagBool, "true or false"
	case reflect.Float32, reflect.Float64:
		return tagInt + tagFloat, "a number"
	default:
		return tagInt, "a whole number"
	}
}

// member is the type of a key's value.
func member(shape reflect.Type, key string) (reflect.Type, bool) {
	if shape.Kind() == reflect.Map {
		return shape.Elem(), true
	}
	for field := range shape.Fields() {
		if tag, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); tag == key && tag != "" && tag != "-" {
			return field.Type, true
		}
	}
	return nil, false
}

func members(shape reflect.Type) []string {
	var keys []string
	for field := range shape.Fields() {
		if tag, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); tag != "" && tag != "-" {
			keys = append(keys, tag)
		}
	}
	return keys
}

func name(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
