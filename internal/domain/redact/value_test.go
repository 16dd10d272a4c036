package redact_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

func TestCase51PublishedObjectKeepsItsShape(t *testing.T) {
	t.Parallel()
	got := redact.Value(map[string]any{
		"Authorization": "Bearer a",
		"nested":        map[string]any{"Token": "x"},
		"mcpApiKey":     "k",
		"tokenMetadata": map[string]any{"organizationId": "o"},
		"list":          []any{"--token", "abc"},
	})
	require.Equal(t, map[string]any{
		"Authorization": redact.Marker,
		"nested":        map[string]any{"Token": redact.Marker},
		"mcpApiKey":     redact.Marker,
		"tokenMetadata": map[string]any{"organizationId": "o"},
		"list":          []any{"--token", redact.Marker},
	}, got)
}

func TestValueGivesWhatJSONDecodesTo(t *testing.T) {
	t.Parallel()
	type link struct {
		Message string `json:"message"`
		Code    string `json:"code,omitempty"`
	}
	var noError *json.SyntaxError
	for _, tc := range []struct {
		name string
		in   any
		want any
	}{
		{"nothing", nil, nil},
		{"bool", true, true},
		{"int", 3, 3.0},
		{"json number", json.Number("1.5"), 1.5},
		{"not a number", math.NaN(), "NaN"},
		{"text", "token=abc", `token="[REDACTED]"`},
		{"bytes", []byte("Bearer abc1"), "Bearer [REDACTED]"},
		{"error", errors.New("Bearer abc1"), "Bearer [REDACTED]"},
		{"nil error pointer", noError, "<nil>"},
		{"structs", []link{{Message: "Bearer abc1", Code: "E"}}, []any{map[string]any{"message": "Bearer [REDACTED]", "code": "E"}}},
		{"typed map", map[string]string{"cookie": "a", "b": "c"}, map[string]any{"cookie": redact.Marker, "b": "c"}},
		{"secret in a key", map[string]any{"ghp_abc": 1.0}, map[string]any{redact.Marker: 1.0}},
		{"flags in a row", []any{"--token", "--secret", "abc", "d"}, []any{"--token", "--secret", redact.Marker, "d"}},
		{"no JSON form", make(chan int), "chan int"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, redact.Value(tc.in))
		})
	}
}

func TestValueEndsOnAValueThatContainsItself(t *testing.T) {
	t.Parallel()
	loop := map[string]any{}
	loop["next"] = loop
	text, err := json.Marshal(redact.Value(loop))
	require.NoError(t, err)
	require.Contains(t, string(text), redact.Marker)
}
