package engineapi_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

func TestEventDataComesBackHoweverItIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[a-z{}": ]{0,40}`)
		var stream strings.Builder
		var want []string
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end")
			lines := rapid.SliceOfN(line, 1, 4).Draw(t, "lines")
			for _, text := range lines {
				stream.WriteString(rapid.SampledFrom([]string{"", ": comment" + end, "id: 7" + end, "event: x" + end}).Draw(t, "other"))
				stream.WriteString("data: " + text + end)
			}
			stream.WriteString(end)
			want = append(want, strings.Join(lines, "\n"))
		}
		stream.WriteString(rapid.SampledFrom([]string{"", "data: cut off\n", "data: cut"}).Draw(t, "rest"))
		var source io.Reader = strings.NewReader(stream.String())
		if rapid.Bool().Draw(t, "byte by byte") {
			source = iotest.OneByteReader(source)
		}

		got, err := engineapi.ReadData(source)

		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, want, got)
	})
}

func FuzzEventStreamNeverPanics(f *testing.F) {
	f.Add("data: {}\n\n")
	f.Add("data\n\ndata:\r\n\r\n:\n")
	f.Fuzz(func(t *testing.T, text string) {
		data, err := engineapi.ReadData(strings.NewReader(text))
		require.ErrorIs(t, err, io.EOF)
		require.LessOrEqual(t, len(data), strings.Count(text, "data:"))
	})
}
