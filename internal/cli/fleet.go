package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/fleet"
	"github.com/holdfast-mcp/holdfast/internal/store"
	workflow "github.com/holdfast-mcp/holdfast/workflows/fleet"
)

const fleetLimit = 10 * time.Minute

func newFleet(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Compare what is wanted with what runs, and mend the difference",
		Args:  noArguments,
		RunE:  help,
	}
	cmd.AddCommand(newFleetReconcile(a), newFleetStatus(a))
	return cmd
}

func (s *session) reconciler(remote *Remote, st *store.Store) *fleet.Reconciler {
	return fleet.NewReconciler(fleet.Params{
		Store: st, Connections: remote.Connections, Engines: remote.Engines, TaskQueue: s.settings.Temporal.TaskQueue,
	})
}

// failuresOf is the error of a pass that could not do all.
func failuresOf(r fleet.Result) error {
	faults := make([]error, 0, len(r.Failures)+1)
	for _, f := range r.Failures {
		faults = append(faults, fmt.Errorf("%s %s: %s", f.Step, f.Subject, f.Error))
	}
	if more := r.Failed - len(r.Failures); more > 0 {
		faults = append(faults, fmt.Errorf("and %d more", more))
	}
	return errors.Join(faults...)
}

func newFleetReconcile(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Start what is missing, end what is not wanted any more: now",
		Long: "Makes one pass and tells what it did. Workers make one every fleet.interval by themselves.\n\n" +
			"What is missing is started also with no worker running; ending takes a worker. A connection that is not wanted any more and\n" +
			"that a session uses is ended later, by the workers' passes.",
		Args: noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		remote, err := s.connect(ctx)
		if err != nil {
			return err
		}
		st, err := s.store(ctx)
		if err != nil {
			return err
		}
		if err := remote.Fleet.Ensure(ctx); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, fleetLimit)
		defer cancel()
		result, err := s.reconciler(remote, st).Pass(ctx)
		if err != nil {
			return err
		}
		return a.printPass(result)
	})
	return cmd
}

func (a *App) printPass(r fleet.Result) error {
	if a.JSON() {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		t := a.newTable("wanted", "started", "ended", "watches started", "in use", "failed")
		t.AppendRow([]any{r.Wanted, r.Started, r.Closed, r.Engines, r.InUse, r.Failed})
		t.Render()
	}
	if r.Failed > 0 {
		return failuresOf(r)
	}
	return nil
}

// fleetStatus is the answer of `fleet status -o json`.
type fleetStatus struct {
	workflow.Description

	// Passes is what those have done that changed something; nil when no worker answers.
	Passes *workflow.Snapshot `json:"passes"`
}

func newFleetStatus(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show when what is wanted was last compared with what runs, and what was done",
		Long: "Shows the last pass, the next one, and what all passes have started and ended since the workflow began. A watch is the\n" +
			"workflow that follows the events of one engine: each engine that connections use has one.",
		Args: noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		remote, err := s.connect(ctx)
		if err != nil {
			return err
		}
		status := fleetStatus{}
		status.Description, err = remote.Fleet.Describe(ctx)
		if errors.Is(err, workflow.ErrNotFound) || (err == nil && !status.Running) {
			return notFoundf("%w", workflow.ErrNotFound)
		}
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, liveTimeout)
		defer cancel()
		if passes, silent := remote.Fleet.Snapshot(limited); silent == nil {
			status.Passes = &passes
		} else {
			a.say("no worker answers; this is what Temporal knows. Start one: holdfast-worker, or holdfast dev")
		}
		return a.printFleet(status)
	})
	return cmd
}

func (a *App) printFleet(status fleetStatus) error {
	if a.JSON() {
		return a.printJSON(status)
	}
	t := a.newTable()
	t.AppendRow([]any{"workflow", status.WorkflowID})
	t.AppendRow([]any{"last pass", orNone(status.Said)})
	t.AppendRow([]any{"next pass", clock(&status.NextAt)})
	if p := status.Passes; p != nil {
		t.AppendRow([]any{"so far", soFar(*p)})
		if p.Last != nil {
			t.AppendRow([]any{"last change", clock(&p.Last.At)})
		}
	}
	t.Render()
	return nil
}

// soFar counts what passes have done. Those that found all in order leave no trace.
func soFar(p workflow.Snapshot) string {
	if p.Passes == 0 {
		return "no pass changed anything or was asked for"
	}
	return fmt.Sprintf("%s started, %d ended, %s started, in %s that changed something or %s asked for",
		count(p.Started, "connection"), p.Closed, count(p.Engines, "watch"), count(p.Passes, "pass"), pick(p.Passes, "was", "were"))
}
