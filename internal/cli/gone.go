package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// explainGone says more of a connection that does not run and is wanted all the same. Any other error stays as it is.
func (s *session) explainGone(ctx context.Context, key delivery.Key, err error) error {
	if exitCode(err) != ExitNotFound || s.remote == nil {
		return err
	}
	wanted, fault := s.stored(ctx, address{workspace: key.Workspace, name: key.Name})
	if fault != nil || !slices.Contains(wanted, key) {
		return err
	}
	const next = "holdfast fleet reconcile, or apply it again"
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	if _, unknown := s.remote.Connections.Describe(ctx, key); errors.Is(unknown, connection.ErrNotFound) {
		return notFoundf("%s is wanted, but Temporal knows no workflow of it; start one: %s", short(key), next)
	}
	return notFoundf("%s is wanted, but its workflow was ended by hand; start it again: %s", short(key), next)
}
