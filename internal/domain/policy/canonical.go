package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is how deep JSON may be nested to be given a canonical form.
const MaxDepth = 100

// ErrNotCanonical is wrapped by every refusal of [Canonical].
var ErrNotCanonical = errors.New("not JSON that has one meaning")

// Canonical gives the one form of a JSON value: keys sorted by their bytes, no blanks, shortest escapes, numbers digit by digit as
// they came. What two readers could understand differently is refused: keys given twice, text that is no UTF-8, halves of surrogate
// pairs, anything after the value. So is what is nested deeper than [MaxDepth]. Errors quote nothing of the value.
func Canonical(value []byte) ([]byte, error) {
	if !utf8.Valid(value) {
		return nil, fmt.Errorf("%w: it is not UTF-8", ErrNotCanonical)
	}
	if hasLoneSurrogate(value) {
		return nil, fmt.Errorf("%w: it has half of a surrogate pair", ErrNotCanonical)
	}
	reader := &canonicalReader{tokens: json.NewDecoder(bytes.NewReader(value))}
	reader.tokens.UseNumber()
	out, err := reader.value(make([]byte, 0, len(value)), 0)
	if err != nil {
		return nil, err
	}
	if _, err := reader.tokens.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows the value", ErrNotCanonical)
	}
	return out, nil
}

type canonicalReader struct{ tokens *json.Decoder }

func (r *canonicalReader) value(out []byte, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("%w: it is nested deeper than %d", ErrNotCanonical, MaxDepth)
	}
	token, err := r.tokens.Token()
	if err != nil {
		return nil, fmt.Errorf("%w: it is not valid JSON", ErrNotCanonical)
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return r.object(out, depth)
		}
		return r.array(out, depth)
	case string:
		return appendText(out, token), nil
	case json.Number:
		return append(out, token...), nil
	case bool:
		return strconv.AppendBool(out, token), nil
	default:
		return append(out, "null"...), nil
	}
}

func (r *canonicalReader) array(out []byte, depth int) ([]byte, error) {
	out = append(out, '[')
	for n := 0; r.tokens.More(); n++ {
		if n > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = r.value(out, depth+1); err != nil {
			return nil, err
		}
	}
	return r.end(out, ']')
}

func (r *canonicalReader) object(out []byte, depth int) ([]byte, error) {
	members := map[string][]byte{}
	var keys []string
	for r.tokens.More() {
		token, err := r.tokens.Token()
		key, isText := token.(string)
		if err != nil || !isText {
			return nil, fmt.Errorf("%w: it is not valid JSON", ErrNotCanonical)
		}
		if _, twice := members[key]; twice {
			return nil, fmt.Errorf("%w: a key is given twice", ErrNotCanonical)
		}
		if members[key], err = r.value(nil, depth+1); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	out = append(out, '{')
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, key), ':')
		out = append(out, members[key]...)
	}
	return r.end(out, '}')
}

func (r *canonicalReader) end(out []byte, bracket byte) ([]byte, error) {
	if _, err := r.tokens.Token(); err != nil {
		return nil, fmt.Errorf("%w: it is not valid JSON", ErrNotCanonical)
	}
	return append(out, bracket), nil
}

// appendText escapes what JSON demands and nothing else.
func appendText(out []byte, text string) []byte {
	out = append(out, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ':
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// hasLoneSurrogate looks for what the decoder would silently replace. Escapes occur only inside of texts, so that it is enough to
// skip whatever else a backslash introduces.
func hasLoneSurrogate(value []byte) bool {
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			continue
		}
		unit := codeUnit(value[i:])
		switch {
		case unit < 0:
			i++
		case unit >= 0xdc00 && unit <= 0xdfff:
			return true
		case unit >= 0xd800 && unit <= 0xdbff:
			low := codeUnit(value[i+6:])
			if low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 11
		default:
			i += 5
		}
	}
	return false
}

// codeUnit is the code unit that a \uXXXX at the beginning of text stands for; -1: there is none.
func codeUnit(text []byte) int {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(unit)
}
