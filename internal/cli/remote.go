package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/log"

	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
	"github.com/holdfast-mcp/holdfast/workflows/fleet"
	mcpsession "github.com/holdfast-mcp/holdfast/workflows/session"
)

// dialTimeout bounds the wait for a server that is down: people are told within 5 s.
const dialTimeout = 3 * time.Second

// Connections is what commands ask of connection workflows; [connection.Client] has it.
type Connections interface {
	Ensure(ctx context.Context, key delivery.Key, engineID string, changed connection.DesiredChanged) error
	Probe(ctx context.Context, key delivery.Key, requestID string, in connection.Request) (connection.Health, error)
	Reconcile(ctx context.Context, key delivery.Key, requestID string, in connection.Request) (connection.Health, error)
	Refresh(ctx context.Context, key delivery.Key, requestID string, in connection.Request) (connection.RefreshResult, error)
	Remove(ctx context.Context, key delivery.Key, requestID string, in connection.Request) (connection.Health, error)
	MarkStale(ctx context.Context, key delivery.Key, reason string) error
	Snapshot(ctx context.Context, key delivery.Key, revision *string) (connection.Snapshot, error)
	Health(ctx context.Context, key delivery.Key) (connection.Health, error)
	Describe(ctx context.Context, key delivery.Key) (connection.Description, error)
	Wake(ctx context.Context, key delivery.Key) error
	List(ctx context.Context, f connection.Filter) ([]connection.Listed, error)
	ListPage(ctx context.Context, f connection.Filter, p connection.Page) (rows []connection.Listed, next string, err error)
	History(ctx context.Context, key delivery.Key) ([]connection.Transition, error)
}

// Engines is what commands ask of engine workflows; [engine.Client] has it.
type Engines interface {
	Ensure(ctx context.Context, engineID string) error
	Running(ctx context.Context, engineID string) (bool, error)
}

// Fleet is what commands ask of the fleet's workflow; [fleet.Client] has it.
type Fleet interface {
	Ensure(ctx context.Context) error
	ReconcileNow(ctx context.Context) error
	Describe(ctx context.Context) (fleet.Description, error)
	Snapshot(ctx context.Context) (fleet.Snapshot, error)
}

// Sessions is what commands ask of workflows of MCP sessions; [mcpsession.Client] has it.
type Sessions interface {
	Snapshot(ctx context.Context, id string) (mcpsession.Snapshot, error)
	Terminate(ctx context.Context, id string, in mcpsession.Terminate) error
}

// Remote is an open way to Temporal.
type Remote struct {
	Address     string
	Namespace   string
	Connections Connections
	Engines     Engines
	Fleet       Fleet
	Sessions    Sessions
	Executions  executions.Workflows
	// Services administer the namespace.
	Services temporalclient.Services
	Close    func()
}

// dial reaches the server that the options name.
func dial(ctx context.Context, o temporalclient.Options, taskQueue string) (*Remote, error) {
	resolved, err := o.ClientOptions()
	if err != nil {
		return nil, err
	}
	c, err := temporalclient.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Remote{
		Address:     resolved.HostPort,
		Namespace:   resolved.Namespace,
		Connections: connection.NewClient(c, resolved.DataConverter, taskQueue),
		Engines:     engine.NewClient(c, taskQueue),
		Fleet:       fleet.NewClient(c, taskQueue),
		Sessions:    mcpsession.NewClient(c, taskQueue),
		Executions:  execution.NewClient(c, taskQueue),
		Services:    c,
		Close:       c.Close,
	}, nil
}

// temporalOptions say which server, as the standard variables or a running `holdfast dev` have it.
func (a *App) temporalOptions(settings config.Config, keyset *keys.Keys) (temporalclient.Options, error) {
	environment := a.environment()
	o := temporalclient.Options{
		Role: "cli", Version: a.options.Build.Version, Plain: keyset == nil, DialTimeout: dialTimeout,
		Env: environment, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}
	if keyset != nil {
		o.AEAD = keyset.AEAD()
	}
	for _, chosen := range []string{"TEMPORAL_ADDRESS", "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE"} {
		if environment.set(chosen) {
			return o, nil
		}
	}
	dev, err := readDevInfo(settings.DataDir)
	if err != nil || dev == nil {
		return o, err
	}
	o.Address = dev.Temporal
	if !environment.set("TEMPORAL_NAMESPACE") {
		o.Namespace = dev.Namespace
	}
	return o, nil
}

// explainDial says in short what a failed dial means.
func explainDial(err error) error {
	var failed *temporalclient.DialError
	switch {
	case !errors.As(err, &failed):
		return err
	case failed.Refused:
		return fmt.Errorf("temporal at %s refused us; check TEMPORAL_API_KEY and TEMPORAL_TLS_*", failed.Address)
	default:
		return fmt.Errorf("cannot reach Temporal at %s; start it, or run: holdfast dev", failed.Address)
	}
}

// explainRemote adds the next step to what Temporal says, where its own words have none.
func explainRemote(err error, namespace string) error {
	var (
		noNamespace *serviceerror.NamespaceNotFound
		invalid     *serviceerror.InvalidArgument
		unavailable *serviceerror.Unavailable
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &noNamespace):
		return fmt.Errorf("namespace %s does not exist; run: holdfast setup", namespace)
	case errors.As(err, &invalid) && strings.Contains(strings.ToLower(invalid.Error()), "search attribute"),
		errors.As(err, &invalid) && strings.Contains(invalid.Error(), "Holdfast"):
		return fmt.Errorf("%w; run: holdfast setup", err)
	case errors.As(err, &unavailable):
		return fmt.Errorf("%w; check the server: holdfast doctor", err)
	default:
		return err
	}
}
