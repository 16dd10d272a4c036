package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Lookup gives the value of a variable and whether it is set.
type Lookup func(name string) (string, bool)

// Options say how values are read.
type Options struct {
	// Lookup expands ${NAME} inside scalar values; $$ stands for one dollar sign. nil leaves values as they are.
	Lookup Lookup
	// Text reads every scalar as the text that stands in the file, whatever type it looks like.
	Text bool
}

// Error is one refusal.
type Error struct {
	File string
	Line int // from 1; 0 when the whole file is meant
	Text string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// Document is one checked document of a file.
type Document struct {
	file string
	root *yaml.Node
}

// Documents parses data, checks every document that is not empty against shape (a pointer to, or a value of, the Go type that the
// document must fit), and expands variables. The error joins an *Error for each fault found.
func Documents(file string, data []byte, shape any, options Options) ([]Document, error) {
	roots, err := parse(file, data, options)
	if err != nil {
		return nil, err
	}
	check := &checker{file: file, options: options, seen: map[visit]bool{}, expanded: map[*yaml.Node]bool{}}
	documents := make([]Document, 0, len(roots))
	for _, root := range roots {
		check.node(root, reflect.TypeOf(shape), "")
		documents = append(documents, Document{file: file, root: root})
	}
	if err := errors.Join(check.faults...); err != nil {
		return nil, err
	}
	return documents, nil
}

// Decode stores the document in out, a pointer.
func (d Document) Decode(out any) error {
	if err := d.root.Decode(out); err != nil {
		return &Error{File: d.file, Line: lineOf(err, d.root.Line), Text: "a value does not fit its key"}
	}
	return nil
}

func parse(file string, data []byte, options Options) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var roots []*yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			text := "not valid YAML: " + syntax(err)
			if options.Lookup != nil && bytes.Contains(data, []byte("${")) {
				text += ": inside { } a value with ${NAME} needs quotes"
			}
			return nil, &Error{File: file, Line: lineOf(err, 0), Text: text}
		}
		if document.Kind == yaml.DocumentNode && len(document.Content) == 1 && !isNull(document.Content[0]) {
			roots = append(roots, document.Content[0])
		}
	}
}

var (
	linePattern   = regexp.MustCompile(`line (\d+)`)
	syntaxPattern = regexp.MustCompile(`^yaml: (?:line \d+: )?((?:[a-z ,]|'[^\w']'|<[a-z ]+>)+)`)
)

// syntax keeps the leading words of the parser's complaint: what follows them may quote the file.
func syntax(err error) string {
	if found := syntaxPattern.FindStringSubmatch(err.Error()); found != nil {
		return strings.TrimSpace(found[1])
	}
	return "it cannot be parsed"
}

func lineOf(err error, otherwise int) int {
	if found := linePattern.FindStringSubmatch(err.Error()); found != nil {
		if line, convErr := strconv.Atoi(found[1]); convErr == nil {
			return line
		}
	}
	return otherwise
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.Tag == "!!null"
}

// ReadFile reads path, refusing what is larger than limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &Error{File: path, Text: fmt.Sprintf("is larger than %d bytes", limit)}
	}
	return data, nil
}
