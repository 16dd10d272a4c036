package desired_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// keyedHash is a MAC as another process with the same key would have it.
type keyedHash string

func (k keyedHash) ComputeMAC(data []byte) ([]byte, error) {
	h := hmac.New(sha256.New, []byte(k))
	_, err := h.Write(data)
	return h.Sum(nil), err
}

type brokenMAC struct{ cause error }

func (b brokenMAC) ComputeMAC([]byte) ([]byte, error) { return nil, b.cause }

func revision(t require.TestingT, c desired.Config, m desired.Metadata) string {
	r, err := desired.Revision(keyedHash("key"), desired.ProfileOpenWork, c, m)
	require.NoError(t, err)
	require.Regexp(t, `^[0-9a-f]{64}$`, r)
	return r
}

func TestCase10WhateverMattersChangesTheRevision(t *testing.T) {
	t.Parallel()
	base := revision(t, validConfig(), desired.DefaultMetadata())
	for _, tc := range []ruleCase{
		{name: "bearer", change: headers(map[string]string{"Authorization": "Bearer y"})},
		{name: "header name case", change: headers(map[string]string{"authorization": "Bearer x"})},
		{name: "extra header", change: headers(map[string]string{"Authorization": "Bearer x", "X": "1"})},
		{name: "URL", change: func(c *desired.Config, _ *desired.Metadata) { c.URL = "https://x/mcp/agent" }},
		{name: "timeout", change: func(c *desired.Config, _ *desired.Metadata) { c.TimeoutMillis = 1 }},
		{name: "enabled", change: func(c *desired.Config, _ *desired.Metadata) { c.Enabled = off() }},
		{name: "oauth", change: oauth(`{}`)},
		{name: "expiry of the token", change: organisations(map[string]any{"expiresAt": "2027"}, nil)},
		{name: "organisation", change: organisations(nil, map[string]any{"id": "o"})},
		{name: "catalog switch", change: func(_ *desired.Config, m *desired.Metadata) { m.ConnectCatalogEnabled = false }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, m := validConfig(), desired.DefaultMetadata()
			tc.change(&c, &m)
			require.NotEqual(t, base, revision(t, c, m))
		})
	}
}

func TestCase10WhatDoesNotMatterKeepsTheRevision(t *testing.T) {
	t.Parallel()
	base := revision(t, validConfig(), desired.DefaultMetadata())
	for _, tc := range []ruleCase{
		{name: "trailing slash", change: func(c *desired.Config, _ *desired.Metadata) { c.URL += "/" }},
		{name: "app", change: func(_ *desired.Config, m *desired.Metadata) { m.App = map[string]any{"version": "2"} }},
		{name: "empty metadata", change: organisations(map[string]any{}, map[string]any{})},
		{name: "tools that the profile does not use", change: func(_ *desired.Config, m *desired.Metadata) { m.ExpectedTools = []string{"a"} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, m := validConfig(), desired.DefaultMetadata()
			tc.change(&c, &m)
			require.Equal(t, base, revision(t, c, m))
		})
	}
}

func TestCase11EqualInputGivesAnEqualRevisionInEveryProcess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := configs().Draw(t, "config")
		text, err := json.Marshal(c)
		require.NoError(t, err)
		var reloaded desired.Config
		require.NoError(t, json.Unmarshal(text, &reloaded))
		require.Equal(t, revision(t, c, desired.DefaultMetadata()), revision(t, reloaded, desired.DefaultMetadata()))
	})
}

func TestARevisionDependsOnKeyAndProfile(t *testing.T) {
	t.Parallel()
	c, m := validConfig(), desired.DefaultMetadata()
	base := revision(t, c, m)
	otherKey, err := desired.Revision(keyedHash("other"), desired.ProfileOpenWork, c, m)
	require.NoError(t, err)
	require.NotEqual(t, base, otherKey)

	generic, err := desired.Revision(keyedHash("key"), desired.ProfileGeneric, c, m)
	require.NoError(t, err)
	require.NotEqual(t, base, generic)

	m.ExpectedTools = []string{"a"}
	withTools, err := desired.Revision(keyedHash("key"), desired.ProfileGeneric, c, m)
	require.NoError(t, err)
	require.NotEqual(t, generic, withTools)
}

func TestRevisionErrorsKeepTheCauseAndQuoteNothing(t *testing.T) {
	t.Parallel()
	cause := errors.New("keyset closed")
	_, err := desired.Revision(brokenMAC{cause}, desired.ProfileOpenWork, validConfig(), desired.DefaultMetadata())
	require.ErrorIs(t, err, cause)

	c := validConfig()
	c.OAuth = json.RawMessage(`{"secret`)
	_, err = desired.Revision(keyedHash("key"), desired.ProfileOpenWork, c, desired.DefaultMetadata())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

func TestCanonicalJSONIsWrittenAsJavaScriptWritesIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   any
		want string
	}{
		{"keys in order", map[string]any{"b": 1, "a": nil, "C": true}, `{"C":true,"a":null,"b":1}`},
		{"keys in UTF-16 order", map[string]any{"\uffff": 1, "\U0001F600": 2}, "{\"\U0001F600\":2,\"\uffff\":1}"},
		{"arrays keep their order", []any{2, "1", []any{}}, `[2,"1",[]]`},
		{"absent members are dropped", desired.Config{Type: "remote"}, `{"type":"remote"}`},
		{"numbers", []any{1.0, math.Copysign(0, -1), 1e21, 1e-7, 123456789012345680000.0, 0.1}, `[1,0,1e+21,1e-7,123456789012345680000,0.1]`},
		{"escapes", "\"\\\b\f\n\r\t\x01\u2028<&>\u007f", `"\"\\\b\f\n\r\t\u0001` + "\u2028<&>\u007f\""},
		{"raw JSON is rewritten", json.RawMessage(`{ "b":1.50, "a":2 }`), `{"a":2,"b":1.5}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := desired.Canonical(tc.in)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(got))
		})
	}
	_, err := desired.Canonical(math.Inf(1))
	require.Error(t, err)
}

func TestCanonicalJSONIsAFixedPoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scalar := rapid.OneOf(rapid.String().AsAny(), rapid.Float64Range(-1e30, 1e30).AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil))
		in := rapid.MapOf(rapid.String(), rapid.SliceOfN(scalar, 0, 4).AsAny()).Draw(t, "value")
		once, err := desired.Canonical(in)
		require.NoError(t, err)
		twice, err := desired.Canonical(json.RawMessage(once))
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}

func TestTheRedactedConfigShowsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "Qz7planted0secret9Q"
	c := desired.Config{
		Type: "remote", URL: "https://u:" + secret + "@x/mcp?anything=" + secret + "#" + secret, Enabled: on(), TimeoutMillis: 7,
		Headers: map[string]string{"X-Key": secret, "Authorization": secret}, OAuth: json.RawMessage(`{"clientSecret":"` + secret + `"}`),
	}
	want := desired.Redacted{
		Type: "remote", URL: "https://[REDACTED]@x/mcp?[REDACTED]", Enabled: on(), TimeoutMillis: 7, OAuth: "configured",
		Headers: desired.RedactedHeaders{Keys: []string{"Authorization", "X-Key"}, AuthorizationPresent: true},
	}
	require.Equal(t, want, c.Redacted())

	text, err := json.Marshal(c.Redacted())
	require.NoError(t, err)
	require.NotContains(t, string(text), secret)
	var back desired.Redacted
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, want, back)

	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(verb, c), secret)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("stored", "config", c)
	require.NotContains(t, log.String(), secret)
}

func TestTheRedactedConfigTellsWhatIsSet(t *testing.T) {
	t.Parallel()
	empty := desired.Config{}.Redacted()
	require.Equal(t, desired.Redacted{Type: "remote", Headers: desired.RedactedHeaders{Keys: []string{}}}, empty)
	require.Equal(t, false, desired.Config{OAuth: json.RawMessage(`false`)}.Redacted().OAuth)
	require.Equal(t, true, desired.Config{OAuth: json.RawMessage(`true`)}.Redacted().OAuth)
	require.Equal(t, "https://x/mcp", desired.Config{URL: "https://x/mcp?"}.Redacted().URL)
}
