package denies_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/denies"
)

const (
	search  = "openwork-cloud_search_capabilities"
	execute = "openwork-cloud_execute_capability"
)

func tools() []string { return []string{search, execute} }

// config reads what an engine answers to GET /config or GET /global/config.
func config(t *testing.T, text string) denies.Config {
	t.Helper()
	var raw struct {
		Permission, Tools json.RawMessage
		DefaultAgent      string `json:"default_agent"`
		Agent             map[string]denies.Agent
	}
	require.NoError(t, json.Unmarshal([]byte(text), &raw))
	return denies.Config{Permission: raw.Permission, Tools: raw.Tools, Agents: raw.Agent, DefaultAgent: raw.DefaultAgent}
}

func denial(source, style, pattern string, matched ...string) []denies.Denial {
	out := []denies.Denial{}
	for _, tool := range matched {
		out = append(out, denies.Denial{Source: source, Style: style, Pattern: pattern, Matched: tool})
	}
	return out
}

// The configurations are what engine 1.18.33 told for the files that a claim names; what is expected is what it then
// offered to a model, or refused to call.
func TestCase51DeniesAreTheEngines(t *testing.T) {
	t.Parallel()
	const project, global = denies.SourceProject, denies.SourceGlobal
	for _, tc := range []struct {
		claim             string
		effective, global string
		want              []denies.Denial
	}{
		{"nothing is said", `{}`, `{}`, denial("", "", "")},
		{
			"tools switch all off", `{"permission":{"openwork-cloud_*":"deny"},"tools":{"openwork-cloud_*":false}}`, `{}`,
			denial(project, "tools", "openwork-cloud_*", search, execute),
		},
		{
			"tools switch search off", `{"permission":{"` + search + `":"deny"},"tools":{"` + search + `":false}}`, `{}`,
			denial(project, "tools", search, search),
		},
		{
			"global tools off, project search on",
			`{"permission":{"openwork-cloud_*":"deny","` + search + `":"allow"},"tools":{"openwork-cloud_*":false,"` + search + `":true}}`,
			`{"tools":{"openwork-cloud_*":false}}`,
			denial(global, "tools", "openwork-cloud_*", execute),
		},
		{
			"global permission denies execute", `{"permission":{"` + execute + `":"deny"}}`, `{"permission":{"` + execute + `":"deny"}}`,
			denial(global, "permission", execute, execute),
		},
		{"another tool is off", `{"permission":{"openwork_query":"deny"},"tools":{"openwork_query":false}}`, `{}`, denial("", "", "")},
		{"permission is deny", `{"permission":{"*":"deny"}}`, `{}`, denial(project, "permission", "*", search, execute)},
		{"all tools are off", `{"permission":{"*":"deny"},"tools":{"*":false}}`, `{}`, denial(project, "tools", "*", search, execute)},
		{"mcp.* is no name of ours", `{"permission":{"mcp.*":"deny"},"tools":{"mcp.*":false}}`, `{}`, denial("", "", "")},
		{"mcp* is no name of ours", `{"permission":{"mcp*":"deny"},"tools":{"mcp*":false}}`, `{}`, denial("", "", "")},
		{
			"names that only look alike",
			`{"permission":{"mcp":"deny","openwork-cloud":"deny","mcp.other.*":"deny","bash":"deny","":"deny","OPENWORK-CLOUD_*":"deny"}}`,
			`{}`, denial("", "", ""),
		},
		{"there is no negation", `{"permission":{"!bash":"deny"},"tools":{"!bash":false}}`, `{}`, denial("", "", "")},
		{"a rule for bash is for bash", `{"permission":{"bash":{"*":"deny"}}}`, `{}`, denial("", "", "")},
		{"tools is the name of a tool here", `{"permission":{"tools":"deny"}}`, `{}`, denial("", "", "")},
		{"also with rules below it", `{"permission":{"tools":{"openwork-cloud_*":"deny"}}}`, `{}`, denial("", "", "")},
		{"the last match wins", `{"permission":{"*":"deny","openwork-cloud_*":"allow"}}`, `{}`, denial("", "", "")},
		{
			"and it is the last by its place", `{"permission":{"openwork-cloud_*":"allow","*":"deny"}}`, `{}`,
			denial(project, "permission", "*", search, execute),
		},
		{
			"a project allows what the global file denied in the same place", `{"permission":{"openwork-cloud_*":"deny","*":"allow"}}`,
			`{"permission":{"openwork-cloud_*":"deny"}}`, denial("", "", ""),
		},
		{
			"a tool is offered and every call of it refused", `{"permission":{"openwork-cloud_*":{"*":"deny","foo":"allow"}}}`, `{}`,
			denial(project, "permission", "openwork-cloud_*", search, execute),
		},
		{
			"one character is any one", `{"permission":{"openwork-cloud_*":{"?":"deny"}}}`, `{}`,
			denial(project, "permission", "openwork-cloud_*", search, execute),
		},
		{"a rule for other calls", `{"permission":{"openwork-cloud_*":{"foo":"deny"}}}`, `{}`, denial("", "", "")},
		{"asking is no denial", `{"permission":{"openwork-cloud_*":"ask"}}`, `{}`, denial("", "", "")},
		{
			"the default agent's permission", `{"agent":{"build":{"options":{},"permission":{"openwork-cloud_*":"deny"}}}}`, `{}`,
			denial(project, "agent.permission", "openwork-cloud_*", search, execute),
		},
		{
			"the default agent's tools", `{"agent":{"build":{"tools":{"` + search + `":false},"permission":{"` + search + `":"deny"}}}}`,
			`{"agent":{"build":{"tools":{"` + search + `":false}}}}`, denial(global, "agent.tools", search, search),
		},
		{
			"another agent is the default", `{"default_agent":"mine","agent":{"mine":{"permission":{"openwork-cloud_*":"deny"}}}}`, `{}`,
			denial(project, "agent.permission", "openwork-cloud_*", search, execute),
		},
		{"an agent that is not the default", `{"agent":{"mine":{"permission":{"openwork-cloud_*":"deny"}}}}`, `{}`, denial("", "", "")},
		{
			"an agent allows what all are denied", `{"permission":{"*":"deny"},"agent":{"build":{"permission":{"openwork-cloud_*":"allow"}}}}`,
			`{}`, denial("", "", ""),
		},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			t.Parallel()
			alone := config(t, tc.global)
			got, err := denies.Of(tools(), config(t, tc.effective), &alone)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestWithoutTheGlobalConfigurationTheSourceIsOpen(t *testing.T) {
	t.Parallel()
	got, err := denies.Of(tools(), config(t, `{"permission":"deny"}`), nil)
	require.NoError(t, err)
	require.Equal(t, denial(denies.SourceUnknown, "permission", "*", search, execute), got)
}

func TestAFormThatIsNotKnownIsAnErrorThatQuotesNothing(t *testing.T) {
	t.Parallel()
	for claim, text := range map[string]string{
		"a list of rules":         `{"permission":[{"permission":"secret","action":"deny"}]}`,
		"a number":                `{"permission":7}`,
		"an unknown action":       `{"permission":"secret"}`,
		"an unknown action below": `{"permission":{"a":"secret"}}`,
		"two levels too deep":     `{"permission":{"a":{"b":{"secret":"deny"}}}}`,
		"a list of denied tools":  `{"tools":{"deny":["secret"]}}`,
		"a switch that is a text": `{"tools":{"a":"secret"}}`,
		"a switch that is null":   `{"tools":{"secret":null}}`,
		"tools that are a list":   `{"tools":["secret"]}`,
		"an agent's permission":   `{"agent":{"build":{"permission":["secret"]}}}`,
		"an agent's tools":        `{"agent":{"build":{"tools":["secret"]}}}`,
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			none := denies.Config{}
			_, err := denies.Of(tools(), config(t, text), &none)
			require.ErrorIs(t, err, denies.ErrShape)
			require.NotContains(t, err.Error(), "secret")
		})
	}
	broken := denies.Config{Permission: json.RawMessage(`{"a":`)}
	_, err := denies.Of(tools(), denies.Config{}, &broken)
	require.ErrorIs(t, err, denies.ErrShape)
}

func TestNoToolsAreNotDenied(t *testing.T) {
	t.Parallel()
	got, err := denies.Of(nil, config(t, `{"permission":"deny"}`), nil)
	require.NoError(t, err)
	require.Equal(t, []denies.Denial{}, got)
}
