package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// enginesOf gives the plan's engines in their order, complete with what the store has of them.
func enginesOf(ctx context.Context, st *store.Store, wanted plan) ([]store.Engine, error) {
	known, err := st.Engines(ctx)
	var corrupt *store.CorruptRowError
	if err != nil && !errors.As(err, &corrupt) {
		return nil, err
	}
	engines := make([]store.Engine, 0, len(wanted.engines))
	var faults []error
	for _, e := range wanted.engines {
		row, err := e.merge(known)
		engines, faults = append(engines, row), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, &CodeError{Code: ExitUsage, Cause: err}
	}
	return engines, nil
}

// merge completes an engine with what the store has of it.
func (e plannedEngine) merge(known []store.Engine) (store.Engine, error) {
	row := store.Engine{ID: e.id, BaseURL: e.url}
	for _, k := range known {
		if k.ID == e.id || (e.derived && k.BaseURL == e.url) {
			row.ID, row.Username, row.Password = k.ID, k.Username, k.Password
			if row.BaseURL == "" {
				row.BaseURL = k.BaseURL
			}
			break
		}
	}
	if row.BaseURL == "" {
		// Not quoted: an address that lacks its scheme may hold a password.
		if e.where != "" {
			return row, fmt.Errorf("%s: workspace's engine is neither the id of an engine given here or known, nor a URL: add it under engines",
				e.where)
		}
		return row, errors.New("--engine is neither a URL nor the id of a known engine; see: holdfast engine list")
	}
	if e.username != nil {
		row.Username = *e.username
	}
	if e.password != nil {
		row.Password = *e.password
	}
	return row, nil
}

// putEngines writes the plan's engines and tells under which id the store has each.
func putEngines(ctx context.Context, st *store.Store, wanted plan) (ids map[string]string, err error) {
	// Read again: another process may have changed them meanwhile.
	engines, err := enginesOf(ctx, st, wanted)
	if err != nil {
		return nil, err
	}
	ids = map[string]string{}
	for i, e := range engines {
		ids[wanted.engines[i].id] = e.ID
		if _, err := st.PutEngine(ctx, e); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
