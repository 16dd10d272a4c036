package wire

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// golden is beside the package under test.
var golden = filepath.Join("testdata", "wire.golden")

// Golden holds lines, and the JSON fields of messages and of all structs below them, against the file of the package under test. The
// order does not matter.
func Golden(tb testing.TB, lines []string, messages ...any) {
	tb.Helper()
	want, err := os.ReadFile(golden)
	require.NoError(tb, err)
	lines = slices.Clone(lines)
	seen := map[reflect.Type]bool{}
	for _, message := range messages {
		lines = append(lines, fields(reflect.TypeOf(message), seen)...)
	}
	slices.Sort(lines)
	require.Equal(tb, string(want), strings.Join(lines, "\n")+"\n")
}

// fields lists the JSON fields of a struct and of all structs below it, each as "type.field kind".
func fields(of reflect.Type, seen map[reflect.Type]bool) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() || seen[of] {
		return nil
	}
	seen[of] = true
	var lines []string
	for field := range of.Fields() {
		lines = append(lines, fields(field.Type, seen)...)
		if field.Anonymous {
			lines = append(lines, of.String()+" embeds "+field.Type.String())
			continue
		}
		lines = append(lines, of.String()+"."+field.Tag.Get("json")+" "+field.Type.String())
	}
	return lines
}
