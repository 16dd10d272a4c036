package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

func newHealth(a *App) *cobra.Command {
	var (
		target  addressFlags
		options diagnosis.Options
	)
	cmd := &cobra.Command{
		Use:   "health [WORKSPACE/NAME]",
		Short: "Show all that is known of one connection: engine, tools, denials, models",
		Long: "Asks the engine how the connection is, and shows it together with what its workflow tells. It repairs nothing;\n" +
			"where the engine says something else than the workflow, the workflow is told to look for itself.\n\n" +
			"Exit code 3 when the connection is not usable.\n\n" + addressLong,
		Args: oneAddress,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		if (options.Provider == "") != (options.Model == "") {
			return usagef("give both --provider and --model, or neither")
		}
		key, err := s.find(ctx, target, args)
		if err != nil {
			return err
		}
		document, err := s.diagnose(ctx, key, options)
		if err != nil {
			return err
		}
		return a.showHealth(key, document)
	})
	target.bind(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&options.Probe, "probe", false, "ask the MCP server itself for its tools, too, whatever the engine says of it")
	flags.StringVar(&options.Provider, "provider", "", "with --model: tell whether this provider's model can use the tools")
	flags.StringVar(&options.Model, "model", "", "with --provider: the model's id")
	return cmd
}

// diagnose reads the health document.
func (s *session) diagnose(ctx context.Context, key delivery.Key, o diagnosis.Options) (diagnosis.Document, error) {
	st, err := s.store(ctx)
	if err != nil {
		return diagnosis.Document{}, err
	}
	remote, err := s.connect(ctx)
	if err != nil {
		return diagnosis.Document{}, err
	}
	reader := diagnosis.NewReader(diagnosis.Params{
		Store: st, Resolver: desired.NewResolver(st, s.keyset.MAC()), Connections: remote.Connections,
		EngineTimeout: s.settings.Engine.Timeout, EndpointTimeout: s.settings.Endpoint.Timeout, Build: s.app.options.Build,
	})
	defer reader.Close()
	return reader.Read(ctx, key, o)
}

func (a *App) showHealth(key delivery.Key, d diagnosis.Document) error {
	if a.JSON() {
		if err := a.printJSON(d); err != nil {
			return err
		}
	} else {
		a.printHealth(key, d)
	}
	if d.Usable {
		return nil
	}
	return &CodeError{Code: ExitNotReady, Cause: errors.New(short(key) + " is not usable: " + d.FirstFailure.Error())}
}

// healthTable is the parts of a health for people.
type healthTable struct{ facts }

func (a *App) printHealth(key delivery.Key, d diagnosis.Document) {
	t := healthTable{a.newFacts()}
	t.row("connection", short(key))
	t.row("directory", key.Directory)
	t.row("phase", string(d.Phase))
	t.row("usable", yesNo(d.Usable))
	if d.UsableByCurrentModel != nil {
		t.row("usable by model", yesNo(*d.UsableByCurrentModel))
	}
	if f := d.FirstFailure; f != nil {
		t.row("failure", f.Error())
		t.row("cause", f.Cause())
		t.row("next step", f.RecommendedAction)
	}
	t.delivery(d)
	t.engine(d)
	t.tools(d)
	t.probe(d.Tools.Direct)
	t.Render()
}

func (t healthTable) delivery(d diagnosis.Document) {
	state := string(d.Delivery.State)
	switch d.Delivery.Source {
	case diagnosis.FromMemo:
		state += " (as published last; no worker answers)"
	case diagnosis.FromNowhere:
		state += " (no workflow runs)"
	}
	t.row("state", state)
	t.row("why", d.Delivery.Reason)
	t.row("waiting for", string(d.Delivery.WaitingFor))
	if degraded := d.Delivery.Degraded; degraded != nil {
		t.row("degraded", "since "+clock(&degraded.Since)+", "+failureLine(degraded.Failure))
	}
	if d.Delivery.VerifiedAt != nil {
		t.row("verified", clock(d.Delivery.VerifiedAt))
	}
	if token := d.Desired.Token; token.ExpiresAt != nil {
		t.row("token", fmt.Sprintf("expires %s, renewed %s", clock(token.ExpiresAt), clock(token.RenewAt)))
	}
}

func (t healthTable) engine(d diagnosis.Document) {
	status := d.Engine.Status
	if d.Engine.Error != "" {
		status += ": " + d.Engine.Error
	}
	t.row("engine", status)
	if version := d.Compatibility.OpenCode; version.ActualVersion != nil && *version.ActualVersion != version.ExpectedVersion {
		t.row("engine version", *version.ActualVersion+"; this release is tested with "+version.ExpectedVersion)
	}
	if d.EngineInspection.ServerCount != nil {
		t.row("engine's servers", strconv.Itoa(*d.EngineInspection.ServerCount))
	}
}

func (t healthTable) tools(d diagnosis.Document) {
	t.row("tools", listingLine(d.Tools.Listing))
	if len(d.PluginCanaries.Missing) > 0 {
		t.row("plugin tools", listingLine(d.PluginCanaries))
	}
	for _, denied := range d.ToolDenies {
		t.row("denied", fmt.Sprintf("%s by %s %q of %s", denied.Matched, denied.Style, denied.Pattern, denied.Source))
	}
	for _, unknown := range d.ToolDeniesUnknown {
		t.row("denials unknown", unknown.Reason)
	}
	p := d.Tools.ProviderProjection
	if !p.Checked {
		return
	}
	model := p.Provider + "/" + p.Model
	switch {
	case p.Source == diagnosis.SourceExperimentalTool:
		model += " has the tools"
	case p.ModelExists == nil:
		model += ": " + p.Error
	case !*p.ModelExists:
		model += " is not a model that the engine can run"
	case *p.ToolCalling:
		model += " can call tools"
	default:
		model += " cannot call tools"
	}
	t.row("model", model)
}

func (t healthTable) probe(direct diagnosis.Direct) {
	if direct.Trace == nil {
		t.row("probe", direct.Error)
		return
	}
	t.row("probe", direct.Trace.Endpoint+probed(direct))
	for _, step := range direct.Trace.Steps {
		t.row("  "+step.Step, stepLine(step))
	}
	// The connection's own failure may be another one, or none: a single look that failed proves nothing.
	if f := direct.Failure; f != nil {
		t.row("probe failure", failureLine(*f))
		t.row("probe's next step", f.RecommendedAction)
	}
}

// failureLine is a failure with its cause.
func failureLine(f health.Failure) string {
	if cause := f.Cause(); cause != "" {
		return f.Error() + " (" + cause + ")"
	}
	return f.Error()
}

func probed(direct diagnosis.Direct) string {
	switch {
	case !direct.Checked:
		return ", not reached"
	case direct.Trace.Server != nil && direct.Trace.Server.Name != "":
		return ", " + strings.TrimSpace(direct.Trace.Server.Name+" "+direct.Trace.Server.Version)
	default:
		return ""
	}
}

func stepLine(step mcpprobe.Step) string {
	verdict := "ok"
	if !step.OK {
		verdict = "failed"
	}
	text := fmt.Sprintf("%s, %d ms", verdict, step.LatencyMillis)
	status := fmt.Sprintf("http %d", step.HTTPStatus)
	if step.HTTPStatus != 0 {
		text += ", " + status
	}
	if step.Error != "" && step.Error != status {
		text += ", " + step.Error
	}
	return text
}

func listingLine(l diagnosis.Listing) string {
	var parts []string
	if len(l.Present) > 0 {
		parts = append(parts, strings.Join(l.Present, ", "))
	}
	if len(l.Missing) > 0 {
		parts = append(parts, "missing: "+strings.Join(l.Missing, ", "))
	}
	return strings.Join(parts, "; ")
}
