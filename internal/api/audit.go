package api

import (
	"context"
	"strconv"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

// auditItem is one line of the audit.
type auditItem struct {
	views.Audit

	Pause string `json:"pause,omitempty"`
}

func auditItemOf(row store.Audit) auditItem {
	return auditItem{Audit: views.AuditOf(row), Pause: row.Pause}
}

// auditList is one page, the latest first.
type auditList struct {
	Items []auditItem `json:"items"`
	Next  string      `json:"nextPageToken,omitempty"`
}

func getAudit(a *API, c *call) (*reply, error) {
	whose, err := c.scope()
	if err != nil {
		return nil, err
	}
	part, err := c.page()
	if err != nil {
		return nil, err
	}
	filter := store.AuditFilter{
		Identity: whose.identity, Organisation: whose.organisation, Execution: c.query.Get("execution"), Session: c.query.Get("session"),
		Address: c.query.Get("tool"), Limit: part.size + 1,
	}
	if part.token != "" {
		if filter.Before, err = strconv.ParseInt(part.token, 10, 64); err != nil || filter.Before < 1 {
			return nil, errNoPage
		}
	}
	rows, err := fromStore(c.Context(), a, func(ctx context.Context) ([]store.Audit, error) { return a.Records.AuditLog(ctx, filter) })
	if err != nil {
		return nil, err
	}
	list := auditList{Items: []auditItem{}}
	for i, row := range rows {
		if i == part.size {
			list.Next = strconv.FormatInt(rows[i-1].ID, 10)
			break
		}
		list.Items = append(list.Items, auditItemOf(row))
	}
	return ok(list)
}
