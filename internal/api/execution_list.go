package api

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

const maxPage = 100

// page is which part of a list is asked for.
type page struct {
	size  int
	token string
}

func (c *call) page() (page, error) {
	p := page{size: maxPage, token: c.query.Get("pageToken")}
	if text := c.query.Get("pageSize"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			return p, failf(CodeInvalidPayload, "pageSize must be a number from 1 to %d.", maxPage)
		}
		p.size = n
	}
	return p, nil
}

var errNoPage = failf(CodeInvalidPayload, "There is no such page: start again without pageToken.")

func (p page) cursor() (store.Cursor, error) {
	cursor, err := store.ParseCursor(p.token)
	if err != nil {
		return cursor, errNoPage
	}
	return cursor, nil
}

// read gives a page's rows and the token of the next one, where there is one. One row more is asked for than is shown. Rows that cannot
// be read do not hide the others.
func read[T interface{ Cursor() store.Cursor }](
	ctx context.Context, a *API, p page, call func(context.Context) ([]T, error),
) (rows []T, next string, err error) {
	rows, err = fromStore(ctx, a, call)
	damaged := unreadable(err)
	if err != nil && !damaged {
		return nil, "", err
	}
	if damaged {
		a.log.WarnContext(ctx, "rows were left out of a list", "error", err)
	}
	if n := min(len(rows), p.size); n > 0 && (damaged || len(rows) > n) {
		return rows[:n], rows[n-1].Cursor().String(), nil
	}
	return rows, "", nil
}

// listed is what most lists are asked with.
type listed struct {
	scope
	page

	before store.Cursor
}

func (c *call) listed() (listed, error) {
	var (
		l   listed
		err error
	)
	if l.scope, err = c.scope(); err == nil {
		l.page, err = c.page()
	}
	if err == nil {
		l.before, err = l.cursor()
	}
	return l, err
}

// getExecutions lists what is kept, also where Temporal does not answer.
func getExecutions(a *API, c *call) (*reply, error) {
	l, err := c.listed()
	if err != nil {
		return nil, err
	}
	filter := store.ExecutionFilter{
		Identity: l.identity, Organisation: l.organisation, Session: c.query.Get("session"), Address: c.query.Get("tool"),
		Limit: l.size + 1, Before: l.before,
	}
	if state := c.query.Get("state"); state != "" {
		if !slices.Contains(views.ExecutionStates(), state) {
			return nil, failf(CodeInvalidPayload, "state must be one of %v.", views.ExecutionStates())
		}
		filter.Status = []string{state}
	}
	rows, next, err := read(c.Context(), a, l.page, func(ctx context.Context) ([]store.Execution, error) { return a.Records.Executions(ctx, filter) })
	if err != nil {
		return nil, err
	}
	list := executionList{Items: []executionItem{}, Next: next}
	for _, row := range rows {
		list.Items = append(list.Items, executionItemOf(row))
	}
	return ok(list)
}

// getPausedCount counts what waits of the caller's own.
func getPausedCount(a *API, c *call) (*reply, error) {
	n, err := fromEngine(c.Context(), a, func(ctx context.Context) (int, error) { return a.Executions.PausedCount(ctx, a.caller(c)) })
	if err != nil {
		return nil, err
	}
	some, err := fromEngine(c.Context(), a, func(ctx context.Context) (bool, error) { return a.Executions.HasPaused(ctx, a.caller(c)) })
	if err != nil {
		return nil, err
	}
	return ok(pausedCount{Count: n, Any: some})
}

// getExecutionView shows one execution whole.
func getExecutionView(a *API, c *call) (*reply, error) {
	id := c.path("id")
	report, err := a.lookup(c, id)
	if err != nil {
		return nil, err
	}
	row, err := fromStore(c.Context(), a, func(ctx context.Context) (store.Execution, error) { return a.Records.Execution(ctx, report.Key) })
	if errors.Is(err, store.ErrNotFound) {
		return nil, fail(CodeExecutionNotFound)
	}
	if err != nil {
		return nil, err
	}
	pauses, err := fromStore(c.Context(), a, func(ctx context.Context) ([]store.PauseRow, error) {
		return a.Records.Pauses(ctx, store.PauseFilter{Key: report.Key, Limit: store.MaxLimit})
	})
	if err != nil && !unreadable(err) {
		return nil, err
	}
	settled, err := a.settledRun(c, id, report, pauses)
	if err != nil {
		return nil, err
	}
	slices.Reverse(pauses)
	told := a.tell(c, report)
	return ok(executionView{
		executionItem: executionItemOf(row), Arguments: report.Arguments, Pauses: approvalItems(pauses), Settled: settled,
		Text: told.Text, Structured: told.Structured, IsError: told.IsError,
	})
}

// settledRun reports whether what followed from the pause of the id, or from the last one, is known.
func (a *API) settledRun(c *call, id string, report executions.Report, pauses []store.PauseRow) (bool, error) {
	if report.Outcome != nil {
		return true, nil
	}
	if _, n, err := approval.ParseID(id); err == nil && n == 0 && len(pauses) > 0 {
		id = pauses[0].ID // the latest first
	}
	return fromEngine(c.Context(), a, func(ctx context.Context) (bool, error) { return a.Executions.Settled(ctx, a.caller(c), id) })
}
