package health

// Code names one kind of failure. Codes are part of the wire contract.
type Code string

// Codes of failures. The constructors of this package are the only places that
// combine them with a stage and a retryability.
const (
	CodeCloudMissing           Code = "cloud_mcp_missing"
	CodeEndpointInvalid        Code = "cloud_endpoint_invalid"
	CodeDisabled               Code = "cloud_mcp_disabled"
	CodeInvalidToken           Code = "invalid_mcp_token"        //nolint:gosec // a name, no credential
	CodeMissingToken           Code = "missing_mcp_token"        //nolint:gosec // a name, no credential
	CodeTokenOrgMismatch       Code = "cloud_token_org_mismatch" //nolint:gosec // a name, no credential
	CodeNeedsAuth              Code = "cloud_mcp_needs_auth"
	CodeSessionRevoked         Code = "mcp_session_revoked"
	CodeSessionLost            Code = "mcp_session_lost"
	CodeMembershipRevoked      Code = "mcp_membership_revoked"
	CodeInsufficientScope      Code = "insufficient_mcp_scope"
	CodeWrongResource          Code = "wrong_mcp_resource"
	CodeEngineUnreachable      Code = "opencode_engine_unreachable"
	CodeSyncFailed             Code = "opencode_mcp_sync_failed"
	CodeDirectoryAmbiguous     Code = "workspace_directory_ambiguous"
	CodeEngineUnconfigured     Code = "opencode_unconfigured"
	CodeToolsDenied            Code = "cloud_tools_denied"
	CodeToolIDsUnsupported     Code = "opencode_tool_ids_unsupported"
	CodeToolIDsUnavailable     Code = "opencode_tool_ids_unavailable"
	CodeProbeUnreachable       Code = "probe_unreachable"
	CodeToolsMissing           Code = "cloud_tools_missing"
	CodeProjectionMissing      Code = "provider_tool_projection_missing"
	CodeProjectionUnavailable  Code = "provider_projection_unavailable"
	CodePluginMissing          Code = "extensions_plugin_missing"
	CodeEndpointUnreachable    Code = "mcp_endpoint_unreachable"
	CodeEngineConfigConflict   Code = "engine_config_conflict"
	CodeTokenSourceUnreachable Code = "token_source_unreachable" //nolint:gosec // a name, no credential
	CodeTokenSourceRejected    Code = "token_source_rejected"    //nolint:gosec // a name, no credential
	CodeTokenSourceInvalid     Code = "token_source_invalid"
)

// Aliases are second names of a failure, kept for readers of the public
// protocol. They are untyped, because readers compare them with codes as well.
const (
	AliasDesiredMissing             = "cloud_desired_missing"
	AliasStatusMissing              = "cloud_status_missing"
	AliasDisabled                   = "cloud_disabled"
	AliasAuthRequired               = "openwork_cloud_auth_required"
	AliasAuthInvalid                = "openwork_cloud_auth_invalid"
	AliasTokenExpired               = "openwork_cloud_token_expired"
	AliasMembershipRequired         = "openwork_cloud_membership_required"
	AliasScopeMissing               = "openwork_cloud_scope_missing"
	AliasResourceForbidden          = "openwork_cloud_resource_forbidden"
	AliasResourceNotFound           = "openwork_cloud_resource_not_found"
	AliasClientRegistrationRequired = "openwork_cloud_client_registration_required"
	AliasEngineUnreachable          = "opencode_unreachable"
	AliasConnectionFailed           = "cloud_connection_failed"
	AliasRegistrationFailed         = "cloud_registration_failed"
	AliasProjectionMissing          = "provider_projection_missing"
	AliasProjectionUnavailable      = "provider_projection_unavailable"
)

// Stage is the step of the way from desired config to usable tools at which a
// failure was found.
type Stage string

// Stages, in the order in which a connection passes them.
const (
	StagePrerequisites      Stage = "prerequisites"
	StageTokenMint          Stage = "token_mint"
	StageDesiredConfig      Stage = "desired_config"
	StageEngineDelivery     Stage = "engine_delivery"
	StageTransportAuth      Stage = "transport_auth"
	StageToolRegistration   Stage = "tool_registration"
	StageProviderProjection Stage = "provider_projection"
	StagePluginLoad         Stage = "plugin_load"
	StageSteering           Stage = "steering"
)

// Phase sums a connection up in one word: [PhaseReady], or what the first
// failure means for it.
type Phase string

// Phases of a connection.
const (
	PhaseReady                         Phase = "ready"
	PhaseEngineMissing                 Phase = "engine_missing"
	PhaseMissingDesired                Phase = "missing_desired"
	PhaseWorkspaceAmbiguous            Phase = "workspace_ambiguous"
	PhaseEngineUnconfigured            Phase = "engine_unconfigured"
	PhaseEngineUnreachable             Phase = "engine_unreachable"
	PhaseEngineDisabled                Phase = "engine_disabled"
	PhaseEngineNeedsAuth               Phase = "engine_needs_auth"
	PhaseEngineNeedsClientRegistration Phase = "engine_needs_client_registration"
	PhaseRegistrationFailed            Phase = "registration_failed"
	PhaseDeniedByTools                 Phase = "denied_by_tools"
	PhaseToolIDsUnsupported            Phase = "tool_ids_unsupported"
	PhaseToolsMissing                  Phase = "cloud_tools_missing"
	PhaseProjectionMissing             Phase = "provider_projection_missing"
	PhasePluginMissing                 Phase = "extensions_plugin_missing"
	PhaseEngineFailed                  Phase = "engine_failed"
)
