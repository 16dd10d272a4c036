package api

import (
	"context"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// Records are the rows of sessions, executions and pauses, and the audit.
type Records interface {
	Session(ctx context.Context, id string) (store.Session, error)
	Sessions(ctx context.Context, f store.SessionFilter) ([]store.Session, error)
	TerminateSession(ctx context.Context, id string, at time.Time) (done bool, err error)

	Execution(ctx context.Context, key string) (store.Execution, error)
	Executions(ctx context.Context, f store.ExecutionFilter) ([]store.Execution, error)
	Pauses(ctx context.Context, f store.PauseFilter) ([]store.PauseRow, error)
	LastChange(ctx context.Context) (int64, error)
	PausesSince(ctx context.Context, change int64, limit int) ([]store.PauseRow, error)

	PutAudit(ctx context.Context, rows ...store.Audit) error
	AuditLog(ctx context.Context, f store.AuditFilter) ([]store.Audit, error)
}

// Tools is what the API asks of the catalog.
type Tools interface {
	Lookup(ctx context.Context, address string) (catalog.Tool, error)
	Search(ctx context.Context, query string, limit int) ([]catalog.Hit, error)
	Suggest(address string) []string
}

// Sessions asks and tells workflows of sessions; [session.Client] does.
type Sessions interface {
	Snapshot(ctx context.Context, id string) (session.Snapshot, error)
	Terminate(ctx context.Context, id string, in session.Terminate) error
}

// GatewayParams are what the routes of sessions, executions and approvals are made of.
type GatewayParams struct {
	Executions executions.Engine
	Records    Records
	Tools      Tools
	Sessions   Sessions
	// Visible reports whether an identity may see a tool at all; nil: everybody sees every tool.
	Visible func(who approval.Identity, tool catalog.Tool) bool
}
