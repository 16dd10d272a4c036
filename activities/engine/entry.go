package engine

import (
	"context"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

// entryOf reads the engine's entry of a connection; one that is not there reads as missing.
func entryOf(ctx context.Context, engine *engineapi.Client, key delivery.Key) (engineapi.Status, error) {
	statuses, err := engine.Statuses(ctx, key.Directory)
	if err != nil {
		return engineapi.Status{}, err
	}
	if entry, ok := statuses[key.Name]; ok {
		return entry, nil
	}
	return engineapi.Status{Status: statusMissing}, nil
}

// entryFailure says what is wrong with an entry that is not connected.
func entryFailure(entry engineapi.Status) *health.Failure {
	status := entry.Status
	if status == statusMissing {
		status = ""
	}
	return health.FromEngineStatus(status, entry.Error)
}
