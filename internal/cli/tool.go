package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/policyfile"
)

func newTool(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tool",
		Aliases: []string{"tools"},
		Short:   "Tools of the sources: find one, call it",
		Long: "Tools come from the MCP servers in the file that the setting sources.file names, and the rules on calls from policy.file.\n" +
			"With no sources named, those of a running 'holdfast dev' on the same data folder are used. This command reaches the sources\n" +
			"itself.",
		Args: noArguments,
		RunE: help,
	}
	cmd.AddCommand(newToolSearch(a), newToolCall(a))
	return cmd
}

// toolbox is the tools and the rules of the settings.
type toolbox struct {
	catalog *catalog.Sources
	rules   *policyfile.File
}

// tools reads the sources and the rules, and begins to list the tools.
func (s *session) tools() (toolbox, error) {
	files, err := s.toolFiles()
	if err != nil {
		return toolbox{}, err
	}
	if files.Sources == "" {
		return toolbox{}, errors.New("there are no tools: name a file of MCP servers with the setting sources.file (HOLDFAST_SOURCES_FILE)")
	}
	rules, err := s.rules(files)
	if err != nil {
		return toolbox{}, err
	}
	sources, err := catalog.New(catalog.Params{
		File: files.Sources, Overrides: rules.Overrides, Lookup: s.app.environment().LookupEnv, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return toolbox{}, err
	}
	s.closers = append(s.closers, func() error {
		sources.Close()
		return nil
	})
	return toolbox{sources, rules}, nil
}

func (s *session) rules(files DevInfo) (*policyfile.File, error) {
	return policyfile.Open(policyfile.Params{
		Path: files.Rules, Defaults: policy.Defaults{Window: s.settings.Approvals.Window}, Log: slog.New(slog.DiscardHandler),
	})
}

// toolFiles are those that the settings name, or, where they name no sources, those of a running `holdfast dev`.
func (s *session) toolFiles() (DevInfo, error) {
	named := DevInfo{Sources: s.settings.Sources.File, Rules: s.settings.Policy.File}
	if named.Sources != "" {
		return named, nil
	}
	dev, err := readDevInfo(s.settings.DataDir)
	if err != nil || dev == nil {
		return named, err
	}
	if named.Sources = dev.Sources; named.Rules == "" {
		named.Rules = dev.Rules
	}
	return named, nil
}

// policy is what applies now.
func (t toolbox) policy(context.Context) executions.Policy {
	now := t.rules.Current()
	return executions.Policy{Rules: now.Rules, Defaults: now.Defaults, Version: now.Version}
}

// verdict is what the rules say of a call of a tool by this command line.
func (t toolbox) verdict(who executions.Caller, tool catalog.Tool) policy.Verdict {
	return t.rules.Current().Decide(policy.Call{Address: tool.Address, Account: who.Identity.Account, Annotations: tool.Annotations})
}

// noTool says why there is none at an address: there may be one at a source that cannot be asked.
func (t toolbox) noTool(address string) error {
	name, _, _ := strings.Cut(address, ".")
	for _, source := range t.catalog.Status() {
		if source.Name == name && source.State != catalog.StateUp {
			return fmt.Errorf("the tools of %s are not known: %s; see: holdfast doctor", source.Name, whyNot(source))
		}
	}
	return noSuchTool(t.catalog.Suggest(address))
}

// whyNot is why the tools of a source are not known.
func whyNot(source catalog.Status) string {
	switch source.Code {
	case "":
		return "it has not answered yet"
	case catalog.CodeUnreachable:
		return "it cannot be reached or started"
	case catalog.CodeTimeout:
		return "it does not answer in time"
	case catalog.CodeUnauthorized:
		return "it refuses our token"
	case catalog.CodeRefused:
		return "it refuses to list them"
	default:
		return "it does not speak the protocol as it should"
	}
}

// saySilentSources tells of sources whose tools are not known.
func (t toolbox) saySilentSources(a *App) {
	for _, source := range t.catalog.Status() {
		if source.State != catalog.StateUp {
			a.say("the tools of %s are not known: %s", source.Name, whyNot(source))
		}
	}
}
