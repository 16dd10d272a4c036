package desired

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical is the one JSON text for v: compact, object keys in UTF-16 order,
// numbers and strings written as JavaScript writes them. Numbers are IEEE
// doubles, so integers beyond 2^53 lose digits. What encoding/json cannot write
// is an error.
func Canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write canonical JSON: %w", err)
	}
	var plain any
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&plain); err != nil {
		return nil, fmt.Errorf("write canonical JSON: %w", err)
	}
	var b bytes.Buffer
	if err := writeCanonical(&b, plain); err != nil {
		return nil, fmt.Errorf("write canonical JSON: %w", err)
	}
	return b.Bytes(), nil
}

func writeCanonical(b *bytes.Buffer, v any) error {
	switch t := v.(type) {
	case []any:
		return writeArray(b, t)
	case map[string]any:
		return writeObject(b, t)
	case string:
		writeString(b, t)
		return nil
	case float64:
		if t == 0 {
			t = math.Copysign(0, 1) // JavaScript writes -0 as 0
		}
		v = t
	}
	text, err := json.Marshal(v)
	b.Write(text)
	return err
}

func writeArray(b *bytes.Buffer, items []any) error {
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeCanonical(b, item); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func writeObject(b *bytes.Buffer, fields map[string]any) error {
	b.WriteByte('{')
	for i, name := range slices.SortedFunc(maps.Keys(fields), compareUTF16) {
		if i > 0 {
			b.WriteByte(',')
		}
		writeString(b, name)
		b.WriteByte(':')
		if err := writeCanonical(b, fields[name]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// compareUTF16 differs from the order of bytes where a character beyond the
// basic plane meets one from U+E000 on.
func compareUTF16(x, y string) int {
	return cmp.Or(slices.Compare(utf16.Encode([]rune(x)), utf16.Encode([]rune(y))), strings.Compare(x, y))
}

// writeString escapes what JavaScript escapes and nothing more.
func writeString(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if r < ' ' {
				fmt.Fprintf(b, `\u%04x`, r)
				continue
			}
			b.Write(utf8.AppendRune(nil, r))
		}
	}
	b.WriteByte('"')
}
