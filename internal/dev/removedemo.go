package dev

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// removeDemo takes away what an earlier start with the demo has left: its engine is gone, so its connection could only
// fail.
func (r *runner) removeDemo(ctx context.Context) error {
	left, err := r.store.ListDesired(ctx, store.Filter{EngineID: demoEngineID})
	if err != nil || len(left) == 0 {
		return err
	}
	for _, want := range left {
		if _, err := r.store.DeleteDesired(ctx, want.Key); err != nil {
			return fmt.Errorf("remove demo: %w", err)
		}
		_, err := r.connections().Remove(ctx, want.Key, "", connection.Request{Trigger: "dev --no-demo"})
		if err != nil && !errors.Is(err, connection.ErrNotFound) {
			return fmt.Errorf("remove demo: %w", err)
		}
		if err := r.store.DeleteRuntime(ctx, want.Key); err != nil {
			return fmt.Errorf("remove demo: %w", err)
		}
	}
	places, err := r.store.Workspaces(ctx, store.WorkspaceFilter{EngineID: demoEngineID})
	if err != nil {
		return fmt.Errorf("remove demo: %w", err)
	}
	for _, place := range places {
		if _, err := r.store.DeleteWorkspace(ctx, place.ID, place.Directory); err != nil {
			return fmt.Errorf("remove demo: %w", err)
		}
	}
	if _, err := r.store.DeleteEngine(ctx, demoEngineID); err != nil {
		return fmt.Errorf("remove demo: %w", err)
	}
	fmt.Fprintln(r.Err, "the demo of an earlier start was removed")
	return nil
}
