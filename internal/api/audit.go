package api

import (
	"context"
	"strconv"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// auditItem is one line of the audit.
type auditItem struct {
	ID           int64      `json:"id"`
	At           *time.Time `json:"at"`
	Account      string     `json:"account"`
	Organisation string     `json:"organisation"`
	Principal    string     `json:"principal"`
	Name         string     `json:"name,omitempty"`
	Via          string     `json:"via"`
	Action       string     `json:"action"`
	Session      string     `json:"session,omitempty"`
	Execution    string     `json:"execution,omitempty"`
	Pause        string     `json:"pause,omitempty"`
	Address      string     `json:"address,omitempty"`
	Digest       string     `json:"digest,omitempty"`
	Policy       string     `json:"policy,omitempty"`
	Outcome      string     `json:"outcome,omitempty"`
	LatencyMS    float64    `json:"latencyMs,omitempty"`
	Reason       string     `json:"reason,omitempty"`
}

func auditItemOf(row store.Audit) auditItem {
	return auditItem{
		ID: row.ID, At: moment(row.At), Account: row.Identity.Account, Organisation: row.Identity.Organisation, Principal: row.Principal,
		Name: row.Name, Via: row.Via, Action: row.Action, Session: row.Session, Execution: row.Execution, Pause: row.Pause,
		Address: row.Address, Digest: row.Digest, Policy: row.Policy, Outcome: row.Outcome,
		LatencyMS: float64(row.Latency.Microseconds()) / 1000, Reason: row.Reason,
	}
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
