package api

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

// Where a request that is answered later stands.
const (
	requestPending = "pending"
	requestDone    = "done"
	requestFailed  = "failed"
)

// requestView is a request that is answered later.
type requestView struct {
	ID       string `json:"id"`
	Status   string `json:"status" enum:"pending,done,failed"`
	Location string `json:"location"`
	// HTTPStatus and Result are what the request would have been answered with.
	HTTPStatus int             `json:"httpStatus,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	CreatedAt  *time.Time      `json:"createdAt,omitempty"`
	// StartedAt is when it was begun last: a request that failed by what passes may be sent again.
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
	Error      *Error     `json:"error,omitempty"`
	// Repeat says that the same request under the same Idempotency-Key tries again, and goes on from where it was.
	Repeat bool `json:"repeat,omitempty"`
}

func getRequest(a *API, c *call) (*reply, error) {
	id := c.path("id")
	row, err := fromStore(c.Context(), a, func(ctx context.Context) (store.Request, error) { return a.Store.Request(ctx, id) })
	if errors.Is(err, store.ErrNotFound) {
		return nil, fail(CodeRequestNotFound)
	}
	if err != nil {
		return nil, err
	}
	if row.Principal != c.principal.ID && !c.principal.Role.Allows(auth.RoleOwner) {
		return nil, fail(CodeRequestNotFound)
	}
	return ok(a.requestView(row))
}

func (a *API) requestView(row store.Request) requestView {
	v := requestView{
		ID: row.ID, Location: requestPath(row.ID), CreatedAt: views.Moment(row.CreatedAt), StartedAt: views.Moment(row.StartedAt),
		Repeat: row.Key != "" && row.Free(a.now()),
	}
	switch {
	case row.FinishedAt.IsZero() && !row.Free(a.now()):
		v.Status = requestPending
	case row.FinishedAt.IsZero():
		v.Status, v.Error = requestFailed, fail(CodeInterrupted)
	default:
		v.Status, v.HTTPStatus, v.Result, v.FinishedAt = requestDone, row.Status, row.Result, views.Moment(row.FinishedAt)
		var failed Error
		if row.Status >= 400 && json.Unmarshal(row.Result, &failed) == nil {
			v.Status, v.Error, v.Result = requestFailed, &failed, nil
		}
	}
	return v
}
