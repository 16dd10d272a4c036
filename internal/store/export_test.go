package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// Layers are the rows that make up one connection, for tests of how they are put together.
type Layers struct {
	Key       Key
	Own       *Desired
	Shared    *AccountDesired
	Workspace *Workspace
	OfAccount *Intent
	OfPlace   *Intent
}

// Merge puts layers together.
func Merge(l Layers) (Effective, bool) {
	return merge(layers{key: l.Key, own: l.Own, shared: l.Shared, workspace: l.Workspace, ofAccount: l.OfAccount, ofPlace: l.OfPlace})
}

// LimitPages lets the database grow to so many pages only, as a full disk does; it cannot become smaller than it is.
func (s *Store) LimitPages(ctx context.Context, most int) error {
	var now int
	return s.write.QueryRowContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", most)).Scan(&now)
}

// RowsOf names the tables among those given that have rows of a session.
func (s *Store) RowsOf(t *testing.T, session string, tables ...string) (filled []string) {
	t.Helper()
	for _, table := range tables {
		var count int
		if err := s.read.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table+" WHERE session = $1", session).Scan(&count); err != nil {
			t.Fatal(err)
		}
		if count > 0 {
			filled = append(filled, table)
		}
	}
	return filled
}

// Query is a statement with its arguments.
type Query struct {
	Text string
	Args []any
}

// HotQueries are the statements that run for each request of a client, each message and each held call.
func HotQueries() map[string]Query {
	who := []any{"ann", "acme"}
	return map[string]Query{
		"session":             {sqlSession, []any{"s"}},
		"session alive":       {sqlSessionAlive, []any{"s"}},
		"touch session":       {sqlTouchSession, []any{"s", 1}},
		"stream":              {sqlStream, []any{"s", "x"}},
		"stream messages":     {sqlStreamMessages, []any{"s", "x"}},
		"undelivered":         {sqlUndeliveredStreams, []any{"s"}},
		"running requests":    {sqlRunningRequests, []any{"s"}},
		"lapsed":              {sqlLapsedStreams, []any{1, 1}},
		"renew":               {sqlRenewStreams, []any{"r", 1}},
		"release":             {sqlReleaseStreams, []any{"r", "s"}},
		"claim stream":        {sqlClaimStream, []any{"s", "x", "r", 1, 1}},
		"count event":         {sqlCountEvent, []any{"s", "x", 1}},
		"event sizes":         {sqlEventSizes, []any{"s", "x", 1}},
		"trim":                {sqlTrimEvents, []any{"s", "x", 1}},
		"events":              {sqlEvents, []any{"s", "x", 1, 1}},
		"old streams":         {sqlOldStreams, []any{1, 1}},
		"inbox":               {sqlInbox, []any{"s", 1}},
		"count inbox":         {sqlCountInbox, []any{"s"}},
		"take inbox":          {sqlTakeInbox, []any{"s", 1}},
		"prune inbox":         {sqlPruneInbox, []any{1}},
		"execution":           {sqlExecution, []any{"k"}},
		"by request":          {sqlExecutionByRequest, append(who, "r")},
		"stand":               {sqlStandExecution, []any{"k"}},
		"overdue":             {sqlOverdueExecutions, []any{1, 1}},
		"pause":               {sqlPause, []any{"p"}},
		"pauses since":        {sqlPausesSince, []any{1, 1}},
		"unfinished pauses":   {sqlUnfinishedPauses, []any{"k"}},
		"delete pauses":       {sqlDeletePauses, []any{"k"}},
		"open pauses":         {sqlCountOpenPauses, who},
		"last change":         {sqlLastChange, nil},
		"steps":               {sqlSteps, []any{"k", 1}},
		"delete steps":        {sqlDeleteSteps, []any{"k"}},
		"call":                {sqlCall, []any{"k", 1}},
		"delete calls":        {sqlDeleteCalls, []any{"k"}},
		"direct":              {sqlDirect, append(who, "n")},
		"prune directs":       {sqlPruneDirects, []any{1}},
		"API token":           {sqlAPIToken, []any{"t"}},
		"forget streams":      {sqlForgetStreams, []any{"s"}},
		"forget messages":     {sqlForgetMessages, []any{"s"}},
		"forget events":       {sqlForgetEvents, []any{"s"}},
		"forget inbox":        {sqlForgetInbox, []any{"s"}},
		"delete an execution": {sqlDeleteExecution, []any{"k"}},
	}
}

// SessionsQuery and the like are what lists run.
func SessionsQuery(filter SessionFilter) Query { return queryOf(sessionsQuery(filter)) }

// ExecutionsQuery is what the list of executions runs.
func ExecutionsQuery(filter ExecutionFilter) Query { return queryOf(executionsQuery(filter)) }

// PausesQuery is what the list of pauses runs.
func PausesQuery(filter PauseFilter) Query { return queryOf(pausesQuery(filter)) }

// AuditQuery is what the list of the audit runs.
func AuditQuery(filter AuditFilter) Query { return queryOf(auditQuery(filter)) }

func queryOf(text string, args []any) Query { return Query{Text: text, Args: args} }

// Plan says how SQLite would answer a query.
func (s *Store) Plan(ctx context.Context, q Query) (string, error) {
	steps, err := list(ctx, s.read, "EXPLAIN QUERY PLAN "+q.Text, q.Args, func(row scanner) (step string, err error) {
		err = row.Scan(new(int), new(int), new(int), &step)
		return step, err
	})
	return strings.Join(steps, "; "), err
}
