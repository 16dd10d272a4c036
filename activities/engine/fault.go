package engine

import (
	"errors"
	"slices"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// statusMissing is our word for an engine that has no entry of the name.
const statusMissing = "missing"

// engineFailure says what a failed call of the engine means for the connection.
func engineFailure(err error) health.Failure {
	var fault *httpclient.Error
	if !errors.As(err, &fault) {
		return health.EngineUnreachable(health.StageEngineDelivery, err.Error())
	}
	if errors.Is(err, errBesideStatus) {
		return health.RegistrationFailed(true, fault.Error())
	}
	if fault.Kind == httpclient.KindStatus && !fault.Temporary() {
		f := health.EngineStatusUnavailable(fault.Status)
		f.Details["error"] = redact.String(fault.Error())
		return f
	}
	return health.EngineUnreachable(health.StageEngineDelivery, fault.Error())
}

// pushFailure says what a failed push means. Once it was sent, its failure says nothing about whether the engine can be
// reached: that would make a look try again as soon as the engine answers anything.
func pushFailure(err error) health.Failure {
	var fault *httpclient.Error
	if !errors.As(err, &fault) || neverSent(err) {
		return engineFailure(err)
	}
	return health.RegistrationFailed(fault.Kind != httpclient.KindStatus || fault.Temporary(), fault.Error())
}

// statusRefused reports whether a failure says that the engine answers and refuses to tell its statuses, as it does with
// a wrong password. It is over as soon as the engine tells them.
func statusRefused(f *health.Failure) bool {
	return f != nil && f.Code == health.CodeSyncFailed && !f.Retryable &&
		slices.Contains(f.Aliases, health.AliasConnectionFailed)
}

// unreachable reports whether an engine did not answer, or may answer later.
func unreachable(err error) bool {
	return err != nil && engineFailure(err).Retryable
}

// refused reports whether a push was answered with a refusal, after which nothing is under way. From 500 on the answer may
// be that of a proxy which gave up before the engine did.
func refused(err error) bool {
	var fault *httpclient.Error
	return errors.As(err, &fault) && fault.Kind == httpclient.KindStatus && fault.Status < 500
}

// neverSent reports whether a push cannot have reached the engine: the connection itself was refused.
func neverSent(err error) bool {
	for _, link := range httpclient.Chain(err) {
		if link.Code == "ECONNREFUSED" || link.Code == "ENOTFOUND" {
			return true
		}
	}
	return false
}
