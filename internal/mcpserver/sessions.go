package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// SessionStore keeps the rows of sessions. [store.Store] is one.
type SessionStore interface {
	PutSession(ctx context.Context, s store.Session) error
	Session(ctx context.Context, id string) (store.Session, error)
	ChangeSessionState(ctx context.Context, id, protocol string, change func(state []byte) ([]byte, error)) error
	TouchSession(ctx context.Context, id string, at time.Time) error
	TerminateSession(ctx context.Context, id string, at time.Time) (bool, error)
}

// SessionWorkflows signals the workflows of sessions, and starts those that do not run. [session.Client] is one.
type SessionWorkflows interface {
	Touch(ctx context.Context, input session.Input, touch session.Touch) error
	Terminate(ctx context.Context, sessionID string, terminate session.Terminate) error
}

// tellTimeout bounds how long the end of a session waits for its workflow to be told.
const tellTimeout = 2 * time.Second

// Spans are how long sessions wait and last.
type Spans struct {
	Start    time.Duration // for which the maker of a session waits for its workflow
	Unused   time.Duration // since the last use
	Absolute time.Duration // since it was made
}

// DurableSessions keeps a row and a workflow for each session. The row is what counts: a session without its workflow is served, and
// is terminated for good although its workflow does not know yet.
type DurableSessions struct {
	store     SessionStore
	workflows SessionWorkflows
	spans     Spans
	log       *slog.Logger
}

// NewDurableSessions makes it.
func NewDurableSessions(s SessionStore, w SessionWorkflows, spans Spans, log *slog.Logger) *DurableSessions {
	return &DurableSessions{store: s, workflows: w, spans: spans, log: log}
}

// Create writes the row and starts the workflow. Where the workflow does not start in time, the row is ended again.
func (d *DurableSessions) Create(ctx context.Context, s store.Session) error {
	if err := d.store.PutSession(ctx, s); err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	// Temporal's client tries again for long, and whoever waits for a session knows best whether to.
	starting, stop := context.WithTimeout(ctx, d.spans.Start)
	defer stop()
	err := d.workflows.Touch(starting, d.input(s), session.Touch{At: s.CreatedAt, Why: "use"})
	if err == nil {
		return nil
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if _, failed := d.store.TerminateSession(undo, s.ID, s.CreatedAt); failed != nil {
		err = errors.Join(err, failed)
	}
	return fmt.Errorf("create session: start its workflow: %w", err)
}

func (d *DurableSessions) input(s store.Session) session.Input {
	return session.Input{
		ID: s.ID, Identity: s.Identity, Mode: s.Mode, Client: s.Client, CreatedAt: s.CreatedAt,
		Retention: d.spans.Unused, AbsoluteLimit: d.spans.Absolute,
	}
}

// Lookup reads the row.
func (d *DurableSessions) Lookup(ctx context.Context, id string) (store.Session, error) {
	return d.store.Session(ctx, id)
}

// ChangeState changes the row.
func (d *DurableSessions) ChangeState(ctx context.Context, id, protocol string, change func(state []byte) ([]byte, error)) error {
	return d.store.ChangeSessionState(ctx, id, protocol, change)
}

// Touch writes the row and signals the workflow, so that its retention begins anew.
func (d *DurableSessions) Touch(ctx context.Context, s store.Session, at time.Time, why string) error {
	return errors.Join(d.store.TouchSession(ctx, s.ID, at), d.workflows.Touch(ctx, d.input(s), session.Touch{At: at, Why: why}))
}

// Terminate ends the row, then the workflow. A workflow that cannot be told ends by its retention.
func (d *DurableSessions) Terminate(ctx context.Context, id, by string, at time.Time) error {
	if _, err := d.store.TerminateSession(ctx, id, at); err != nil {
		return fmt.Errorf("terminate session: %w", err)
	}
	// The row has ended it. Whoever ends a session waits for little, and less than 5 s where it is the go-sdk's client.
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	if err := d.workflows.Terminate(ctx, id, session.Terminate{By: by, Reason: "client"}); err != nil {
		d.log.WarnContext(ctx, "session is terminated, but its workflow was not told", "error", err)
	}
	return nil
}

// LeasesOf counts the leases of a session's workflow. One that is over has none.
func LeasesOf(read func(ctx context.Context, sessionID string) ([]session.Lease, error)) func(context.Context, string) (int, error) {
	return func(ctx context.Context, id string) (int, error) {
		leases, err := read(ctx, id)
		if errors.Is(err, session.ErrNotFound) {
			return 0, nil
		}
		return len(leases), err
	}
}
