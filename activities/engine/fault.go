package engine

import (
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
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
	if fault.Kind == httpclient.KindStatus && !fault.Temporary() {
		return health.EngineStatusUnavailable(fault.Status)
	}
	return health.EngineUnreachable(health.StageEngineDelivery, fault.Error())
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
