package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
)

func TestNamesAreExactOrTheObjectIsNot(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]bool{
		`{}`: true, `{"name":1}`: true, ` { "other" : {"Name":1,"name":[{"NAME":2}]} , "name" : "a,\"b" } `: true, `{"\u006eame":1}`: true,
		`{"Name":1}`: false, `{"name":1,"NAME":2}`: false, `{"name":1,"name":2}`: false, `{"a":[1,2],"nAme":3}`: false, `{"\u004eame":1}`: false,
		`{"x":"\\","Name":1}`: false, `{"ſize":1}`: false, `["name","Name"]`: true,
	} {
		require.Equal(t, want, mcpserver.Exact([]byte(object), "name", "size"), object)
	}
}

func TestKeysAreThoseOfTheObjectItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{}
		for _, key := range rapid.SliceOfDistinct(rapid.String(), rapid.ID).Draw(t, "keys") {
			value[key] = rapid.SampledFrom([]any{1, "a\"b,{", nil, []any{"x", map[string]any{"y": "}"}}, map[string]any{"z": []any{}}}).Draw(t, "value")
		}
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		var again map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &again))
		got := slices.Sorted(mcpserver.TopKeys(raw))
		want := make([]string, 0, len(again))
		for key := range again {
			want = append(want, key)
		}
		slices.Sort(want)
		require.Equal(t, want, append([]string{}, got...))
	})
}

func TestAMessageWithNamesThatOthersReadOtherwiseIsRefused(t *testing.T) {
	t.Parallel()
	p := newPeer(t, mcpservertest.New(t).Start().URL)
	p.initialize()
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":1,"Method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}`,
		`{"JSONRPC":"2.0","id":1,"method":"tools/list"}`,
	} {
		p.post(body).requireError(http.StatusBadRequest, -32700)
	}
}
