package mcpserver_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// endedRows is a store that only makes and ends sessions.
type endedRows struct {
	mcpserver.SessionStore

	ended []string
}

func (e *endedRows) PutSession(context.Context, store.Session) error { return nil }

func (e *endedRows) TerminateSession(_ context.Context, id string, _ time.Time) (bool, error) {
	e.ended = append(e.ended, id)
	return true, nil
}

// silent are workflows that nobody answers for.
type silent struct{ mcpserver.SessionWorkflows }

func (silent) Touch(ctx context.Context, _ session.Input, _ session.Touch) error {
	<-ctx.Done()
	return ctx.Err()
}

func (silent) Terminate(ctx context.Context, _ string, _ session.Terminate) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestASessionsEndDoesNotWaitLongForItsWorkflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &endedRows{}
		sessions := mcpserver.NewDurableSessions(rows, silent{}, mcpserver.Spans{}, slog.New(slog.DiscardHandler))
		began := time.Now()
		require.NoError(t, sessions.Terminate(t.Context(), "s", "ann", began))
		require.Equal(t, []string{"s"}, rows.ended)
		require.Less(t, time.Since(began), 5*time.Second, "clients of the go-sdk wait no longer")
	})
}

func TestANewSessionWaitsForItsWorkflowNoLongerThanItIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &endedRows{}
		sessions := mcpserver.NewDurableSessions(rows, silent{}, mcpserver.Spans{Start: 3 * time.Second}, slog.New(slog.DiscardHandler))
		began := time.Now()
		require.ErrorIs(t, sessions.Create(t.Context(), store.Session{ID: "s"}), context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Equal(t, []string{"s"}, rows.ended, "nothing is left that answers")
	})
}
