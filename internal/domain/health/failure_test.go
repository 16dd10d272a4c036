package health_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

type row struct {
	failure   health.Failure
	code      health.Code
	stage     health.Stage
	retryable bool
	alias     string
	phase     health.Phase
}

// catalogue has a row for every constructor and every way it can turn out.
func catalogue() map[string]row {
	const auth, engine, config, prereq = health.StageTransportAuth, health.StageEngineDelivery, health.StageDesiredConfig, health.StagePrerequisites
	const tools, projection = health.StageToolRegistration, health.StageProviderProjection
	const needsAuth, registration = health.PhaseEngineNeedsAuth, health.PhaseRegistrationFailed
	const missing, unreachable, failed = health.PhaseMissingDesired, health.PhaseEngineUnreachable, health.PhaseEngineFailed
	return map[string]row{
		"DesiredMissing":                  {health.DesiredMissing(), "cloud_mcp_missing", config, false, "cloud_desired_missing", missing},
		"EndpointInvalid":                 {health.EndpointInvalid("bad"), "cloud_endpoint_invalid", config, false, "", missing},
		"DesiredDisabled":                 {health.DesiredDisabled(), "cloud_mcp_disabled", config, false, "cloud_disabled", health.PhaseEngineDisabled},
		"SwitchedOff":                     {health.SwitchedOff(health.Decision{Workspace: "w", Name: "n"}), "cloud_mcp_disabled", config, false, "cloud_disabled", health.PhaseEngineDisabled},
		"TokenOrgMismatch":                {health.TokenOrgMismatch(), "cloud_token_org_mismatch", config, false, "", missing},
		"DirectoryAmbiguous":              {health.DirectoryAmbiguous(), "workspace_directory_ambiguous", prereq, false, "", health.PhaseWorkspaceAmbiguous},
		"EngineUnconfigured":              {health.EngineUnconfigured(), "opencode_unconfigured", prereq, false, "", health.PhaseEngineUnconfigured},
		"ConfigConflict":                  {health.ConfigConflict("n"), "engine_config_conflict", prereq, false, "", registration},
		"ToolsDenied":                     {health.ToolsDenied([]string{"t"}), "cloud_tools_denied", prereq, false, "", health.PhaseDeniedByTools},
		"TokenSourceUnreachable":          {health.TokenSourceUnreachable("c"), "token_source_unreachable", health.StageTokenMint, true, "", failed},
		"TokenSourceRejected":             {health.TokenSourceRejected("c"), "token_source_rejected", health.StageTokenMint, false, "", needsAuth},
		"TokenSourceInvalid":              {health.TokenSourceInvalid("c"), "token_source_invalid", health.StageTokenMint, false, "", needsAuth},
		"EngineUnreachable":               {health.EngineUnreachable(tools, "c"), "opencode_engine_unreachable", tools, true, "opencode_unreachable", unreachable},
		"EngineStatusUnavailable 500":     {health.EngineStatusUnavailable(500), "opencode_engine_unreachable", engine, true, "opencode_unreachable", unreachable},
		"EngineStatusUnavailable 404":     {health.EngineStatusUnavailable(404), "opencode_mcp_sync_failed", engine, false, "cloud_connection_failed", registration},
		"EngineEntryMissing":              {health.EngineEntryMissing(), "cloud_mcp_missing", engine, true, "cloud_status_missing", health.PhaseEngineMissing},
		"DeliveryUnproven":                {health.DeliveryUnproven("stale", true), "cloud_mcp_missing", engine, true, "cloud_status_missing", health.PhaseEngineMissing},
		"EngineDisabled":                  {health.EngineDisabled(), "cloud_mcp_disabled", engine, false, "cloud_disabled", health.PhaseEngineDisabled},
		"NeedsAuth":                       {health.NeedsAuth(""), "cloud_mcp_needs_auth", auth, false, "openwork_cloud_auth_required", needsAuth},
		"ClientRegistrationRequired":      {health.ClientRegistrationRequired(""), "opencode_mcp_sync_failed", engine, false, "openwork_cloud_client_registration_required", registration},
		"SyncFailed":                      {health.SyncFailed(true, ""), "opencode_mcp_sync_failed", engine, true, "cloud_connection_failed", registration},
		"SyncFailed for good":             {health.SyncFailed(false, ""), "opencode_mcp_sync_failed", engine, false, "cloud_connection_failed", registration},
		"RegistrationFailed":              {health.RegistrationFailed(true, ""), "opencode_mcp_sync_failed", engine, true, "cloud_registration_failed", registration},
		"InvalidToken":                    {health.InvalidToken(auth, health.AliasTokenExpired, "m"), "invalid_mcp_token", auth, false, "openwork_cloud_token_expired", needsAuth},
		"MissingToken":                    {health.MissingToken(""), "missing_mcp_token", auth, false, "openwork_cloud_auth_required", needsAuth},
		"SessionRevoked":                  {health.SessionRevoked(""), "mcp_session_revoked", auth, false, "", needsAuth},
		"SessionLost":                     {health.SessionLost(""), "mcp_session_lost", auth, true, "", registration},
		"MembershipRevoked":               {health.MembershipRevoked(""), "mcp_membership_revoked", auth, false, "openwork_cloud_membership_required", needsAuth},
		"InsufficientScope":               {health.InsufficientScope(""), "insufficient_mcp_scope", auth, false, "openwork_cloud_scope_missing", needsAuth},
		"WrongResource":                   {health.WrongResource(health.AliasResourceForbidden, "m"), "wrong_mcp_resource", auth, false, "openwork_cloud_resource_forbidden", needsAuth},
		"EndpointUnreachable":             {health.EndpointUnreachable("c", nil), "mcp_endpoint_unreachable", engine, true, "", failed},
		"ProbeUnreachable":                {health.ProbeUnreachable("c", nil), "probe_unreachable", tools, true, "", failed},
		"ToolsMissing":                    {health.ToolsMissing(false, []string{"a"}, "m"), "cloud_tools_missing", tools, false, "", health.PhaseToolsMissing},
		"EndpointAnswered 404":            {health.EndpointAnswered(health.Answer{HTTPStatus: 404, To: "initialize", First: true}, nil), "cloud_tools_missing", tools, false, "", health.PhaseToolsMissing},
		"EndpointAnswered 502":            {health.EndpointAnswered(health.Answer{HTTPStatus: 502, To: "tools_list"}, nil), "cloud_tools_missing", tools, true, "", health.PhaseToolsMissing},
		"NotMCP":                          {health.NotMCP(nil, "m"), "cloud_tools_missing", tools, false, "", health.PhaseToolsMissing},
		"ToolIDsUnsupported":              {health.ToolIDsUnsupported(404), "opencode_tool_ids_unsupported", tools, false, "", health.PhaseToolIDsUnsupported},
		"ToolIDsUnavailable 500":          {health.ToolIDsUnavailable(500), "opencode_tool_ids_unavailable", tools, true, "", failed},
		"ToolIDsUnavailable 400":          {health.ToolIDsUnavailable(400), "opencode_tool_ids_unavailable", tools, false, "", failed},
		"ProjectionMissing":               {health.ProjectionMissing("p", "m"), "provider_tool_projection_missing", projection, false, "provider_projection_missing", health.PhaseProjectionMissing},
		"ProjectionUnavailable 502":       {health.ProjectionUnavailable(502), "provider_tool_projection_missing", projection, true, "provider_projection_unavailable", health.PhaseProjectionMissing},
		"ProjectionUnavailable 400":       {health.ProjectionUnavailable(400), "provider_tool_projection_missing", projection, false, "provider_projection_unavailable", health.PhaseProjectionMissing},
		"PluginMissing":                   {health.PluginMissing([]string{"openwork_query"}), "extensions_plugin_missing", health.StagePluginLoad, true, "", health.PhasePluginMissing},
		"stored by others: alias as code": {health.Failure{Code: health.AliasClientRegistrationRequired, Stage: engine}, "openwork_cloud_client_registration_required", engine, false, "", health.PhaseEngineNeedsClientRegistration},
	}
}

func TestEveryFailureHasItsCodeStageRetryabilityAliasAndPhase(t *testing.T) {
	t.Parallel()
	for name, tc := range catalogue() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.code, tc.failure.Code)
			require.Equal(t, tc.stage, tc.failure.Stage)
			require.Equal(t, tc.retryable, tc.failure.Retryable)
			require.Equal(t, tc.alias, firstAlias(tc.failure))
			require.Equal(t, tc.phase, health.PhaseOf(&tc.failure))

			text, err := json.Marshal(tc.failure)
			require.NoError(t, err)
			var back health.Failure
			require.NoError(t, json.Unmarshal(text, &back))
			require.Equal(t, tc.failure, back, "a failure survives its JSON form")
		})
	}
}

func TestEveryConstructedFailureTellsAPersonWhatToDo(t *testing.T) {
	t.Parallel()
	for name, tc := range catalogue() {
		if tc.failure.Message == "" {
			continue // a record of another writer
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, tc.failure.RecommendedAction)
			require.Equal(t, string(tc.failure.Code)+": "+tc.failure.Message, tc.failure.Error())
		})
	}
}

func TestPhaseWithoutAFailureIsReady(t *testing.T) {
	t.Parallel()
	require.Equal(t, health.PhaseReady, health.PhaseOf(nil))
}

func TestCase25AbsenceDependsOnTheStage(t *testing.T) {
	t.Parallel()
	absent := health.FromEngineStatus("", "")
	require.Equal(t, health.CodeCloudMissing, absent.Code)
	require.Equal(t, health.StageEngineDelivery, absent.Stage)
	require.Equal(t, health.PhaseEngineMissing, health.PhaseOf(absent))

	nothing := health.DesiredMissing()
	require.Equal(t, health.CodeCloudMissing, nothing.Code)
	require.Equal(t, health.StageDesiredConfig, nothing.Stage)
	require.Equal(t, health.PhaseMissingDesired, health.PhaseOf(&nothing))
}

func TestCase26EngineStatusesBecomeFailures(t *testing.T) {
	t.Parallel()
	require.Nil(t, health.FromEngineStatus("connected", "an old error"))
	for _, tc := range []struct {
		status    string
		code      health.Code
		retryable bool
	}{
		{"disabled", health.CodeDisabled, false},
		{"needs_auth", health.CodeNeedsAuth, false},
		{"needs_client_registration", health.CodeSyncFailed, false},
		{"pending", health.CodeSyncFailed, true},
		{"unknown", health.CodeSyncFailed, true},
	} {
		t.Run(tc.status, func(t *testing.T) {
			t.Parallel()
			f := health.FromEngineStatus(tc.status, "")
			require.Equal(t, tc.code, f.Code)
			require.Equal(t, tc.retryable, f.Retryable)
		})
	}
}

func TestFirstFailureFollowsTheOrderOfPrecedence(t *testing.T) {
	t.Parallel()
	inOrder := []health.Failure{
		health.DesiredMissing(), health.DesiredDisabled(), health.DirectoryAmbiguous(),
		health.EngineUnconfigured(), health.ToolsDenied(nil), health.EngineEntryMissing(),
	}
	rapid.Check(t, func(t *rapid.T) {
		var given [6]*health.Failure
		var want *health.Failure
		for i := range inOrder {
			if !rapid.Bool().Draw(t, "present") {
				continue
			}
			given[i] = &inOrder[i]
			if want == nil {
				want = given[i]
			}
		}
		var inspection []health.Failure
		if given[5] != nil {
			inspection = []health.Failure{*given[5], health.PluginMissing(nil)}
		}
		require.Equal(t, want, health.First(given[0], given[1], given[2], given[3], given[4], inspection))
	})
}

func TestIDsAreHarvestedFromKeysAndTexts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		failure   health.Failure
		request   string
		reference string
	}{
		{"text", health.SyncFailed(true, "x Request-ID: req_1; reference id = ref.2"), "req_1", "ref.2"},
		{"header", health.SyncFailed(true, "x-request-id: a:b-c"), "a:b-c", ""},
		{"json text", health.SyncFailed(true, "request_id=req_123 reference_id=ref_456"), "req_123", "ref_456"},
		{"key", health.ToolsDenied([]any{map[string]any{"X-Request-Id": "r1", "reference_id": "r2"}}), "r1", "r2"},
		{"key of no text", health.ToolsDenied(map[string]any{"requestId": 5, "z": "request id 7"}), "7", ""},
		{"chain", health.ProbeUnreachable("failed", []struct{ Message string }{{"request id: r9"}}), "r9", ""},
		{"a secret is no id", health.SyncFailed(true, "request id: ghp_abc"), "", ""},
		{"nothing", health.SyncFailed(true, "fetch failed"), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.request, tc.failure.RequestID)
			require.Equal(t, tc.reference, tc.failure.ReferenceID)
		})
	}
}

func TestNoFailureCarriesASecret(t *testing.T) {
	t.Parallel()
	const secret = "Qz7planted0secret9Q"
	text := "Bearer " + secret + " https://u:" + secret + "@host/p?access_token=" + secret
	for name, f := range map[string]health.Failure{
		"text":    health.ClassifyText(text),
		"status":  *health.FromEngineStatus(text, ""),
		"message": health.EndpointInvalid(text),
		"alias":   health.InvalidToken(health.StageTransportAuth, text, text),
		"chain":   health.EndpointUnreachable(text, []any{map[string]any{"message": text, "Authorization": secret}}),
		"denies":  health.ToolsDenied([]string{text}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := json.Marshal(f)
			require.NoError(t, err)
			require.NotContains(t, string(out)+f.Error(), secret)
		})
	}
}
