package health

// phases maps the code of the first failure to a phase. Aliases are in it
// because stored failures of other writers may carry one as their code.
var phases = map[Code]Phase{
	CodeCloudMissing:                PhaseMissingDesired,
	AliasDesiredMissing:             PhaseMissingDesired,
	CodeDesiredUnreadable:           PhaseMissingDesired,
	CodeEndpointInvalid:             PhaseMissingDesired,
	CodeTokenOrgMismatch:            PhaseMissingDesired,
	CodeDirectoryAmbiguous:          PhaseWorkspaceAmbiguous,
	CodeEngineUnconfigured:          PhaseEngineUnconfigured,
	CodeEngineUnreachable:           PhaseEngineUnreachable,
	AliasEngineUnreachable:          PhaseEngineUnreachable,
	AliasStatusMissing:              PhaseEngineMissing,
	CodeDisabled:                    PhaseEngineDisabled,
	AliasDisabled:                   PhaseEngineDisabled,
	CodeNeedsAuth:                   PhaseEngineNeedsAuth,
	CodeInvalidToken:                PhaseEngineNeedsAuth,
	CodeMissingToken:                PhaseEngineNeedsAuth,
	CodeSessionRevoked:              PhaseEngineNeedsAuth,
	CodeMembershipRevoked:           PhaseEngineNeedsAuth,
	CodeInsufficientScope:           PhaseEngineNeedsAuth,
	CodeWrongResource:               PhaseEngineNeedsAuth,
	AliasAuthRequired:               PhaseEngineNeedsAuth,
	AliasAuthInvalid:                PhaseEngineNeedsAuth,
	AliasTokenExpired:               PhaseEngineNeedsAuth,
	CodeTokenSourceRejected:         PhaseEngineNeedsAuth,
	CodeTokenSourceInvalid:          PhaseEngineNeedsAuth,
	AliasClientRegistrationRequired: PhaseEngineNeedsClientRegistration,
	CodeSyncFailed:                  PhaseRegistrationFailed,
	AliasRegistrationFailed:         PhaseRegistrationFailed,
	CodeSessionLost:                 PhaseRegistrationFailed,
	CodeEngineConfigConflict:        PhaseRegistrationFailed,
	CodeToolsDenied:                 PhaseDeniedByTools,
	CodeToolIDsUnsupported:          PhaseToolIDsUnsupported,
	CodeToolsMissing:                PhaseToolsMissing,
	CodeProjectionMissing:           PhaseProjectionMissing,
	AliasProjectionMissing:          PhaseProjectionMissing,
	CodeProjectionUnavailable:       PhaseProjectionMissing,
	CodePluginMissing:               PhasePluginMissing,
}

// PhaseOf is the phase of a connection whose first failure is given; nil means
// that there is none. A failure of an unlisted code is [PhaseEngineFailed].
func PhaseOf(first *Failure) Phase {
	if first == nil {
		return PhaseReady
	}
	if first.Code == CodeCloudMissing && first.Stage == StageEngineDelivery {
		return PhaseEngineMissing
	}
	if phase, ok := phases[first.Code]; ok {
		return phase
	}
	return PhaseEngineFailed
}

// First picks the failure that a connection is shown with. The order of the
// parameters is the order of precedence: what comes first explains the rest.
// inspection is ordered by the caller: server status, tool ids, direct probe,
// projection, plugins.
func First(desired, validation, directory, engine, denies *Failure, inspection []Failure) *Failure { //nolint:revive // six, because the parameter order is the precedence
	for _, f := range []*Failure{desired, validation, directory, engine, denies} {
		if f != nil {
			return f
		}
	}
	if len(inspection) > 0 {
		return &inspection[0]
	}
	return nil
}
