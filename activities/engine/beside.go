package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

// errBesideStatus marks the failure of a call that a delivery needs beside the status read. A look is satisfied as soon as
// statuses are told again, so such a failure must not read as an engine that cannot be asked: it is tried again with
// backoff.
var errBesideStatus = errors.New("the engine tells statuses, but not all that a delivery needs")

// inConfiguration reports whether the engine's own configuration defines a server of the name.
func inConfiguration(ctx context.Context, engine *engineapi.Client, want desired.Resolved) (bool, error) {
	servers, err := engine.ConfiguredServers(ctx, want.Directory)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errBesideStatus, err)
	}
	return defines(servers, want.Name), nil
}

// inUse reports whether a session may use the clients of the directory.
func inUse(ctx context.Context, engine *engineapi.Client, want desired.Resolved) (bool, error) {
	sessions, err := engine.Sessions(ctx, want.Directory)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errBesideStatus, err)
	}
	return engineapi.Busy(sessions), nil
}

// defines reports whether there is an entry of the name that defines a server. One that only switches a server on or off
// does not.
func defines(servers map[string]json.RawMessage, name string) bool {
	raw, ok := servers[name]
	if !ok {
		return false
	}
	var entry map[string]json.RawMessage
	if json.Unmarshal(raw, &entry) != nil {
		return true
	}
	delete(entry, "enabled")
	return len(entry) > 0
}
