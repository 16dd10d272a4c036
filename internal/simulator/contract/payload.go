package contract

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
)

// payloadCases is how POST /mcp judges its body.
func payloadCases() map[string]func(*testing.T, *site) {
	const address = "http://127.0.0.1:1/mcp"
	type object = map[string]any
	bad := map[string]struct {
		body    any
		message string
	}{
		"a body without a name":       {object{}, "Missing key\n  at [\"name\"]"},
		"a name that is no string":    {object{"name": 5, "config": remote(address, 1)}, "Expected string, got 5\n  at [\"name\"]"},
		"a body without a config":     {object{"name": "x"}, "Missing key\n  at [\"config\"]"},
		"a remote server without url": {object{"name": "x", "config": object{"type": "remote"}}, "Missing key\n  at [\"config\"][\"url\"]"},
		"a timeout of zero": {
			object{"name": "x", "config": remote(address, 0)},
			"Expected a value greater than 0, got 0\n  at [\"config\"][\"timeout\"]",
		},
		"a header that is no string": {
			object{"name": "x", "config": object{"type": "remote", "url": address, "headers": object{"a": 1}}},
			"Expected string, got 1\n  at [\"config\"][\"headers\"][\"a\"]",
		},
		"a body that is no object": {"text", `Expected object, got "text"`},
	}
	cases := make(map[string]func(*testing.T, *site), len(bad)+1)
	for claim, tc := range bad {
		cases[claim+" is refused"] = func(t *testing.T, s *site) {
			answer := ask(t, http.MethodPost, s.url("/mcp", s.directory), tc.body)
			require.Equal(t, http.StatusBadRequest, answer.status)
			want, err := json.Marshal(object{"name": "BadRequest", "data": object{"message": tc.message, "kind": "Payload"}})
			require.NoError(t, err)
			require.JSONEq(t, string(want), answer.body)
		}
	}
	cases["odd names and unknown keys are accepted"] = func(t *testing.T, s *site) {
		up := endpoint(t, simulator.EndpointOptions{})
		config := remote(up.URL(), 5000)
		config["unknown"] = true
		require.JSONEq(t, connected("a/b c"), s.register(t, "a/b c", config))
		require.JSONEq(t, `true`, s.post(t, "/mcp/a%2Fb%20c/disconnect"))
		require.JSONEq(t, disabled("a/b c"), s.status(t))
	}
	return cases
}

func sameJSON(a, b string) bool {
	var left, right any
	return json.Unmarshal([]byte(a), &left) == nil && json.Unmarshal([]byte(b), &right) == nil &&
		reflect.DeepEqual(left, right)
}
