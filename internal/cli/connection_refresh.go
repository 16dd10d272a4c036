package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// refreshView is the answer of `refresh -o json`.
type refreshView struct {
	view

	Refresh connection.Refresh `json:"refresh"`
}

func newRefresh(a *App) *cobra.Command {
	var (
		target  addressFlags
		request requestFlags
	)
	cmd := &cobra.Command{
		Use:   "refresh [WORKSPACE/NAME]",
		Short: "Drop and deliver again, with the latency of each step",
		Long: "Disconnects the server in the engine and delivers it again. Tells each step with its latency.\n\n" +
			"Exit code 3 when the connection is not ready afterwards.\n\n" + addressLong,
		Args: oneAddress,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		if err := request.check(); err != nil {
			return err
		}
		key, err := s.find(ctx, target, args)
		if err != nil {
			return err
		}
		remote, err := s.connect(ctx)
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, updateLimit)
		defer cancel()
		result, err := remote.Connections.Refresh(limited, key, request.id(), request.request())
		if err != nil {
			return s.explainGone(ctx, key, err)
		}
		return a.printRefresh(finalView(ctx, remote.Connections, key, &result.Health), key, result)
	})
	target.bind(cmd)
	request.bind(cmd, "holdfast connection refresh")
	return cmd
}

func (a *App) printRefresh(v view, key delivery.Key, result connection.RefreshResult) error {
	var verdict error
	if !result.Health.Usable {
		verdict = notReady(key, result.Health)
	}
	if a.JSON() {
		if err := a.printJSON(refreshView{view: v, Refresh: result.Refresh}); err != nil {
			return err
		}
		return verdict
	}
	if !result.Refresh.Performed {
		a.say("nothing was refreshed: %s", orNone(result.Refresh.Reason))
	} else {
		t := a.newTable("step", "ok", "ms")
		for _, step := range result.Refresh.Steps {
			t.AppendRow([]any{step.Step, yesNo(step.OK), step.LatencyMillis})
		}
		t.Render()
	}
	return a.finish(v, verdict)
}
