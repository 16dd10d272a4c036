// Command bench measures what Holdfast costs beside the raw work that it saves, on this machine, in one run:
//
//	healthy   what a healthy connection costs Temporal at rest
//	repair    how long a disposed registration stays away, by hand and with Holdfast, on the real engine
//	service   a health read of the gateway beside the engine calls it needs; a hundred probes asked for at once
//	fleet     many connections over several simulated engines, delivered, lost at once, repaired
//	gateway   a read-only tool called directly, through a bare proxy, and through the gateway
//	decision  how soon after a decision the upstream is called
//	wake      how soon a session that sleeps answers
//	sleepers  what sleeping sessions and paused executions cost in memory
//
// Temporal is a dev server in memory and the worker is the built binary; both are processes of their own. The exit code
// is 1 when a limit was missed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

const (
	exitMissed = 1
	exitUsage  = 2
)

// options are the command line.
type options struct {
	figures []string
	output  string

	healthy     time.Duration
	disposals   int
	connections int
	engines     int
	rounds      int
	calls       int
	burst       time.Duration
	decisions   int
	wakes       int
	sleepers    int
	keep        string
	profile     time.Duration
}

// figures are all that can be measured, in order.
var figures = []struct {
	name    string
	measure func(context.Context, *bench) (Figure, error)
}{
	{"repair", measureRepair},
	{"blocked", measureBlocked},
	{"fleet", measureFleet},
	{"service", measureService},
	{"gateway", measureGateway},
	{"decision", measureDecision},
	{"wake", measureWake},
	{"sleepers", measureSleepers},
	{"healthy", measureHealthy},
}

func main() {
	if served, err := runRole(os.Args[1:]); served {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitMissed)
		}
		return
	}
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	o, err := parse(args)
	if err == pflag.ErrHelp { //nolint:errorlint // returned bare
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := measure(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitMissed
	}
	if err := report.write(os.Stdout, o.output); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitMissed
	}
	if !report.met() {
		return exitMissed
	}
	return 0
}

func parse(args []string) (options, error) {
	names := make([]string, 0, len(figures))
	for _, f := range figures {
		names = append(names, f.name)
	}
	var o options
	flags := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	flags.StringSliceVar(&o.figures, "figures", names, "what to measure: "+strings.Join(names, ", "))
	flags.StringVarP(&o.output, "output", "o", outputTable, "table or json")
	flags.DurationVar(&o.healthy, "healthy", 10*time.Minute, "how long the healthy connection is watched")
	flags.IntVar(&o.disposals, "disposals", 50, "disposals of each arm of a repair")
	flags.IntVar(&o.connections, "connections", 1000, "connections of the fleet")
	flags.IntVar(&o.engines, "engines", 10, "simulated engines of the fleet")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds of the gateway")
	flags.IntVar(&o.calls, "calls", 300, "calls of each arm by one client in a round of the gateway")
	flags.DurationVar(&o.burst, "burst", 3*time.Second, "how long each arm's many clients call in a round of the gateway")
	flags.IntVar(&o.decisions, "decisions", 100, "paused calls of each way to decide")
	flags.IntVar(&o.wakes, "wakes", 100, "sessions that are woken at each replica")
	flags.IntVar(&o.sleepers, "sleepers", 10_000, "sleeping sessions, and paused executions, before as many again are made")
	flags.DurationVar(&o.profile, "profile", 0, "profile the gateway for so long during its figure, into the folder of --keep")
	flags.StringVar(&o.keep, "keep", "", "keep logs and data of the run in this folder")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	case o.output != outputTable && o.output != outputJSON:
		return o, fmt.Errorf("-o %s: choose table or json", o.output)
	case o.disposals < 1 || o.connections < 1 || o.engines < 1 || o.healthy <= 0 || o.rounds < 1 || o.calls < 1 || o.burst <= 0,
		o.decisions < 1 || o.wakes < 1 || o.sleepers < 1:
		return o, fmt.Errorf("sizes must be above 0")
	}
	for _, name := range o.figures {
		if !slices.Contains(names, name) {
			return o, fmt.Errorf("no figure %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	return o, nil
}

// bench is one run.
type bench struct {
	options

	dir     string
	root    string
	worker  string
	gateway string
}

// note tells whoever waits how far the run is.
func (*bench) note(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func measure(ctx context.Context, o options) (Report, error) {
	b, cleanUp, err := prepare(ctx, o)
	if err != nil {
		return Report{}, err
	}
	defer cleanUp()
	report := newReport()
	for _, f := range figures {
		if !slices.Contains(o.figures, f.name) {
			continue
		}
		b.note("%s …", f.name)
		figure, err := f.measure(ctx, b)
		if err != nil {
			return Report{}, fmt.Errorf("measure %s: %w", f.name, err)
		}
		figure.Name = f.name
		report.Figures = append(report.Figures, figure)
	}
	report.Load.After = loadAverage()
	return report, nil
}
