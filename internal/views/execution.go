package views

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Execution is what a gated call is, whatever becomes of it.
type Execution struct {
	Key          string        `json:"key"`
	Address      string        `json:"address"`
	Status       string        `json:"status"`
	Account      string        `json:"account"`
	Organisation string        `json:"organisation"`
	Session      string        `json:"session,omitempty"`
	Mode         approval.Mode `json:"mode"`
	Client       string        `json:"client,omitempty"`
	Digest       string        `json:"digest"`
	Policy       string        `json:"policy"`
	CreatedAt    *time.Time    `json:"createdAt"`
}

// ExecutionOf shows a row.
func ExecutionOf(row store.Execution) Execution {
	return Execution{
		Key: row.Key, Address: row.Address, Status: row.Status, Account: row.Identity.Account, Organisation: row.Identity.Organisation,
		Session: row.Session, Mode: row.Mode, Client: row.Client, Digest: row.Digest, Policy: row.Policy, CreatedAt: Moment(row.CreatedAt),
	}
}

// ExecutionStates are what an execution's status can be.
func ExecutionStates() []string {
	return []string{
		"running", "waiting", string(approval.OutcomeCompleted), string(approval.OutcomeFailed), string(approval.OutcomeDeclined),
		string(approval.OutcomeCancelled), string(approval.OutcomeExpired), string(approval.OutcomeUnknown),
	}
}
