package desired_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

const cloudURL = "https://api.openworklabs.com/mcp/agent"

func on() *bool  { v := true; return &v }
func off() *bool { v := false; return &v }

func normalise(t *testing.T, profile desired.Profile, body string) desired.Config {
	t.Helper()
	c, err := desired.Normalise(profile, json.RawMessage(body))
	require.NoError(t, err)
	return c
}

func TestCase17ATrailingSlashIsNotKept(t *testing.T) {
	t.Parallel()
	c := normalise(t, desired.ProfileOpenWork, `{"url":"`+cloudURL+`/"}`)
	require.Equal(t, cloudURL, c.URL)
}

func TestCase19AConfigMayStandInlineInTheBody(t *testing.T) {
	t.Parallel()
	inline := normalise(t, desired.ProfileOpenWork, `{"url":"`+cloudURL+`","enabled":true}`)
	nested := normalise(t, desired.ProfileOpenWork, `{"config":{"url":"`+cloudURL+`","enabled":true},"url":"https://other/mcp/agent"}`)
	null := normalise(t, desired.ProfileOpenWork, `{"config":null,"url":"`+cloudURL+`","enabled":true}`)
	require.Equal(t, desired.Config{Type: "remote", URL: cloudURL, Enabled: on()}, inline)
	require.Equal(t, inline, nested)
	require.Equal(t, inline, null)
}

func TestCase19AConfigThatIsNoObjectIsRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"config":[]}`, `{"config":"x"}`, `{"config":1}`, `{"config":false}`, `[]`, `"x"`, `null`, `1`, ``, `{`} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			_, err := desired.Normalise(desired.ProfileOpenWork, json.RawMessage(body))
			var invalid *desired.PayloadError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, "invalid_payload", invalid.Code)
		})
	}
}

func TestAnUnknownProfileIsRefused(t *testing.T) {
	t.Parallel()
	_, err := desired.Normalise("other", json.RawMessage(`{}`))
	var invalid *desired.PayloadError
	require.ErrorAs(t, err, &invalid)
}

func TestOnlyKnownMembersOfTheRightTypeAreKept(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		body string
		want desired.Config
	}{
		{"nothing", `{}`, desired.Config{Type: "remote"}},
		{"null type", `{"type":null}`, desired.Config{Type: "remote"}},
		{"other type", `{"type":"local"}`, desired.Config{Type: "local"}},
		{"type of no text", `{"type":5}`, desired.Config{}},
		{"URL that cannot be normalised", `{"url":"  https://x/mcp "}`, desired.Config{Type: "remote", URL: "https://x/mcp"}},
		{"blank URL", `{"url":"  "}`, desired.Config{Type: "remote"}},
		{"URL of no text", `{"url":1}`, desired.Config{Type: "remote"}},
		{"disabled", `{"enabled":false}`, desired.Config{Type: "remote", Enabled: off()}},
		{"enabled of no boolean", `{"enabled":"true"}`, desired.Config{Type: "remote"}},
		{"headers", `{"headers":{"A":"1","B":2,"C":null}}`, desired.Config{Type: "remote", Headers: map[string]string{"A": "1"}}},
		{"no headers left", `{"headers":{"B":2}}`, desired.Config{Type: "remote"}},
		{"headers of no object", `{"headers":["A"]}`, desired.Config{Type: "remote"}},
		{"oauth false", `{"oauth":false}`, desired.Config{Type: "remote", OAuth: json.RawMessage(`false`)}},
		{"oauth true", `{"oauth":true}`, desired.Config{Type: "remote", OAuth: json.RawMessage(`{}`)}},
		{"oauth object", `{"oauth":{"b": 1.0,"a":"x"}}`, desired.Config{Type: "remote", OAuth: json.RawMessage(`{"a":"x","b":1}`)}},
		{"oauth null", `{"oauth":null}`, desired.Config{Type: "remote"}},
		{"oauth of another type", `{"oauth":"no"}`, desired.Config{Type: "remote"}},
		{"timeout", `{"timeout":1500}`, desired.Config{Type: "remote", TimeoutMillis: 1500}},
		{"fraction of a timeout", `{"timeout":0.2}`, desired.Config{Type: "remote", TimeoutMillis: 1}},
		{"huge timeout", `{"timeout":1e300}`, desired.Config{Type: "remote", TimeoutMillis: 1<<31 - 1}},
		{"negative timeout", `{"timeout":-1}`, desired.Config{Type: "remote", TimeoutMillis: -1}},
		{"timeout of no number", `{"timeout":"1"}`, desired.Config{Type: "remote"}},
		{"unknown members", `{"command":["x"],"environment":{}}`, desired.Config{Type: "remote"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, normalise(t, desired.ProfileOpenWork, tc.body))
		})
	}
}

func TestNormalisingANormalConfigChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		once := configs().Draw(t, "config")
		text, err := json.Marshal(once)
		require.NoError(t, err)
		again, err := desired.Normalise(desired.ProfileGeneric, text)
		require.NoError(t, err)
		require.Equal(t, once, again)
	})
}

// configs generates what Normalise can give for the generic profile.
func configs() *rapid.Generator[desired.Config] {
	return rapid.Custom(func(t *rapid.T) desired.Config {
		c := desired.Config{
			Type:          "remote",
			URL:           fmt.Sprintf("https://x/%s", rapid.StringMatching(`[a-z]{0,8}(\?k=[a-z]{4})?`).Draw(t, "path")),
			TimeoutMillis: rapid.IntRange(0, 600_000).Draw(t, "timeout"),
		}
		c.Enabled = rapid.SampledFrom([]*bool{nil, on(), off()}).Draw(t, "enabled")
		headers := rapid.MapOfN(rapid.StringMatching(`[A-Za-z\-]{1,12}`), rapid.StringMatching(`[ -~]{0,20}`), 0, 3).Draw(t, "headers")
		if len(headers) > 0 {
			c.Headers = headers
		}
		c.OAuth = rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`false`), json.RawMessage(`{}`), json.RawMessage(`{"clientId":"a"}`)}).Draw(t, "oauth")
		return c
	})
}

func TestTheEngineGetsAllMembersAndAlwaysATimeout(t *testing.T) {
	t.Parallel()
	c := desired.Config{Type: "remote", URL: cloudURL}
	require.Equal(t, map[string]any{"type": "remote", "url": cloudURL, "timeout": 5000}, c.EngineConfig())
	require.Equal(t, 5*time.Second, c.Timeout())

	c = desired.Config{
		Type: "remote", URL: cloudURL, Enabled: on(), TimeoutMillis: 1500,
		Headers: map[string]string{"Authorization": "Bearer x"}, OAuth: json.RawMessage(`false`),
	}
	text, err := json.Marshal(c.EngineConfig())
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"remote","url":"`+cloudURL+`","enabled":true,"timeout":1500,
		"headers":{"Authorization":"Bearer x"},"oauth":false}`, string(text))

	c.EngineConfig()["headers"].(map[string]string)["Authorization"] = "changed"
	require.Equal(t, "Bearer x", c.Headers["Authorization"])
}

func TestMetadataKeepsPlainValuesOnly(t *testing.T) {
	t.Parallel()
	m, err := desired.NormaliseMetadata(json.RawMessage(`{
		"tokenMetadata": {"organizationId":"o","n":1,"b":true,"z":null,"nested":{},"list":[1],"note":"Bearer abc1"},
		"organization": {"id":"o"},
		"appVersion":"1.2", "buildSha":"s1", "buildSHA":"s2",
		"connectCatalogEnabled": false,
		"expectedTools": ["b"," a ","b","",3]
	}`))
	require.NoError(t, err)
	require.Equal(t, desired.Metadata{
		Token:         map[string]any{"organizationId": "o", "n": 1.0, "b": true, "z": nil, "note": "Bearer [REDACTED]"},
		Org:           map[string]any{"id": "o"},
		App:           map[string]any{"version": "1.2", "buildSha": "s1"},
		ExpectedTools: []string{"a", "b"},
	}, m)

	text, err := json.Marshal(m)
	require.NoError(t, err)
	var back desired.Metadata
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, m, back)

	m, err = desired.NormaliseMetadata(json.RawMessage(`{"tokenMetadata":{},"org":{"id":"a"},"organization":{"id":"b"},"app":{"version":"1"},"appVersion":"2"}`))
	require.NoError(t, err)
	require.Equal(t, desired.Metadata{Org: map[string]any{"id": "a"}, App: map[string]any{"version": "1"}, ConnectCatalogEnabled: true}, m)

	_, err = desired.NormaliseMetadata(json.RawMessage(`[]`))
	require.Error(t, err)
}

func TestExpectedToolsDependOnTheProfile(t *testing.T) {
	t.Parallel()
	m := desired.Metadata{ExpectedTools: []string{"echo"}}
	require.Equal(t, []string{"search_capabilities", "execute_capability"}, desired.ExpectedTools(desired.ProfileOpenWork, m))
	require.Equal(t, []string{"echo"}, desired.ExpectedTools(desired.ProfileGeneric, m))
	require.Empty(t, desired.ExpectedTools(desired.ProfileGeneric, desired.DefaultMetadata()))
	require.Equal(t, "openwork-cloud_search_capabilities", desired.EngineToolID("openwork-cloud", desired.ToolSearchCapabilities))
	require.Equal(t, "my_srv_X-1_a_b", desired.EngineToolID("my.srv X-1", "a/b"), "as engine 1.18.33 offers it")
}
