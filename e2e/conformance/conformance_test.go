package conformance_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

// scenarios is how many the pinned suite has for servers.
const scenarios = 32

// checks are those of the scenarios that have other checks than one of their own name. All have to succeed. A check that the suite
// found to be not applicable is none of these, so nothing passes by not being looked at.
var checks = map[string][]string{
	"dns-rebinding-protection": {"localhost-host-rebinding-rejected", "localhost-host-valid-accepted"},
	"json-schema-2020-12": {
		"json-schema-2020-12-tool-found", "json-schema-2020-12-$schema", "json-schema-2020-12-$defs",
		"json-schema-2020-12-additionalProperties",
	},
	"elicitation-sep1034-defaults": {
		"elicitation-sep1034-string-default", "elicitation-sep1034-integer-default", "elicitation-sep1034-number-default",
		"elicitation-sep1034-enum-default", "elicitation-sep1034-boolean-default",
	},
	"elicitation-sep1330-enums": {
		"elicitation-sep1330-untitled-single", "elicitation-sep1330-titled-single", "elicitation-sep1330-legacy-enumnames",
		"elicitation-sep1330-untitled-multi", "elicitation-sep1330-titled-multi",
	},
	"server-sse-polling":          {"server-sse-priming-event", "server-sse-retry-field", "server-sse-disconnect-resume"},
	"server-sse-multiple-streams": {"server-accepts-multiple-post-streams", "server-sse-streams-functional"},
}

// notes are what the suite notes of requests and answers beside its checks.
var notes = []string{"outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed"}

// passes runs one scenario and requires that each of its checks was made and succeeded.
func passes(t *testing.T, url, scenario string) {
	t.Helper()
	wanted, several := checks[scenario]
	if !several {
		wanted = []string{scenario}
	}
	var succeeded []string
	for _, check := range testkit.Conformance(t, url, scenario) {
		switch check.Status {
		case "SUCCESS":
			succeeded = append(succeeded, check.ID)
		case "INFO":
			require.Contains(t, notes, check.ID, "%s: not looked at: %s", scenario, check.Details)
		default:
			require.Failf(t, "a check did not succeed", "%s: %s %s: %s\n%s", scenario, check.ID, check.Status, check.ErrorMessage, check.Details)
		}
		if scenario == "server-sse-multiple-streams" {
			requireStreams(t, check)
		}
	}
	require.ElementsMatch(t, wanted, succeeded)
}

// requireStreams requires that the three requests of the scenario were answered by three streams, each of which was read.
func requireStreams(t *testing.T, check testkit.Check) {
	t.Helper()
	var seen struct{ NumStreamsAccepted, NumSseStreams, FunctionalSseStreams *int }
	require.NoError(t, json.Unmarshal(check.Details, &seen))
	require.NotNil(t, seen.NumSseStreams)
	for _, count := range []*int{seen.NumStreamsAccepted, seen.NumSseStreams, seen.FunctionalSseStreams} {
		if count != nil {
			require.Equal(t, 3, *count, check.ID)
		}
	}
}

func TestEveryScenarioForServersPasses(t *testing.T) {
	t.Parallel()
	url := testHost(t).Start().URL
	all := testkit.ConformanceScenarios(t)
	require.Len(t, all, scenarios)
	for scenario := range checks {
		require.Contains(t, all, scenario)
	}
	for _, scenario := range all {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			passes(t, url, scenario)
		})
	}
}

// Requests meet the replicas in turn, whichever session they belong to: what was negotiated, asked or streamed at one, the other knows
// only by the store.
func TestScenariosWithSomethingToRememberPassOverTwoReplicas(t *testing.T) {
	t.Parallel()
	g := testHost(t)
	url := front(t, "", g.Start().URL, g.Start().URL) + "/mcp"
	for _, scenario := range []string{
		"server-sse-polling", "server-sse-multiple-streams", "tools-call-with-logging", "tools-call-sampling", "tools-call-elicitation",
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			passes(t, url, scenario)
		})
	}
}

func TestScenariosThatNeedNoToolsOfTheirOwnPassAtTheRealGateway(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{NoWorker: true})
	url := front(t, s.Token(auth.RoleCollaborator), s.StartGateway().URL) + "/mcp"
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			passes(t, url, scenario)
		})
	}
}
