package engine

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// sweepWidth is how many directories of an engine are read side by side.
const sweepWidth = 16

// sweep reads what an engine has and signals the connections whose entry it has lost. The list of connections comes from
// the store each time.
type sweep struct {
	*Activities

	engineID string
	client   *engineapi.Client
}

// all sweeps every directory of the engine.
func (s sweep) all(ctx context.Context, reason string) error {
	byDirectory, err := s.keys(ctx)
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(sweepWidth)
	for directory, keys := range byDirectory {
		group.Go(func() error { return s.read(groupCtx, directory, keys, reason) })
	}
	return group.Wait()
}

// directory sweeps one directory.
func (s sweep) directory(ctx context.Context, directory, reason string) error {
	byDirectory, err := s.keys(ctx)
	if err != nil || len(byDirectory[directory]) == 0 {
		return err
	}
	return s.read(ctx, directory, byDirectory[directory], reason)
}

func (s sweep) keys(ctx context.Context) (map[string][]store.Key, error) {
	keys, err := s.store.KeysByEngine(ctx, s.engineID)
	if err != nil {
		return nil, fmt.Errorf("list connections of engine: %w", err)
	}
	byDirectory := make(map[string][]store.Key)
	for _, key := range keys {
		byDirectory[key.Directory] = append(byDirectory[key.Directory], key)
	}
	return byDirectory, nil
}

// read compares one directory. What was pushed is read before the engine is: a signal about something older than the
// newest push is then known as old by its generation.
func (s sweep) read(ctx context.Context, directory string, keys []store.Key, reason string) error {
	pushes := make(map[store.Key]store.Push, len(keys))
	for _, key := range keys {
		push, err := s.store.LastPush(ctx, key)
		if err != nil {
			return fmt.Errorf("read last push: %w", err)
		}
		pushes[key] = push
	}
	statuses, err := s.client.Statuses(ctx, directory)
	switch {
	case err == nil:
	case httpclient.KindOf(err) == httpclient.KindUnreachable:
		// The engine went away again; the next stream, or an inspection, finds out.
		return err
	default:
		// One directory that does not answer must not keep the others from being read.
		s.log.DebugContext(ctx, "directory not read", "engine_id", s.engineID, "error", err)
		return ctx.Err()
	}
	for _, key := range keys {
		if _, there := statuses[key.Name]; there {
			// An entry outlives its connection only by an attempt that failed or by somebody's will. Both are the
			// inspection's to judge: a stream that breaks off often must not become a reason to register often.
			continue
		}
		if push := pushes[key]; push.StartedAt.IsZero() || push.InFlight(s.now()) {
			// What was never delivered cannot be lost, and whoever pushes reads the status after it.
			continue
		}
		if err := s.signals.GenerationOver(ctx, key, pushes[key].Generation, reason); err != nil {
			s.log.WarnContext(ctx, "connection not told", "workspace_id", key.Workspace,
				"connection_name", key.Name, "error", err)
		}
	}
	return nil
}
