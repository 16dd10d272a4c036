package dev

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	demoAccount = "demo"
	askWithin   = 20 * time.Second
)

func demoIdentity() approval.Identity {
	return approval.Identity{Account: demoAccount, Organisation: auth.DefaultOrganisation}
}

// ask makes the demo's gated call, so that there is something to approve; one that still waits from an earlier start is taken. A call
// that cannot be made is told, and everything else goes on.
func (r *runner) ask(ctx context.Context) error {
	if r.sample == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	id, err := r.waiting(ctx)
	if err == nil && id == "" {
		id, err = r.call(ctx)
	}
	if err != nil {
		fmt.Fprintf(r.Err, "the demo's call cannot be made: %v\n", err)
		return nil
	}
	r.approval = r.gateway.URL() + "/resume/" + id
	return nil
}

// waiting is the demo's pause that waits already; empty where there is none.
func (r *runner) waiting(ctx context.Context) (string, error) {
	who, open := demoIdentity(), true
	rows, err := r.store.Pauses(ctx, store.PauseFilter{Identity: &who, Open: &open, Limit: 1})
	if err != nil || len(rows) == 0 || time.Until(rows[0].Deadline) < time.Minute {
		return "", err
	}
	return rows[0].ID, nil
}

func (r *runner) call(ctx context.Context) (string, error) {
	report, err := r.engine.Execute(ctx, executions.Caller{
		Identity: demoIdentity(), Principal: "dev", Name: "holdfast dev", Client: "holdfast dev", Mode: approval.ModeBrowser,
		Resource: "default", Origin: r.gateway.URL(), Via: "cli",
	}, executions.Call{Address: sampleSource + ".delete_note", Arguments: []byte(`{"name":"passwords"}`), Hold: askWithin})
	switch {
	case err != nil:
		return "", err
	case report.Pause == nil:
		return "", fmt.Errorf("it is %s, and nobody was asked", report.Status)
	}
	return report.Pause.ID, nil
}
