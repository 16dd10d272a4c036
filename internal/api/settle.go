package api

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	// settleWait is how long an answer waits for workflows to take up what was just decided.
	settleWait  = 2 * time.Second
	settleEvery = 50 * time.Millisecond
)

// settled waits for connections to tell of what is wanted now, so that the answer to a decision does not show what was before
// it. It gives what they have told, by workflow id; those that take longer are left out.
func (a *API) settled(ctx context.Context, targets []target) map[string]*connection.Snapshot {
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	var guard sync.Mutex
	told := map[string]*connection.Snapshot{}
	a.fanOut(ctx, wantedOf(targets), func(ctx context.Context, t target) error {
		if s := a.settle(ctx, t); s != nil {
			guard.Lock()
			defer guard.Unlock()
			told[connection.ID(t.key)] = s
		}
		return nil
	})
	return told
}

// settle is nil where the wait ends first, or nobody can be asked: what was decided holds all the same.
func (a *API) settle(ctx context.Context, t target) *connection.Snapshot {
	revision, err := a.revision(ctx, t.key)
	if err != nil || revision == "" {
		return nil
	}
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		d, err := query(ctx, a, func(ctx context.Context) (connection.Description, error) {
			return a.Connections.Describe(ctx, t.key)
		})
		switch {
		case err != nil:
			return nil
		case d.Running && about(d.Snapshot, revision):
			return d.Snapshot
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// about reports whether a workflow has told of the revision.
func about(s *connection.Snapshot, revision string) bool {
	return s != nil && s.DesiredRevision != nil && *s.DesiredRevision == revision
}
