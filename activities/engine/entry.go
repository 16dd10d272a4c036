package engine

import (
	"context"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

// entryOf reads the engine's entry of what is wanted; one that is not there reads as missing.
func entryOf(ctx context.Context, engine *engineapi.Client, want desired.Resolved) (engineapi.Status, error) {
	statuses, err := engine.Statuses(ctx, want.Directory)
	if err != nil {
		return engineapi.Status{}, err
	}
	if entry, ok := statuses[want.Name]; ok {
		entry.Error = Scrub(entry.Error, want.Config)
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
