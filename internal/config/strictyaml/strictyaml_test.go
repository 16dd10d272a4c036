package strictyaml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/config/strictyaml"
)

type shape struct {
	Name  string         `yaml:"name"`
	Count int            `yaml:"count"`
	Share float64        `yaml:"share"`
	On    *bool          `yaml:"on"`
	Free  any            `yaml:"free"`
	Parts []part         `yaml:"parts"`
	Texts map[string]int `yaml:"texts"`
}

type part struct {
	Name string `yaml:"name"`
}

func TestValuesFitTheirTypes(t *testing.T) {
	t.Parallel()
	set := true
	read := decodeOne(t, "name: 012\ncount: 7\nshare: 1\non: true\nfree: {a: [1, x, null, 2026-01-01], 5: b}\nparts: [{name: p}]\ntexts: {a: 1}\n")
	require.Equal(t, shape{
		Name: "012", Count: 7, Share: 1, On: &set,
		Free:  map[string]any{"a": []any{1, "x", nil, "2026-01-01"}, "5": "b"},
		Parts: []part{{Name: "p"}}, Texts: map[string]int{"a": 1},
	}, read)
}

func TestAKeyWithoutAValueLeavesTheField(t *testing.T) {
	t.Parallel()
	require.Zero(t, decodeOne(t, "name:\ncount: ~\non: null\nfree:\nparts:\ntexts:\n"))
}

func TestEmptyDocumentsAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing\n", "---\n---\n", "~\n"} {
		documents, err := strictyaml.Documents("f", []byte(text), shape{}, strictyaml.Options{})
		require.NoError(t, err)
		require.Empty(t, documents, "%q", text)
	}
}

func TestEveryFaultOfEveryDocumentIsReported(t *testing.T) {
	t.Parallel()
	text := "name: [a]\ncount: 1.5\nshare: x\non: 1\n---\nparts:\n  - {nam: s3cr3t}\n  - [s3cr3t]\ntexts: {a: s3cr3t}\n[k]: v\n"
	_, err := strictyaml.Documents("f.yaml", []byte(text), shape{}, strictyaml.Options{})
	require.Error(t, err)
	require.Equal(t, []string{
		"f.yaml:1: name must be a single value",
		"f.yaml:2: count must be a whole number",
		"f.yaml:3: share must be a number",
		"f.yaml:4: on must be true or false",
		`f.yaml:7: unknown key "nam" in parts[0]: known are name`,
		"f.yaml:8: parts[1] must be a mapping of keys to values",
		"f.yaml:9: texts.a must be a whole number",
		"f.yaml:10: a key of the document must be plain text",
	}, strings.Split(err.Error(), "\n"))
	var first *strictyaml.Error
	require.ErrorAs(t, err, &first)
	require.Equal(t, 1, first.Line)
}

func TestAFileOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
	data, err := strictyaml.ReadFile(path, 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(data))
	_, err = strictyaml.ReadFile(path, 4)
	require.ErrorContains(t, err, "larger than 4 bytes")
}

func TestVariablesStandForTheirValues(t *testing.T) {
	t.Parallel()
	values := lookup(map[string]string{"A": "1", "_b2": "$${A}", "EMPTY": ""})
	for _, tc := range []struct{ text, want string }{
		{"plain", "plain"},
		{"${A}${A}", "11"},
		{"<${_b2}>", "<$${A}>"},
		{"${EMPTY}", ""},
		{"$$", "$"},
		{"$${A}", "${A}"},
		{"$$${A}", "$1"},
		{"$A $1 a$", "$A $1 a$"},
	} {
		got, _, err := strictyaml.Expand(tc.text, values)
		require.NoError(t, err, tc.text)
		require.Equal(t, tc.want, got, tc.text)
	}
	for _, text := range []string{"${NONE}", "${}", "${A", "${1}", "${A:-x}"} {
		_, _, err := strictyaml.Expand(text, values)
		require.Error(t, err, text)
	}
}

func TestExpandingEscapedTextGivesTheTextBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a${}B_1 "))).Draw(t, "text")
		got, _, err := strictyaml.Expand(strings.ReplaceAll(text, "$", "$$"), lookup(nil))
		if err != nil || got != text {
			t.Fatalf("got %q, %v", got, err)
		}
	})
}

func decodeOne(t *testing.T, text string) shape {
	t.Helper()
	documents, err := strictyaml.Documents("f", []byte(text), shape{}, strictyaml.Options{})
	require.NoError(t, err)
	require.Len(t, documents, 1)
	var read shape
	require.NoError(t, documents[0].Decode(&read))
	return read
}

func lookup(values map[string]string) strictyaml.Lookup {
	return func(name string) (string, bool) {
		value, set := values[name]
		return value, set
	}
}
