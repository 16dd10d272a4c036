package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

const strict = `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","additionalProperties":false,"required":["name"],
	"properties":{"name":{"type":"string","minLength":2,"pattern":"^[a-z]"},"size":{"enum":["small","large"]},
	"count":{"type":["integer","null"],"minimum":1},"parts":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}}}},
	"either":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`

// case 58
func TestArgumentsAreHeldAgainstTheSchemaAndNeverQuoted(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	listing(server, `{"name":"strict","inputSchema":`+strict+`},{"name":"odd","inputSchema":{"$ref":"https://elsewhere.example/s3cr3t"}}`)
	sources := open(t, server)
	tool, err := sources.Lookup(t.Context(), "up.strict")
	require.NoError(t, err)
	for _, tc := range []struct{ arguments, want string }{
		{`{"name":"ab","size":"small","count":null,"parts":[{"id":1}],"either":1}`, ""},
		{``, `it lacks ["name"]`},
		{`null`, "they must be an object"},
		{`["s3cr3t"]`, "they must be an object"},
		{`{"name":s3cr3t}`, "they are not valid JSON"},
		{`{"name":7}`, `name: it must be "string"`},
		{`{"name":{"s3cr3t":1}}`, `name: it must be "string"`},
		{`{"name":"s"}`, "name: it does not fit minLength"},
		{`{"name":"S3CR3T"}`, "name: it does not fit pattern"},
		{`{"name":"ab","size":"s3cr3t"}`, "size: it must be one of [small large]"},
		{`{"name":"ab","count":"s3cr3t"}`, `count: it must be "integer, null"`},
		{`{"name":"ab","count":0}`, "count: it does not fit minimum"},
		{`{"name":"ab","parts":[{"id":"s3cr3t"}]}`, `parts[].id: it must be "integer"`},
		{`{"name":"ab","either":["s3cr3t"]}`, "either: it does not fit anyOf"},
		{`{"name":"ab","extra":"s3cr3t"}`, `it has properties that are not known: ["extra"]`},
	} {
		err := sources.Validate(tool, json.RawMessage(tc.arguments))
		if tc.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, tc.want, tc.arguments)
	}
	odd, err := sources.Lookup(t.Context(), "up.odd")
	require.NoError(t, err)
	require.NoError(t, sources.Validate(odd, json.RawMessage(`{"a":1}`)), "the tool itself has the last word")
	require.NoError(t, sources.Validate(catalog.Tool{Address: "gone.tool", Input: json.RawMessage(`{}`)}, nil))
	require.Error(t, sources.Validate(catalog.Tool{Address: "gone.tool", Input: json.RawMessage(strict)}, nil))
}
