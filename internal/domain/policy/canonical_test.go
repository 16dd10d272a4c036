package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

func TestCanonicalFormsAreSortedAndExact(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ value, want string }{
		{` { "b" : 1 , "a" : [ true , null , { } ] } `, `{"a":[true,null,{}],"b":1}`},
		{`{"n":[1.0,1,1e2,-0,12345678901234567890.10]}`, `{"n":[1.0,1,1e2,-0,12345678901234567890.10]}`},
		{`"\u0041\/\ud83d\ude00<é\n\u001f"`, `"A/😀<é\u000a\u001f"`},
		{`"\\ud800"`, `"\\ud800"`},
		{`{"B":1,"a":2,"A":3}`, `{"A":3,"B":1,"a":2}`},
		{`[]`, `[]`},
		{`null`, `null`},
	} {
		got, err := policy.Canonical([]byte(tc.value))
		require.NoError(t, err, tc.value)
		require.Equal(t, tc.want, string(got))
	}
}

func TestWhatHasTwoMeaningsHasNoCanonicalForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ value, reason string }{
		{`{"s3cr3t":1,"s3cr3t":2}`, "a key is given twice"},
		{`{"a":1,"\u0061":2}`, "a key is given twice"},
		{`{"a":{"b":1,"b":1}}`, "a key is given twice"},
		{"\"\xff\"", "not UTF-8"},
		{`"\ud800"`, "half of a surrogate pair"},
		{`"\udc00"`, "half of a surrogate pair"},
		{`"\ud800\u0041"`, "half of a surrogate pair"},
		{`{} {}`, "something follows"},
		{`{}]`, "something follows"},
		{``, "not valid JSON"},
		{`{"a":s3cr3t}`, "not valid JSON"},
		{`[1,]`, "not valid JSON"},
		{`[1 2]`, "not valid JSON"},
		{`{"a":1,}`, "not valid JSON"},
		{`{1:2}`, "not valid JSON"},
		{`[01]`, "not valid JSON"},
		{`[`, "not valid JSON"},
		{strings.Repeat("[", 1_000_000), "deeper than 100"},
		{strings.Repeat("[", 101) + "0" + strings.Repeat("]", 101), "deeper than 100"},
	} {
		_, err := policy.Canonical([]byte(tc.value))
		require.ErrorIs(t, err, policy.ErrNotCanonical)
		require.ErrorContains(t, err, tc.reason, "%.40s", tc.value)
		require.NotContains(t, err.Error(), "s3cr3t")
	}
	_, err := policy.Canonical([]byte(strings.Repeat("[", 100) + "0" + strings.Repeat("]", 100)))
	require.NoError(t, err)
}

func TestCanonicalFormsDependOnTheMeaningOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := drawJSON(3).Draw(t, "value")
		indented, err := json.MarshalIndent(value, " ", "\t") // escapes more than needed
		require.NoError(t, err)
		one, err := policy.Canonical(indented)
		require.NoError(t, err)
		other, err := policy.Canonical([]byte(shuffled(t, value)))
		require.NoError(t, err)
		require.Equal(t, string(one), string(other))

		again, err := policy.Canonical(one)
		require.NoError(t, err)
		require.Equal(t, string(one), string(again), "the canonical form is its own")

		var before, after any
		require.NoError(t, json.Unmarshal(indented, &before))
		require.NoError(t, json.Unmarshal(one, &after))
		require.Equal(t, before, after)
	})
}

func TestWhateverIsNotJSONIsRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching(`[\[\]{},:"\\ua0-9 .eE+tn-]{0,12}`).Draw(t, "text"))
		got, err := policy.Canonical(text)
		if err == nil {
			require.True(t, json.Valid(text))
			require.True(t, json.Valid(got))
		}
	})
}

func TestADigestIsOfEveryPart(t *testing.T) {
	t.Parallel()
	digest := policy.Digest("a.b", []byte(`{}`), "v1")
	require.Len(t, digest, 64)
	require.Equal(t, digest, policy.Digest("a.b", []byte(`{}`), "v1"))
	seen := map[string]bool{digest: true}
	for _, other := range []string{
		policy.Digest("a.c", []byte(`{}`), "v1"), policy.Digest("a.b", []byte(`{"x":1}`), "v1"), policy.Digest("a.b", []byte(`{}`), "v2"),
		policy.Digest("a.b{", []byte(`}`), "v1"), policy.Digest("a.b", []byte(`{}v`), "1"),
	} {
		require.False(t, seen[other])
		seen[other] = true
	}
}

func TestAVersionNamesRulesAndDefaults(t *testing.T) {
	t.Parallel()
	rules := []policy.Rule{{Pattern: "a.*", Effect: policy.Ask}, {Pattern: "*", Effect: policy.Deny}}
	version := policy.Version(rules, defaults)
	require.Len(t, version, 12)
	require.Equal(t, version, policy.Version(append([]policy.Rule{}, rules...), defaults))
	require.Equal(t, policy.Version(nil, defaults), policy.Version([]policy.Rule{}, defaults))
	require.NotEqual(t, version, policy.Version([]policy.Rule{rules[1], rules[0]}, defaults), "order matters")
	require.NotEqual(t, version, policy.Version(rules, policy.Defaults{Window: time.Second}))
}

func drawJSON(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth == 0 {
			kind %= 4
		}
		switch kind {
		case 0:
			return rapid.String().Draw(t, "text")
		case 1:
			return json.Number(rapid.SampledFrom([]string{"0", "-1", "1.50", "1e9", "123456789012345678901234567890"}).Draw(t, "number"))
		case 2:
			return rapid.Bool().Draw(t, "bool")
		case 3:
			return nil
		case 4:
			return rapid.SliceOfN(drawJSON(depth-1), 0, 4).Draw(t, "list")
		default:
			return rapid.MapOfN(rapid.String(), drawJSON(depth-1), 0, 4).Draw(t, "object")
		}
	})
}

// shuffled writes a value with the keys of its objects in any order.
func shuffled(t *rapid.T, value any) string {
	switch value := value.(type) {
	case []any:
		parts := make([]string, 0, len(value))
		for _, part := range value {
			parts = append(parts, shuffled(t, part))
		}
		return "[" + strings.Join(parts, " , ") + "]"
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		parts := make([]string, 0, len(value))
		for _, key := range rapid.Permutation(keys).Draw(t, "keys") {
			parts = append(parts, fmt.Sprintf("%s : %s", shuffled(t, key), shuffled(t, value[key])))
		}
		return "{" + strings.Join(parts, ",") + "}"
	default:
		text, err := json.Marshal(value)
		require.NoError(t, err)
		return string(text)
	}
}
