package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

// plants are lines in which %s is a secret.
var plants = []string{
	"Bearer %s",
	"failed: Basic %s, again",
	"Authorization: Custom %s",
	"cookie: a=1; b=%s",
	"owt_%s",
	"a sk-%s b",
	"eyJ%s.eyJ%s.%s",
	"token=%s",
	"my_token: %s",
	"auth-token=x%s&y=1",
	`{"mcp_token":"%s","a":1}`,
	`{"a":{"clientSecret": ["%s"]}}`,
	`{\"api_key\":\"%s\"}`,
	`password='%s'`,
	"run --api-key %s now",
	`["--token", "%s"]`,
	"GET https://u:%s@host/p",
	"GET https://host/p?x=1&access_token=%s#f",
}

// fragments are what texts around secrets are made of, chosen to disturb rules.
var fragments = []string{
	"token", "=", ":", `"`, "'", "`", `\`, "{", "}", "[", "]", " ", "\n", "\r", "\t", "Bearer", "Basic ", "cookie", "--token",
	"--secret ", "https://", "@", "/", "?", "&", ",", ";", redact.Marker, "[REDACTED", "eyJ", "sk-", "owt_", "%3D", "invalid_token: ",
	"api", "key", "-", "_", ".", "é", "\xff", "authorization",
}

func hostileText() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 24), func(parts []string) string {
		return strings.Join(parts, "")
	})
}

func plant(template, secret string) string {
	return strings.ReplaceAll(template, "%s", secret)
}

func TestRedactionIsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		once := redact.String(hostileText().Draw(t, "text"))
		require.Equal(t, once, redact.String(once))
	})
}

func TestAPlantedSecretNeverSurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`Q[A-Za-z0-9]{11,30}Q`).Draw(t, "secret")
		line := plant(rapid.SampledFrom(plants).Draw(t, "plant"), secret)
		text := hostileText().Draw(t, "before") + "\n" + line + "\n" + hostileText().Draw(t, "after")
		require.NotContains(t, redact.String(text), secret)

		value, err := json.Marshal(redact.Value(map[string]any{"list": []any{line}, "token": secret, line: 1}))
		require.NoError(t, err)
		require.NotContains(t, string(value), secret)
	})
}

func TestValueIsIdempotentAndJSONStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		item := rapid.OneOf(hostileText().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.SampledFrom([]any{"--token", nil}).AsAny())
		in := rapid.MapOf(hostileText(), rapid.SliceOfN(item, 0, 4).AsAny()).Draw(t, "object")
		once := redact.Value(in)
		require.Equal(t, once, redact.Value(once))

		text, err := json.Marshal(once)
		require.NoError(t, err)
		var back any
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, once, redact.Value(back), string(text))
	})
}

func FuzzStringIsIdempotent(f *testing.F) {
	for _, template := range plants {
		f.Add(plant(template, "QabcdefghijkQ"))
	}
	f.Add(strings.Join(fragments, ""))
	f.Add(`http://Bearer%20a/b@c`)
	f.Fuzz(func(t *testing.T, text string) {
		once := redact.String(text)
		require.Equal(t, once, redact.String(once))
	})
}

func FuzzPlantedSecretNeverSurvives(f *testing.F) {
	const secret = "Qz7planted0secret9Q"
	for i := range plants {
		f.Add(uint8(i), "", "")
	}
	f.Add(uint8(0), `token="`, `"`)
	f.Fuzz(func(t *testing.T, which uint8, before, after string) {
		line := plant(plants[int(which)%len(plants)], secret)
		if strings.Contains(before+after, secret) {
			return
		}
		require.NotContains(t, redact.String(before+"\n"+line+"\n"+after), secret)
	})
}

func FuzzValueIsIdempotent(f *testing.F) {
	f.Add([]byte(`{"a":["--token","x"],"token":{"b":1},"c":"Bearer abc"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			return
		}
		once := redact.Value(v)
		require.Equal(t, once, redact.Value(once))
	})
}
