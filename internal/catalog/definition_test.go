package catalog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
)

func TestWhatIsWrongWithAFileIsNamedAndNotQuoted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{`{`, ": not JSON that has one meaning: it is not valid JSON"},
		{`{"servers":{}}`, `: it needs "mcpServers", an object of sources by name`},
		{`{"mcpServers":[]}`, `: it needs "mcpServers", an object of sources by name`},
		{`{"mcpServers":{"a":{"url":"http://a"},"a":{"url":"http://b"}}}`, ": not JSON that has one meaning: a key is given twice"},
		{`{"mcpServers":{"A.b":{"url":"http://a"}}}`, ": mcpServers.A.b: a source's name is 1 to 64 of a-z 0-9 _ -"},
		{`{"mcpServers":{"a":{}}}`, ": mcpServers.a: give url, or command"},
		{`{"mcpServers":{"a":7}}`, ": mcpServers.a: it must be an object"},
		{`{"mcpServers":{"a":{"url":"http://a","command":"b"}}}`, ": mcpServers.a: give url or command, not both"},
		{`{"mcpServers":{"a":{"url":"ftp://s3cr3t"}}}`, ": mcpServers.a.url: it is no http or https address"},
		{`{"mcpServers":{"a":{"url":"http://u:s3cr3t@a"}}}`, ": mcpServers.a.url: it holds a password: put it into headers, as Authorization"},
		{
			`{"mcpServers":{"a":{"url":"http://a","type":"sse"}}}`,
			": mcpServers.a.type: the old SSE transport is not spoken: give the server's Streamable HTTP address, and streamable-http",
		},
		{`{"mcpServers":{"a":{"url":"http://a","type":"stdio"}}}`, ": mcpServers.a.type: with url it is streamable-http or http"},
		{`{"mcpServers":{"a":{"command":"a","type":"http"}}}`, ": mcpServers.a.type: with command it is stdio"},
		{`{"mcpServers":{"a":{"command":"a","headers":{"X":"s3cr3t"}}}}`, ": mcpServers.a.headers: they go with url, not with command"},
		{`{"mcpServers":{"a":{"url":"http://a","env":{"X":"s3cr3t"}}}}`, ": mcpServers.a: args, env and cwd go with command, not with url"},
		{`{"mcpServers":{"a":{"url":"http://a","headers":{"X Y":"s3cr3t"}}}}`, ": mcpServers.a.headers.X Y: it is no header"},
		{`{"mcpServers":{"a":{"url":"http://a","headers":{"X":"s3cr3t\n"}}}}`, ": mcpServers.a.headers.X: it is no header"},
		{`{"mcpServers":{"a":{"url":"http://a","headers":{"X":7}}}}`, ": mcpServers.a: headers must be a text"},
		{`{"mcpServers":{"a":{"url":"http://a","header":{"X":"s3cr3t"}}}}`, `unknown key "header": known are args`},
		{`{"mcpServers":{"a":{"url":"http://a","timeout":60}}}`, `: mcpServers.a.timeout: write a number and a unit, such as "60s"`},
		{`{"mcpServers":{"a":{"url":"http://a","timeout":"2h"}}}`, ": mcpServers.a.timeout: give 100ms to 1h0m0s"},
		{
			`{"mcpServers":{"a":{"url":"http://a","headers":{"X":"Bearer ${MISSING}"}}}}`,
			": mcpServers.a.headers.X: variable MISSING is not set: set it, or write ${MISSING:-default}",
		},
		{`{"mcpServers":{"a":{"command":"${MISSING}"}}}`, ": mcpServers.a.command: variable MISSING is not set"},
		{`{"mcpServers":{"a":{"command":"a","args":["${}"]}}}`, ": mcpServers.a.args[0]: ${ does not begin a variable"},
	} {
		path := write(t, tc.text)
		_, err := catalog.New(catalog.Params{File: path, Lookup: func(string) (string, bool) { return "", false }})
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, tc.want)
		require.NotContains(t, err.Error(), "s3cr3t")
		var fault *catalog.FileError
		require.ErrorAs(t, err, &fault)
	}
	_, err := catalog.New(catalog.Params{File: filepath.Join(t.TempDir(), "none")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAFileOfAnotherClientIsTaken(t *testing.T) {
	t.Parallel()
	sources := openFile(t, `{"other":1,"mcpServers":{
		"b":{"url":"http://127.0.0.1:1/${WHERE:-mcp}","transport":"streamable-http","alwaysAllow":["x"],"headers":{"X":"$$${SET}"}},
		"a":{"type":"http","url":"${SET:-nowhere}","timeout":"500ms"},
		"off":{"command":"x","disabled":true}
	}}`, func(p *catalog.Params) {
		p.Lookup = func(name string) (string, bool) { return "http://127.0.0.1:1/mcp", name == "SET" }
	})
	require.Equal(t, []string{"a", "b"}, sources.Sources())
}

func TestWithoutAFileThereIsNothing(t *testing.T) {
	t.Parallel()
	sources, err := catalog.New(catalog.Params{})
	require.NoError(t, err)
	t.Cleanup(sources.Close)
	require.Empty(t, sources.Sources())
	hits, err := sources.Search(t.Context(), "x", 0)
	require.NoError(t, err)
	require.Empty(t, hits)
	require.Empty(t, sources.Suggest("a.b"))
	require.Empty(t, strings.Join(sources.Suggest(""), ""))
}
