package views

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Session is a session of an MCP client.
type Session struct {
	ID           string        `json:"id"`
	Account      string        `json:"account"`
	Organisation string        `json:"organisation"`
	Mode         approval.Mode `json:"mode"`
	Resource     string        `json:"resource"`
	Role         string        `json:"role"`
	Client       string        `json:"client,omitempty"`
	Protocol     string        `json:"protocol,omitempty"`
	CreatedAt    *time.Time    `json:"createdAt"`
	LastSeenAt   *time.Time    `json:"lastSeenAt"`
}

// SessionOf shows a row.
func SessionOf(row store.Session) Session {
	return Session{
		ID: row.ID, Account: row.Identity.Account, Organisation: row.Identity.Organisation, Mode: row.Mode, Resource: row.Resource,
		Role: row.Role, Client: row.Client, Protocol: row.Protocol, CreatedAt: Moment(row.CreatedAt), LastSeenAt: Moment(row.LastSeenAt),
	}
}
