package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	// liveTimeout is how long a read waits for a worker before it takes what was published last.
	liveTimeout = 4 * time.Second
	listTimeout = 30 * time.Second
	signalLimit = 10 * time.Second
)

// Where a view comes from.
const (
	sourceWorkflow = "workflow" // asked of a worker now
	sourceMemo     = "memo"     // published last; no worker answered
)

// view is one connection as `get -o json` shows it.
type view struct {
	Workspace  string               `json:"workspace"`
	Name       string               `json:"name"`
	Directory  string               `json:"directory"`
	Engine     string               `json:"engine"`
	Snapshot   *connection.Snapshot `json:"snapshot"`
	Health     *connection.Health   `json:"health"`
	WorkflowID string               `json:"workflowId"`
	RunID      string               `json:"runId"`
	Source     string               `json:"source"`
}

func newView(key delivery.Key) view {
	return view{
		Workspace: key.Workspace, Name: key.Name, Directory: key.Directory,
		WorkflowID: connection.ID(key), Source: sourceMemo,
	}
}

// described fills in what Temporal itself knows.
func (v *view) described(d connection.Description) {
	v.WorkflowID, v.RunID = d.WorkflowID, d.RunID
	v.show(d.Snapshot)
}

// answered fills in what a worker has said.
func (v *view) answered(h connection.Health) {
	v.Health, v.Source = &h, sourceWorkflow
	v.show(&h.Delivery)
}

func (v *view) show(s *connection.Snapshot) {
	if s == nil {
		return
	}
	v.Snapshot = s
	if s.EngineID != "" {
		v.Engine = s.EngineID
	}
}

// readView reads a connection: from a worker, else from what was published last. silent is why no worker answered.
func readView(ctx context.Context, c Connections, key delivery.Key) (v view, silent, err error) {
	v = newView(key)
	d, err := c.Describe(ctx, key)
	if err != nil {
		return v, nil, err
	}
	v.described(d)
	if !d.Running {
		return v, nil, notFoundf("%s does not run: it was removed, or ended by hand; its past: holdfast connection history %s --directory %s",
			short(key), short(key), key.Directory)
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	h, err := c.Health(ctx, key)
	if err != nil {
		return v, err, nil
	}
	v.answered(h)
	return v, nil, nil
}

// printView shows a connection as rows of two columns.
func (a *App) printView(v view) {
	t := a.newFacts()
	t.row("connection", v.Workspace+"/"+v.Name)
	t.row("directory", v.Directory)
	t.row("engine", v.Engine)
	if v.Snapshot == nil {
		t.row("state", "nothing is published yet")
	}
	if s := v.Snapshot; s != nil {
		t.row("state", string(s.State))
		if v.Health != nil {
			t.row("usable", yesNo(v.Health.Usable))
		}
		t.row("why", s.Reason)
		t.row("since", clock(s.StateSince))
		t.row("applied", clock(s.AppliedAt))
		t.row("last attempt", clock(s.LastAttemptAt))
		t.row("trigger", deref(s.Trigger))
		t.row("waiting for", string(s.WaitingFor))
		if s.NextAttemptAt != nil {
			t.row("next attempt", clock(s.NextAttemptAt))
		}
		if s.Degraded != nil {
			t.row("degraded", s.Degraded.Failure.Error())
		}
		if s.Failure != nil {
			t.row("failure", s.Failure.Error())
			t.row("cause", s.Failure.Cause())
			t.row("next step", s.Failure.RecommendedAction)
		}
	}
	if v.Health != nil {
		t.row("last look", clock(v.Health.CheckedAt))
		if v.Health.Tools != nil {
			t.row("tools", toolsLine(v.Health))
		}
	}
	t.row("workflow", v.WorkflowID)
	t.Render()
}

func toolsLine(h *connection.Health) string {
	if h.Tools.Count == 0 && h.Tools.LastOKAt == nil {
		return noValue // nobody was reached that could have listed any
	}
	text := fmt.Sprintf("%d listed at %s", h.Tools.Count, clock(&h.Tools.CheckedAt))
	if len(h.Tools.Missing) > 0 {
		text += ", missing: " + strings.Join(h.Tools.Missing, ", ")
	}
	return text
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// saySilent tells that no worker answered.
func (a *App) saySilent(silent error) {
	switch {
	case silent == nil:
	case errors.Is(silent, connection.ErrNoWorker):
		a.say("no worker answers; this is what was published last. Start one: holdfast-worker, or holdfast dev")
	default:
		a.say("this is what was published last; the workflow did not answer: %v", silent)
	}
}
