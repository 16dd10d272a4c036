package views

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Audit is one line of the audit, without the approval that it is about: each edge has its own name for that.
type Audit struct {
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
	Address      string     `json:"address,omitempty"`
	Digest       string     `json:"digest,omitempty"`
	Policy       string     `json:"policy,omitempty"`
	Outcome      string     `json:"outcome,omitempty"`
	LatencyMS    float64    `json:"latencyMs,omitempty"`
	Reason       string     `json:"reason,omitempty"`
}

// AuditOf shows a row.
func AuditOf(row store.Audit) Audit {
	return Audit{
		ID: row.ID, At: Moment(row.At), Account: row.Identity.Account, Organisation: row.Identity.Organisation, Principal: row.Principal,
		Name: row.Name, Via: row.Via, Action: row.Action, Session: row.Session, Execution: row.Execution, Address: row.Address,
		Digest: row.Digest, Policy: row.Policy, Outcome: row.Outcome, LatencyMS: float64(row.Latency.Microseconds()) / 1000,
		Reason: row.Reason,
	}
}
