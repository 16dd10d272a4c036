package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func newExecution(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "execution",
		Aliases: []string{"executions"},
		Short:   "Tool calls that were gated: list, read the outcome, call off",
		Args:    noArguments,
		RunE:    help,
	}
	cmd.AddCommand(newExecutionList(a), newExecutionGet(a), newExecutionCancel(a))
	return cmd
}

// executionView is one execution.
type executionView struct {
	Key           string            `json:"key"`
	Address       string            `json:"address"`
	Status        string            `json:"status"`
	Account       string            `json:"account"`
	Organisation  string            `json:"organisation"`
	Session       string            `json:"session,omitempty"`
	Mode          approval.Mode     `json:"mode"`
	Client        string            `json:"client,omitempty"`
	Digest        string            `json:"digest"`
	Policy        string            `json:"policy"`
	CreatedAt     *time.Time        `json:"createdAt"`
	SettledAt     *time.Time        `json:"settledAt"`
	RetainedUntil *time.Time        `json:"retainedUntil"`
	Outcome       *approval.Outcome `json:"outcome"`
}

func newExecutionView(row store.Execution) executionView {
	return executionView{
		Key: row.Key, Address: row.Address, Status: row.Status, Account: row.Identity.Account, Organisation: row.Identity.Organisation,
		Session: row.Session, Mode: row.Mode, Client: row.Client, Digest: row.Digest, Policy: row.Policy, CreatedAt: utc(row.CreatedAt),
		SettledAt: utc(row.SettledAt), RetainedUntil: utc(row.Retained), Outcome: row.Outcome,
	}
}
