package views

import (
	"cmp"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Approval is a question to a person: what is asked, for whom, and until when. How its state is called is each edge's own.
type Approval struct {
	Address      string           `json:"address"`
	Account      string           `json:"account"`
	Organisation string           `json:"organisation"`
	Session      string           `json:"session,omitempty"`
	Client       string           `json:"client,omitempty"`
	Request      approval.Request `json:"request"`
	Digest       string           `json:"digest"`
	Policy       string           `json:"policy"`
	CreatedAt    *time.Time       `json:"createdAt"`
	Deadline     *time.Time       `json:"deadline"`
}

// ApprovalOf shows a row.
func ApprovalOf(row store.PauseRow) Approval {
	return Approval{
		Address: row.Address, Account: row.Identity.Account, Organisation: row.Identity.Organisation, Session: row.Session,
		Client: row.Client, Request: row.Request, Digest: row.Digest, Policy: row.Policy, CreatedAt: Moment(row.CreatedAt),
		Deadline: Moment(row.Deadline),
	}
}

// DecisionView is who decided what. The content is the tool's alone. The type's name is in the API's document.
type DecisionView struct {
	Action approval.Action `json:"action"`
	By     string          `json:"by"`
	Name   string          `json:"name,omitempty"`
	Via    approval.Via    `json:"via"`
	Reason string          `json:"reason,omitempty"`
	At     *time.Time      `json:"at"`
}

// DecisionOf shows a decision; nil for none.
func DecisionOf(d *approval.Decision) *DecisionView {
	if d == nil {
		return nil
	}
	return &DecisionView{Action: d.Action, By: d.By, Name: d.Name, Via: d.Via, Reason: d.Reason, At: Moment(d.At)}
}

// Who is for people: the name where there is one, else the id.
func (d *DecisionView) Who() string { return cmp.Or(d.Name, d.By) }
