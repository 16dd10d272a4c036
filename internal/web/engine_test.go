package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// engine is the part of the gateway behind the pages, over a real store. It decides as the workflow would.
type engine struct {
	executions.Engine

	store *store.Store
	now   func() time.Time
	fault atomic.Pointer[error]
	// refuses is what decisions are answered with.
	refuses atomic.Pointer[error]

	// looks counts how often an execution was looked up: each time its arguments are read whole.
	looks atomic.Int64

	mu      sync.Mutex
	results map[string]json.RawMessage
	answers []executions.Answer
}

func (e *engine) find(ctx context.Context, who executions.Caller, id string) (store.Execution, int, error) {
	if fault := e.fault.Load(); fault != nil {
		return store.Execution{}, 0, *fault
	}
	key, n, err := approval.ParseID(id)
	if err != nil {
		return store.Execution{}, 0, &executions.NotFoundError{ID: id}
	}
	row, err := e.store.Execution(ctx, key)
	mine := who.Identity == row.Identity || who.Operator && who.Identity.Organisation == row.Identity.Organisation
	if errors.Is(err, store.ErrNotFound) || err == nil && !mine {
		return row, n, &executions.NotFoundError{ID: id}
	}
	return row, n, err
}

func (e *engine) Paused(ctx context.Context, who executions.Caller, id string) (store.PauseRow, error) {
	row, n, err := e.find(ctx, who, id)
	if err != nil {
		return store.PauseRow{}, err
	}
	if n == 0 {
		open := true
		waiting, err := e.store.Pauses(ctx, store.PauseFilter{Key: row.Key, Open: &open})
		if err != nil || len(waiting) == 0 {
			return store.PauseRow{}, errors.Join(err, &executions.NotFoundError{ID: id})
		}
		return waiting[0], nil
	}
	found, err := e.store.Pause(ctx, approval.PauseID(row.Key, n))
	if errors.Is(err, store.ErrNotFound) {
		err = &executions.NotFoundError{ID: id}
	}
	return found, err
}

func (e *engine) Lookup(ctx context.Context, who executions.Caller, id string) (executions.Report, error) {
	e.looks.Add(1)
	row, _, err := e.find(ctx, who, id)
	if err != nil {
		return executions.Report{}, err
	}
	report := executions.Report{Key: row.Key, Address: row.Address, Arguments: row.Arguments, Outcome: row.Outcome, Status: executions.StatusPending}
	e.mu.Lock()
	report.Result = e.results[row.Key]
	e.mu.Unlock()
	open := true
	waiting, err := e.store.Pauses(ctx, store.PauseFilter{Key: row.Key, Open: &open})
	if err == nil && len(waiting) > 0 {
		report.Status, report.Pause = executions.StatusPaused, &waiting[0].Pause
	}
	return report, err
}

func (e *engine) PausedCount(ctx context.Context, who executions.Caller) (int, error) {
	return e.store.CountOpenPauses(ctx, who.Identity)
}

func (e *engine) Decide(ctx context.Context, who executions.Caller, answer executions.Answer) (executions.Report, error) {
	row, err := e.Paused(ctx, who, answer.ID)
	if refuses := e.refuses.Load(); err == nil && refuses != nil {
		err = *refuses
	}
	if err != nil {
		return executions.Report{}, err
	}
	e.mu.Lock()
	e.answers = append(e.answers, answer)
	e.mu.Unlock()
	pause := row.Pause
	if e.now().Before(row.Deadline) {
		pause.Decision = &approval.Decision{
			Action: answer.Action, Content: answer.Content, Reason: answer.Reason, By: who.Principal, Name: who.Name, Via: approval.Via(who.Via), At: e.now(),
		}
	} else {
		pause.Expired = true
	}
	return executions.Report{}, e.store.RecordDecided(ctx, pause, nil)
}

func (e *engine) answered() []executions.Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]executions.Answer{}, e.answers...)
}

// tools are those of a catalog, by address. A source is not listed yet while it is named in unlisted.
type tools struct {
	mu       sync.Mutex
	known    map[string]catalog.Tool
	unlisted string
}

func (c *tools) Known(address string) (catalog.Tool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	source, _, _ := strings.Cut(address, ".")
	found, there := c.known[address]
	switch {
	case there:
		return found, nil
	case source == c.unlisted:
		return catalog.Tool{}, catalog.ErrNotListed
	default:
		return catalog.Tool{}, catalog.ErrNoTool
	}
}

func (c *tools) knows(address, description, schema string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[address] = catalog.Tool{Address: address, Description: description, Input: json.RawMessage(schema)}
}

// counted is a store that counts what live pages read of it.
type counted struct {
	*store.Store
	changes   atomic.Int64
	arguments atomic.Int64 // how many executions' arguments were asked for
}

func (s *counted) LastChange(ctx context.Context) (int64, error) {
	s.changes.Add(1)
	return s.Store.LastChange(ctx)
}

func (s *counted) Arguments(ctx context.Context, keys []string, limit int) (map[string]store.SizedArguments, error) {
	s.arguments.Add(int64(len(keys)))
	return s.Store.Arguments(ctx, keys, limit)
}
