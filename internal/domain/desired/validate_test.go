package desired_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

func validConfig() desired.Config {
	return desired.Config{
		Type: "remote", URL: cloudURL, Enabled: on(),
		Headers: map[string]string{"Authorization": "Bearer x"}, OAuth: json.RawMessage(`false`),
	}
}

type ruleCase struct {
	name   string
	change func(c *desired.Config, m *desired.Metadata)
	code   health.Code // "" passes
	alias  string
}

func runRules(t *testing.T, profile desired.Profile, cases []ruleCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, m := validConfig(), desired.DefaultMetadata()
			tc.change(&c, &m)
			f := desired.Validate(profile, c, m)
			if tc.code == "" {
				require.Nil(t, f)
				return
			}
			require.NotNil(t, f)
			require.Equal(t, tc.code, f.Code)
			require.Equal(t, health.StageDesiredConfig, f.Stage)
			require.False(t, f.Retryable)
			if tc.alias != "" {
				require.Equal(t, []string{tc.alias}, f.Aliases)
			}
		})
	}
}

func headers(h map[string]string) func(*desired.Config, *desired.Metadata) {
	return func(c *desired.Config, _ *desired.Metadata) { c.Headers = h }
}

func oauth(text string) func(*desired.Config, *desired.Metadata) {
	return func(c *desired.Config, _ *desired.Metadata) { c.OAuth = json.RawMessage(text) }
}

func organisations(token, org map[string]any) func(*desired.Config, *desired.Metadata) {
	return func(_ *desired.Config, m *desired.Metadata) { m.Token, m.Org = token, org }
}

func TestCases12To16OpenWorkRules(t *testing.T) {
	t.Parallel()
	const invalid, token = health.CodeEndpointInvalid, health.CodeInvalidToken
	const required, badAuth = health.AliasAuthRequired, health.AliasAuthInvalid
	id := func(key, value string) map[string]any { return map[string]any{key: value} }
	runRules(t, desired.ProfileOpenWork, []ruleCase{
		{"a valid config", func(*desired.Config, *desired.Metadata) {}, "", ""},
		{"type local", func(c *desired.Config, _ *desired.Metadata) { c.Type = "local" }, invalid, ""},
		{"12 URL ends in /mcp", func(c *desired.Config, _ *desired.Metadata) { c.URL = "https://x/mcp" }, invalid, ""},
		{"URL missing", func(c *desired.Config, _ *desired.Metadata) { c.URL = "" }, invalid, ""},
		{"URL with user info", func(c *desired.Config, _ *desired.Metadata) { c.URL = "https://u:p@x/mcp/agent" }, invalid, ""},
		{"13 disabled", func(c *desired.Config, _ *desired.Metadata) { c.Enabled = off() }, health.CodeDisabled, health.AliasDisabled},
		{"13 enabled absent", func(c *desired.Config, _ *desired.Metadata) { c.Enabled = nil }, health.CodeDisabled, health.AliasDisabled},
		{"14 no headers", headers(nil), token, required},
		{"14 empty headers", headers(map[string]string{}), token, required},
		{"14 other header", headers(map[string]string{"X": "Bearer x"}), token, required},
		{"14 upper-case name", headers(map[string]string{"AUTHORIZATION": "x"}), "", ""},
		{"14 blank value", headers(map[string]string{"Authorization": "  "}), token, required},
		{"15 oauth {}", oauth(`{}`), token, badAuth},
		{"15 oauth true", oauth(`true`), token, badAuth},
		{"15 oauth absent", oauth(``), token, badAuth},
		{"15 oauth null", oauth(`null`), token, badAuth},
		{"16 mismatch", organisations(id("organizationId", "org_token"), id("id", "org_active")), health.CodeTokenOrgMismatch, ""},
		{"16 equal but for blanks", organisations(id("organizationId", " org "), id("id", "org")), "", ""},
		{"16 token without organisation", organisations(nil, id("id", "org")), "", ""},
		{"16 no active organisation", organisations(id("organizationId", "org"), id("id", " ")), "", ""},
		{"16 id of no text", organisations(map[string]any{"organizationId": 1.0}, id("id", "org")), "", ""},
		{"header name that is no token", headers(map[string]string{"Authorization": "x", "a b": "1"}), invalid, ""},
		{"header twice", headers(map[string]string{"Authorization": "x", "authorization": "y"}), invalid, ""},
		{"line break in a value", headers(map[string]string{"Authorization": "x\r\nX: y"}), invalid, ""},
		{"value beyond ASCII", headers(map[string]string{"Authorization": "é"}), invalid, ""},
		{"negative timeout", func(c *desired.Config, _ *desired.Metadata) { c.TimeoutMillis = -1 }, invalid, ""},
		{"timeout too long", func(c *desired.Config, _ *desired.Metadata) { c.TimeoutMillis = 600_001 }, invalid, ""},
		{"longest timeout", func(c *desired.Config, _ *desired.Metadata) { c.TimeoutMillis = 600_000 }, "", ""},
	})
}

func TestGenericRulesTakeAnyRemoteServer(t *testing.T) {
	t.Parallel()
	runRules(t, desired.ProfileGeneric, []ruleCase{
		{"any path and query", func(c *desired.Config, _ *desired.Metadata) { c.URL = "http://x:1/any?key=1" }, "", ""},
		{"no Authorization", headers(nil), "", ""},
		{"oauth absent", oauth(``), "", ""},
		{"oauth configured", oauth(`{"clientId":"a"}`), "", ""},
		{"organisations differ", organisations(map[string]any{"organizationId": "a"}, map[string]any{"id": "b"}), "", ""},
		{"type local", func(c *desired.Config, _ *desired.Metadata) { c.Type = "local" }, health.CodeEndpointInvalid, ""},
		{"disabled", func(c *desired.Config, _ *desired.Metadata) { c.Enabled = nil }, health.CodeDisabled, ""},
		{"no http", func(c *desired.Config, _ *desired.Metadata) { c.URL = "ftp://x/mcp" }, health.CodeEndpointInvalid, ""},
		{"user info", func(c *desired.Config, _ *desired.Metadata) { c.URL = "https://u@x/mcp" }, health.CodeEndpointInvalid, ""},
		{"fragment", func(c *desired.Config, _ *desired.Metadata) { c.URL = "https://x/mcp#a" }, health.CodeEndpointInvalid, ""},
		{"header name", headers(map[string]string{"a:b": "1"}), health.CodeEndpointInvalid, ""},
		{"timeout", func(c *desired.Config, _ *desired.Metadata) { c.TimeoutMillis = 600_001 }, health.CodeEndpointInvalid, ""},
	})
}

func TestTheFirstBrokenRuleIsReported(t *testing.T) {
	t.Parallel()
	breaks := []ruleCase{
		{"type", func(c *desired.Config, _ *desired.Metadata) { c.Type = "local" }, health.CodeEndpointInvalid, ""},
		{"enabled", func(c *desired.Config, _ *desired.Metadata) { c.Enabled = nil }, health.CodeDisabled, ""},
		{"url", func(c *desired.Config, _ *desired.Metadata) { c.URL = "" }, health.CodeEndpointInvalid, ""},
		{"authorization", headers(nil), health.CodeInvalidToken, health.AliasAuthRequired},
		{"oauth", oauth(`{}`), health.CodeInvalidToken, health.AliasAuthInvalid},
		{"org", organisations(map[string]any{"organizationId": "a"}, map[string]any{"id": "b"}), health.CodeTokenOrgMismatch, ""},
		{"timeout", func(c *desired.Config, _ *desired.Metadata) { c.TimeoutMillis = -1 }, health.CodeEndpointInvalid, ""},
	}
	rapid.Check(t, func(t *rapid.T) {
		c, m := validConfig(), desired.DefaultMetadata()
		var want *ruleCase
		for i := range breaks {
			if !rapid.Bool().Draw(t, breaks[i].name) {
				continue
			}
			breaks[i].change(&c, &m)
			if want == nil {
				want = &breaks[i]
			}
		}
		f := desired.Validate(desired.ProfileOpenWork, c, m)
		if want == nil {
			require.Nil(t, f)
			return
		}
		require.NotNil(t, f)
		require.Equal(t, want.code, f.Code)
		if want.alias != "" {
			require.Equal(t, []string{want.alias}, f.Aliases)
		}
	})
}
