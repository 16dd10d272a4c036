package dev

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/config"
)

const commandLong = `Dev runs all of Holdfast on this machine: a Temporal dev server with its UI, a worker, a gateway with MCP endpoint, pages and
REST API, and a demo: a workspace that is connected to this gateway and whose engine drops its registration every 30 s, so that
you can watch it being repaired; and a source of tools, one of whose calls waits for your approval at the printed link. The
gateway's token is made anew at each start and shown once. With sources.file or policy.file there is no such source. Everything is
kept in the data folder, also the log, dev.log: a second start goes on where the first one stopped.

The Temporal CLI is taken from HOLDFAST_TEMPORAL_CLI, from PATH or from the user cache, else it is built once (some minutes).`

// NewCommand makes `holdfast dev`.
func NewCommand() cli.Extra {
	return func(a *cli.App) *cobra.Command {
		var o Options
		cmd := &cobra.Command{
			Use:   "dev",
			Short: "Run everything on this machine, with a demo",
			Long:  commandLong,
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := a.Settings(cmd, Defaults())
				if err != nil {
					return err
				}
				o.Config = cfg
				if err := o.check(); err != nil {
					return &cli.CodeError{Code: cli.ExitUsage, Cause: err}
				}
				o.JSON, o.Out, o.Err = a.JSON(), a.Stdout(), a.Stderr()
				o.Version = buildinfo.Version()
				return Run(cmd.Context(), o)
			},
		}
		flags := cmd.Flags()
		flags.IntVar(&o.TemporalPort, "temporal-port", DefaultTemporalPort, "port of the Temporal server; 0 takes a free one")
		flags.IntVar(&o.UIPort, "ui-port", DefaultUIPort, "port of the Temporal UI; 0 takes a free one")
		flags.StringVar(&o.Listen, "listen", DefaultListen, "address of the codec endpoint; port 0 takes a free one")
		flags.BoolVar(&o.NoDemo, "no-demo", false, "leave the demo workspace out")
		// The settings are our own: a path that is none is a mistake in this file.
		if err := config.AddFlagsOf(flags, Defaults(), "inspect.poll_interval", "inspect.probe_interval", "worker.health_listen",
			"gateway.listen", "sources.file", "policy.file"); err != nil {
			panic(fmt.Sprintf("add settings flags: %v", err))
		}
		return cmd
	}
}

const maxPort = 65535

func (o *Options) check() error {
	for flag, port := range map[string]int{"--temporal-port": o.TemporalPort, "--ui-port": o.UIPort} {
		if port < 0 || port > maxPort {
			return fmt.Errorf("%s: %d is no port: give 0 to %d", flag, port, maxPort)
		}
	}
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return fmt.Errorf("--listen: write host and port, such as %s", DefaultListen)
	}
	for flag, address := range map[string]string{"--listen": o.Listen, "--gateway-listen": o.Config.Gateway.Listen} {
		if !config.Loopback(address) {
			return fmt.Errorf("%s: dev serves this machine only: give a loopback address, such as 127.0.0.1:0", flag)
		}
	}
	return nil
}
