package cli

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// approvalDetail is one question with everything that is decided on.
type approvalDetail struct {
	approvalView

	// Arguments are canonical and masked.
	Arguments json.RawMessage `json:"arguments"`
}

func newApprovalShow(a *App) *cobra.Command {
	id := oneID("approval", "holdfast approval list")
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one approval: the call, its arguments, who asked, why it waits",
		Long:  "Shows one approval. Neither Temporal nor a worker is needed. Arguments are shown with secrets masked.\n\n" + approvalLong,
		Args:  func(_ *cobra.Command, args []string) error { return id(args) },
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		ctx, cancel := context.WithTimeout(ctx, storeReads)
		defer cancel()
		row, err := s.executionOf(ctx, args[0])
		if err != nil {
			return err
		}
		engine, err := s.engine(ctx)
		if err != nil {
			return err
		}
		who := a.operator(row.Identity.Organisation)
		pause, err := engine.Paused(ctx, who, args[0])
		if err != nil {
			return explainEngine(err)
		}
		report, err := engine.Lookup(ctx, who, pause.ID)
		if err != nil {
			return explainEngine(err)
		}
		return a.printApproval(approvalDetail{approvalView: newApprovalView(pause), Arguments: report.Arguments})
	})
	return cmd
}

func (a *App) printApproval(v approvalDetail) error {
	if a.JSON() {
		return a.printJSON(v)
	}
	t := a.newFacts()
	t.row("approval", v.ID)
	t.row("tool", v.Address)
	t.row("state", v.State)
	t.row("question", v.Request.Message)
	t.row("why", v.Request.Reason)
	t.row("url", v.Request.URL)
	if v.Request.Kind == approval.KindForm {
		t.row("asks for", indented(v.Request.Schema))
	}
	t.row("arguments", indented(v.Arguments))
	t.row("asked", clock(v.CreatedAt))
	t.row("by", v.Client)
	t.row("account", v.Account+" of "+v.Organisation)
	t.row("session", v.Session)
	t.row("deadline", clock(v.Deadline))
	if v.State == "waiting" {
		t.row("left", v.left())
	}
	if d := v.Decision; d != nil {
		t.row("decided by", d.Who()+" ("+string(d.Via)+")")
		t.row("decided", clock(d.At))
		t.row("reason", d.Reason)
	}
	t.row("outcome", string(v.Outcome))
	t.row("digest", v.Digest)
	t.Render()
	if v.State == "waiting" {
		a.say("decide: holdfast approval approve %s, or decline, or cancel", v.ID)
	}
	return nil
}

func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}
