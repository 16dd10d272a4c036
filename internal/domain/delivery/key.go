package delivery

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a key's parts, in bytes. Names are search attributes, which Temporal bounds; a directory is a path.
const (
	MaxNameBytes      = 255
	MaxDirectoryBytes = 4096
)

// Key names one connection: an MCP server's name in a directory of a workspace.
type Key struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	// Directory is absolute, cleaned, with symlinks resolved: the engine knows a directory by this form.
	Directory string `json:"directory"`
}

// String is the key in the form that people read. It is no identifier: parts are not escaped.
func (k Key) String() string { return k.Workspace + "/" + k.Name + " in " + k.Directory }

// KeyError says which part of a key cannot be used, and why. It quotes no value: one may hold what a terminal obeys.
type KeyError struct {
	// Part is workspace, name or directory.
	Part    string
	Problem string
}

func (e *KeyError) Error() string { return e.Part + " " + e.Problem }

// Validate reports the first part that cannot be used, as a [*KeyError]. An empty directory is none of its business.
func (k Key) Validate() error {
	for _, part := range []struct {
		name, value string
		most        int
		mayBeEmpty  bool
	}{
		{"workspace", k.Workspace, MaxNameBytes, false},
		{"name", k.Name, MaxNameBytes, false},
		{"directory", k.Directory, MaxDirectoryBytes, true},
	} {
		if problem := problemOf(part.value, part.most, part.mayBeEmpty); problem != "" {
			return &KeyError{Part: part.name, Problem: problem}
		}
	}
	return nil
}

func problemOf(value string, most int, mayBeEmpty bool) string {
	switch {
	case value == "" && mayBeEmpty:
		return ""
	case len(value) > most:
		return fmt.Sprintf("is longer than %d bytes", most)
	case !utf8.ValidString(value):
		return "is no valid UTF-8"
	case strings.TrimSpace(value) == "":
		return "is blank"
	case strings.ContainsFunc(value, unicode.IsControl):
		return "holds control characters, such as a line break"
	default:
		return ""
	}
}
