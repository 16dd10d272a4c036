package text_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/text"
)

func TestWhatIsNotSeenIsShown(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"äöü 漢字 😀 \\u001b": "äöü 漢字 😀 \\u001b", "a\tb\nc\r\nd": "a\tb\nc\r\nd",
		"a\rb": `a\u000db`, "\x1b[2J\a\x00\x7f": `\u001b[2J\u0007\u0000\u007f`, "\u0080\u009b\u009f": `\u0080\u009b\u009f`,
		"\u200e\u200f\u202a\u202e\u2066\u2069": `\u200e\u200f\u202a\u202e\u2066\u2069`, "\u200b\u2028\u2029\ufeff\u00ad": `\u200b\u2028\u2029\ufeff\u00ad`,
		"\U000e0041\U000f0000\ue000": `\udb40\udc41\udb80\udc00\ue000`, "\x9b\xff": "\uFFFD",
	} {
		require.Equal(t, want, text.Visible(given))
	}
}

func TestJSONStaysJSONOfTheSameValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.String().Draw(t, "text")
		raw, err := json.Marshal(given)
		require.NoError(t, err)
		var back string
		shown := text.Visible(string(raw))
		require.True(t, utf8.ValidString(shown))
		require.NoError(t, json.Unmarshal([]byte(shown), &back))
		require.Equal(t, given, back)
		require.Equal(t, shown, text.Visible(shown))
	})
}
