package contract

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// toolCases is what the engine tells of the tools that models may call.
func toolCases() map[string]func(*testing.T, *site) {
	return map[string]func(*testing.T, *site){
		"tools become permissions, and what permission says comes after": checkFolded,
		"rules keep the order in which they are written":                 checkRuleOrder,
		"one word of permission is a rule for all":                       checkOneWord,
		"an agent has permissions of its own":                            checkAgent,
		"a list of denied tools makes the engine refuse everything":      checkDenyList,
		"permissions of another version are refused":                     checkOtherVersion,
		"a file that is no json is refused with its path":                checkNoJSON,
		"models are listed with what they can do":                        checkModels,
		"no mcp tool is listed, of whatever model":                       checkNoMCPTools,
		"tools of a model want provider and model":                       checkMissingQuery,
	}
}

// told is the text of a member of GET /config, so that its order shows.
func (s *site) told(t *testing.T, name string) string {
	t.Helper()
	var config map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(s.get(t, "/config")), &config))
	return string(config[name])
}

func checkFolded(t *testing.T, s *site) {
	s.engine.SetConfiguration(s.directory, `{"permission":{"cloud_a":"allow"},"tools":{"cloud_*":false,"x":true}}`)
	//nolint:testifylint // the order counts, which JSONEq does not see
	require.Equal(t, `{"cloud_*":"deny","x":"allow","cloud_a":"allow"}`, s.told(t, "permission"))
	require.JSONEq(t, `{"cloud_*":false,"x":true}`, s.told(t, "tools"))
}

func checkRuleOrder(t *testing.T, s *site) {
	const rules = `{"z":"allow","*":"deny","a":{"y":"ask","b":"deny"}}`
	s.engine.SetConfiguration(s.directory, `{"permission":`+rules+`}`)
	require.Equal(t, rules, s.told(t, "permission")) //nolint:testifylint // the order counts, which JSONEq does not see
}

func checkOneWord(t *testing.T, s *site) {
	s.engine.SetConfiguration(s.directory, `{"permission":"deny"}`)
	require.JSONEq(t, `{"*":"deny"}`, s.told(t, "permission"))
}

func checkAgent(t *testing.T, s *site) {
	s.engine.SetConfiguration(s.directory, `{"default_agent":"plan","agent":{"plan":{"tools":{"cloud_*":false}}}}`)
	require.JSONEq(t, `"plan"`, s.told(t, "default_agent"))
	require.JSONEq(t, `{"plan":{"tools":{"cloud_*":false},"options":{},"permission":{"cloud_*":"deny"}}}`, s.told(t, "agent"))
}

func checkDenyList(t *testing.T, s *site) {
	s.engine.SetConfiguration(s.directory, `{"tools":{"deny":["cloud_*"]}}`)
	s.refuses(t, "ConfigInvalidError", "tools", "deny")
}

func checkOtherVersion(t *testing.T, s *site) {
	s.engine.SetConfiguration(s.directory, `{"permissions":{"cloud_*":"deny"}}`)
	s.refuses(t, "ConfigInvalidError", "permissions")
}

func checkNoJSON(t *testing.T, s *site) {
	s.engine.SetConfiguration(s.directory, `{"permission":{`)
	s.refuses(t, "ConfigJsonError")
}

// refuses asks several routes about a directory whose file cannot be used.
func (s *site) refuses(t *testing.T, name string, keys ...string) {
	t.Helper()
	for _, path := range []string{"/config", "/mcp", "/experimental/tool/ids", "/config/providers"} {
		answer := ask(t, http.MethodGet, s.url(path, s.directory), nil)
		require.Equal(t, http.StatusBadRequest, answer.status, path)
		var body struct {
			Name string
			Data struct {
				Path   string
				Issues []struct{ Path []string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(answer.body), &body), path)
		require.Equal(t, name, body.Name, path)
		require.Equal(t, filepath.Join(s.directory, "opencode.json"), body.Data.Path, path)
		if len(keys) > 0 {
			require.Len(t, body.Data.Issues, 1, path)
			require.Equal(t, keys, body.Data.Issues[0].Path, path)
		}
	}
}

func checkModels(t *testing.T, s *site) {
	var list struct {
		Providers []struct {
			ID     string
			Models map[string]struct {
				Capabilities struct{ Toolcall *bool }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(s.get(t, "/config/providers")), &list))
	require.NotEmpty(t, list.Providers)
	require.NotEmpty(t, list.Providers[0].ID)
	require.NotEmpty(t, list.Providers[0].Models)
	for name, model := range list.Providers[0].Models {
		require.NotNil(t, model.Capabilities.Toolcall, name)
	}
}

func checkNoMCPTools(t *testing.T, s *site) {
	withResources(t, s, 0)
	var tools []struct{ ID string }
	answer := ask(t, http.MethodGet, s.url("/experimental/tool", s.directory)+"&provider=any&model="+url.QueryEscape("a/b"), nil)
	require.Equal(t, http.StatusOK, answer.status)
	require.NoError(t, json.Unmarshal([]byte(answer.body), &tools))
	ids := make([]string, 0, len(tools))
	for _, tool := range tools {
		ids = append(ids, tool.ID)
	}
	require.Contains(t, ids, "bash")
	for _, list := range []string{answer.body, s.get(t, "/experimental/tool/ids")} {
		require.NotContains(t, list, `"cloud_`)
	}
}

func checkMissingQuery(t *testing.T, s *site) {
	answer := ask(t, http.MethodGet, s.url("/experimental/tool", s.directory)+"&provider=any", nil)
	require.Equal(t, http.StatusBadRequest, answer.status)
	require.JSONEq(t, `{"name":"BadRequest","data":{"message":"Missing key\n  at [\"model\"]","kind":"Query"}}`, answer.body)
}
