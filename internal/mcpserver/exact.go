package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
)

// exact reports whether a JSON object has each of the names at most once, and nothing that differs from one by its case alone. To
// encoding/json these are the same, and the last counts; whoever stands before the gateway may read another one. The object is valid.
func exact(object []byte, names ...string) bool {
	seen := make([]bool, len(names))
	for key := range topKeys(object) {
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key) })
		if i < 0 {
			continue
		}
		if seen[i] || names[i] != key {
			return false
		}
		seen[i] = true
	}
	return true
}

// topKeys gives the keys of a valid JSON object in their order, and none of what is within its values.
func topKeys(object []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		depth, isObject, expects := 0, false, false // a key is expected
		for i := 0; i < len(object); i++ {
			switch object[i] {
			case '{', '[':
				depth++
				isObject = isObject || depth == 1 && object[i] == '{'
				expects = depth == 1 && isObject
			case '}', ']':
				depth--
			case ',':
				expects = depth == 1 && isObject
			case '"':
				end := stringEnd(object, i)
				if expects && !yield(unquoted(object[i:end])) {
					return
				}
				i, expects = end-1, false
			}
		}
	}
}

// stringEnd is where a JSON string ends that begins at an index.
func stringEnd(text []byte, begin int) int {
	for i := begin + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func unquoted(text []byte) string {
	var key string
	if json.Unmarshal(text, &key) != nil {
		return ""
	}
	return key
}
