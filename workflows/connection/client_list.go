package connection

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/searchattr"
)

const (
	pageSize = 100
	// listLimit bounds a list; more than this is for the filters.
	listLimit = 10_000
	runsLimit = 200
)

// Filter narrows a list. Empty fields do not.
type Filter struct {
	Workspace, Name, Engine, FailureCode string
	State                                delivery.State
	// TaskQueue is that of one installation; several may share a namespace.
	TaskQueue string
}

// Listed is one row of a list. It is read from Temporal's visibility alone: no query, no worker.
type Listed struct {
	WorkflowID string    `json:"workflowId"`
	RunID      string    `json:"runId"`
	Workspace  string    `json:"workspace"`
	Name       string    `json:"name"`
	StartedAt  time.Time `json:"startedAt"`
	Snapshot   *Snapshot `json:"snapshot"`
}

// List shows the running connections that pass the filter, by workspace and name.
func (c *Client) List(ctx context.Context, f Filter) ([]Listed, error) {
	executions, err := c.executions(ctx, f.query(), listLimit)
	if err != nil {
		return nil, explainCall("list connections", err)
	}
	rows, err := c.listed(executions, f)
	if err != nil {
		return nil, err
	}
	sort.Slice(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		return a.Workspace < b.Workspace || (a.Workspace == b.Workspace && a.Name < b.Name)
	})
	return rows, nil
}

// Page says which part of a list is wanted.
type Page struct {
	// Size is the number of rows at most: 1 to 100; 0 is 100.
	Size int
	// Token is the one that came with the page before; empty for the first.
	Token string
}

// ErrSealed means that what a workflow has published was not sealed with our keysets.
var ErrSealed = errors.New("read published snapshot: it cannot be opened with these keysets")

// ErrBadPage means that a page's size or token is not one that this list has given out.
var ErrBadPage = errors.New("the page does not exist: start again without a page token, with a page size of 1 to 100")

// ListPage is one page of the running connections that pass the filter, the latest started first, and the token of the
// next page, empty after the last. It costs one visibility call.
func (c *Client) ListPage(ctx context.Context, f Filter, p Page) (rows []Listed, next string, err error) {
	token, ok := openPageToken(p.Token)
	if !ok || p.Size < 0 || p.Size > pageSize {
		return nil, "", fmt.Errorf("list connections: %w", ErrBadPage)
	}
	size := p.Size
	if size == 0 {
		size = pageSize
	}
	ctx, cancel := context.WithTimeout(ctx, queryDeadline)
	defer cancel()
	page, err := c.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: f.query(), PageSize: int32(size), NextPageToken: token,
	})
	var invalid *serviceerror.InvalidArgument
	if len(token) > 0 && errors.As(err, &invalid) {
		return nil, "", fmt.Errorf("list connections: %w", ErrBadPage)
	}
	if err != nil {
		return nil, "", explainCall("list connections", err)
	}
	rows, err = c.listed(page.GetExecutions(), f)
	return rows, pageToken(page.GetNextPageToken()), err
}

// pageToken is the server's token for its way through a URL, with a sum by which a damaged one is known: the server takes
// seconds to refuse those.
func pageToken(token []byte) string {
	if len(token) == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(pageSum(token), token...))
}

func openPageToken(text string) (token []byte, ok bool) {
	if text == "" {
		return nil, true
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) <= pageSumBytes {
		return nil, false
	}
	token = raw[pageSumBytes:]
	return token, bytes.Equal(raw[:pageSumBytes], pageSum(token))
}

const pageSumBytes = 8

func pageSum(token []byte) []byte {
	sum := sha256.Sum256(token)
	return append([]byte{}, sum[:pageSumBytes]...)
}

// listed reads rows of visibility. What is no connection's is left out, and so is what the filter does not name.
func (c *Client) listed(executions []*workflowpb.WorkflowExecutionInfo, f Filter) ([]Listed, error) {
	rows := make([]Listed, 0, len(executions))
	for _, e := range executions {
		id := e.GetExecution().GetWorkflowId()
		workspace, name, err := ParseID(id)
		if err != nil || !same(f.Workspace, workspace) || !same(f.Name, name) {
			continue
		}
		snapshot, err := c.memoSnapshot(e.GetMemo())
		if err != nil {
			return nil, fmt.Errorf("list connections: %w", err)
		}
		row := Listed{
			WorkflowID: id, RunID: e.GetExecution().GetRunId(), Workspace: workspace, Name: name,
			StartedAt: e.GetStartTime().AsTime(), Snapshot: snapshot,
		}
		if f.matches(row) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// risky are the characters that a server with SQLite or MySQL visibility does not take as they are, however they are
// escaped: a quote in a value ends up as a quote in the statement. No value with one of them is sent.
const risky = "'\"\\`"

// term narrows a list by an attribute: by the whole value, or by as much of it as can be sent; [Filter.matches] does the
// rest.
func term(attribute, value string) []string {
	safe, _, isRisky := cutAny(value, risky)
	switch {
	case !isRisky:
		return []string{attribute + " = '" + value + "'"}
	case safe == "":
		return nil
	default:
		return []string{attribute + " STARTS_WITH '" + safe + "'"}
	}
}

// cutAny cuts a text before the first of the characters.
func cutAny(text, characters string) (before, after string, found bool) {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return text[:i], text[i:], true
	}
	return text, "", false
}

// matches reports whether a row is of the engine, state and failure code that the filter names.
func (f Filter) matches(row Listed) bool {
	var engine, state, code string
	if s := row.Snapshot; s != nil {
		engine, state = s.EngineID, string(s.State)
		if s.Failure != nil {
			code = string(s.Failure.Code)
		}
	}
	return same(f.Engine, engine) && same(string(f.State), state) && same(f.FailureCode, code)
}

// same compares what could not be sent as it is. The rest was compared by the server, whose attributes may be newer than the
// memo.
func same(want, have string) bool { return want == have || !strings.ContainsAny(want, risky) }

func (f Filter) query() string {
	terms := []string{"WorkflowType = '" + WorkflowName + "'", "ExecutionStatus = 'Running'"}
	add := func(attribute, value string) {
		if value != "" {
			terms = append(terms, term(attribute, value)...)
		}
	}
	add(searchattr.Workspace.GetName(), f.Workspace)
	add(searchattr.Name.GetName(), f.Name)
	add(searchattr.Engine.GetName(), f.Engine)
	add(searchattr.State.GetName(), string(f.State))
	add(searchattr.FailureCode.GetName(), f.FailureCode)
	add("TaskQueue", f.TaskQueue)
	return strings.Join(terms, " AND ")
}

// History is every transition of a connection over all runs that Temporal retains, oldest first. It asks the runs
// themselves, so a worker must run.
func (c *Client) History(ctx context.Context, key delivery.Key) ([]Transition, error) {
	id := ID(key)
	runs, err := c.runs(ctx, id)
	if err != nil {
		return nil, err
	}
	type seen struct {
		at       time.Time
		sequence int64
	}
	known := map[seen]bool{}
	var all []Transition
	for _, run := range runs {
		var some []Transition
		err := c.query(ctx, workflow.Execution{ID: id, RunID: run}, &some, QueryTransitions)
		if errors.Is(err, ErrNotFound) {
			continue // its retention ended just now
		}
		if err != nil {
			return nil, err
		}
		for _, t := range some {
			if k := (seen{t.At, t.Sequence}); !known[k] {
				known[k] = true
				all = append(all, t)
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		return all[i].At.Before(all[j].At) || (all[i].At.Equal(all[j].At) && all[i].Sequence < all[j].Sequence)
	})
	return all, nil
}

// runs are the ids of all retained runs. Visibility lags behind: the current run is asked for by itself.
func (c *Client) runs(ctx context.Context, id string) ([]string, error) {
	listed, err := c.executions(ctx, "WorkflowId = '"+id+"'", runsLimit)
	if err != nil {
		return nil, explainCall("list runs", err)
	}
	ids := make([]string, 0, len(listed)+1)
	for _, run := range listed {
		ids = append(ids, run.GetExecution().GetRunId())
	}
	current, err := c.temporal.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return nil, explain("read history", err)
	}
	if run := current.WorkflowExecution.RunID; !slices.Contains(ids, run) {
		ids = append(ids, run)
	}
	return ids, nil
}

// executions reads pages of visibility until there are no more or the limit is reached.
func (c *Client) executions(
	ctx context.Context, query string, limit int,
) ([]*workflowpb.WorkflowExecutionInfo, error) {
	var (
		all   []*workflowpb.WorkflowExecutionInfo
		token []byte
	)
	for len(all) < limit {
		page, err := c.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: query, PageSize: pageSize, NextPageToken: token,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetExecutions()...)
		if token = page.GetNextPageToken(); len(token) == 0 {
			break
		}
	}
	return all, nil
}

// memoSnapshot reads the published snapshot with the client's own data converter.
func (c *Client) memoSnapshot(memo *commonpb.Memo) (*Snapshot, error) {
	payload, ok := memo.GetFields()[MemoSnapshot]
	if !ok {
		return nil, nil
	}
	var s Snapshot
	if err := c.converter.FromPayload(payload, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSealed, err)
	}
	return &s, nil
}

// Transitions asks the running workflow for its last changes of state, oldest first.
func (c *Client) Transitions(ctx context.Context, workflowID string) ([]Transition, error) {
	var some []Transition
	return some, c.query(ctx, workflow.Execution{ID: workflowID}, &some, QueryTransitions)
}
