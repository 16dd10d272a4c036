package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/app"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/filelock"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
)

const (
	// findTimeout leaves room for a build of the Temporal CLI on a small machine.
	findTimeout  = 15 * time.Minute
	startTimeout = 90 * time.Second
	lockTimeout  = 200 * time.Millisecond
	stopTimeout  = 20 * time.Second
)

// ErrInUse means that another `holdfast dev` works on the data directory.
var ErrInUse = errors.New("another `holdfast dev` uses this data directory; stop it or choose another with --data-dir")

// Run starts everything, says so, shows what happens, and stops everything when ctx is over. It ends by itself, with an
// error, when one of the parts does.
func Run(ctx context.Context, o Options) (err error) {
	r := &runner{Options: o, began: time.Now()}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := r.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // stopped while it started: not an error of ours
		}
		return err
	}
	r.up = true
	if err := r.announce(); err != nil {
		return err
	}
	return r.live(ctx)
}

// runner holds what was started, in the order of the fields; it is stopped in the reverse order.
type runner struct {
	Options

	lock   *filelock.Lock
	codec  string
	logs   *os.File
	server *temporalclient.DevServer
	sample *sample
	demo   *demo
	graph  *fx.App

	client  client.Client
	keys    *keys.Keys
	store   *store.Store
	tokens  *auth.Tokens
	gateway *app.GatewayServer
	engine  executions.Engine
	// token lets its owner use the gateway; it is shown once.
	token auth.Secret
	// approval is the page of the demo's call that waits; empty where there is none.
	approval string

	// up is set when everything serves.
	up bool
	// began separates what is shown live from what an earlier run has done.
	began time.Time
}

func (r *runner) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		r.takeDataDir, r.startServer, r.startSample, r.startWorker, r.makeToken, r.startDemo, r.ask, r.keepState,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) takeDataDir(ctx context.Context) error {
	dir := r.Config.DataDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	locking, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	lock, err := filelock.Acquire(locking, filepath.Join(dir, "dev.lock"))
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	if err != nil {
		return err
	}
	r.lock = lock
	r.logs, err = os.OpenFile(filepath.Join(dir, "dev.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	if r.Listen, err = freeAddress(ctx, r.Listen); err != nil {
		return err
	}
	secret, err := app.CodecSecret(r.Config)
	if err != nil {
		return err
	}
	r.codec = "http://" + r.Listen + "/" + secret
	return nil
}

// freeAddress settles an address, so that the UI can be told of it before anything listens there.
func freeAddress(ctx context.Context, address string) (string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen on %s: %w; free the port or choose another with --listen", address, err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

func (r *runner) startServer(ctx context.Context) error {
	finding, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	cli, err := temporalclient.FindCLI(finding, temporalclient.CLIOptions{Progress: r.Err})
	if err != nil {
		return err
	}
	r.server, err = temporalclient.StartDevServer(ctx, temporalclient.DevServerOptions{
		CLI: cli, DataFile: filepath.Join(r.Config.DataDir, "temporal.db"),
		Port: r.TemporalPort, UIPort: r.UIPort, CodecEndpoint: r.codec,
		Retention: r.Config.Temporal.NamespaceRetention, LogWriter: r.logs,
	})
	return err
}

// startSample gives the gateway a source of tools, where whoever runs it has named none.
func (r *runner) startSample(ctx context.Context) error {
	if r.NoDemo || r.Config.Sources.File != "" || r.Config.Policy.File != "" {
		return nil
	}
	var err error
	if r.sample, err = startSample(ctx); err != nil {
		return err
	}
	r.Config.Sources.File, r.Config.Policy.File, err = r.sample.write(r.Config.DataDir)
	return err
}

func (r *runner) startWorker(ctx context.Context) error {
	cfg := r.Config
	cfg.Codec.Listen = r.Listen
	cfg.Codec.Origins = r.server.UIOrigins()
	r.graph = fx.New(
		app.WorkerAndGateway(app.Options{
			Config: cfg, Version: r.Version, Address: r.server.Address(), Namespace: r.server.Namespace(), LogOutput: r.logs,
		}),
		fx.Populate(&r.client, &r.keys, &r.store, &r.tokens, &r.gateway, &r.engine),
	)
	if err := r.graph.Err(); err != nil {
		r.graph = nil
		return fmt.Errorf("start worker and gateway: %w", app.Cause(err))
	}
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := r.graph.Start(starting); err != nil {
		return fmt.Errorf("start worker and gateway: %w", err)
	}
	return nil
}

// tokenBy is who makes the tokens of dev; those of an earlier start are revoked.
const tokenBy = "dev"

// makeToken makes the token of this run, and ends those of earlier ones.
func (r *runner) makeToken(ctx context.Context) error {
	if err := r.tokens.RevokeBy(ctx, tokenBy); err != nil {
		return err
	}
	if r.Config.Gateway.Auth == config.AuthNone {
		return nil
	}
	var err error
	r.token, _, err = r.tokens.Create(ctx, auth.Request{Name: "holdfast dev", Role: auth.RoleOwner, By: tokenBy})
	return err
}

func (r *runner) connections() *connection.Client {
	return connection.NewClient(r.client, temporalclient.DataConverter(r.keys.AEAD()), r.Config.Temporal.TaskQueue)
}

func (r *runner) startDemo(ctx context.Context) error {
	if r.NoDemo {
		return r.removeDemo(ctx)
	}
	var err error
	header := map[string]string{}
	if r.Config.Gateway.Auth != config.AuthNone {
		agent, _, err := r.tokens.Create(ctx, auth.Request{Name: "holdfast dev demo", Account: demoAccount, Role: auth.RoleCollaborator, By: tokenBy})
		if err != nil {
			return fmt.Errorf("start demo: %w", err)
		}
		header["Authorization"] = "Bearer " + agent.Reveal()
	}
	if r.demo, err = startDemo(ctx, r.store, r.Config.DataDir, connectTo{r.gateway.URL() + "/mcp", header}); err != nil {
		return fmt.Errorf("start demo: %w", err)
	}
	if err := r.connections().Ensure(ctx, r.demo.key, demoEngineID, connection.DesiredChanged{Trigger: "demo"}); err != nil {
		return fmt.Errorf("start demo: %w", err)
	}
	if err := engine.NewClient(r.client, r.Config.Temporal.TaskQueue).Ensure(ctx, demoEngineID); err != nil {
		return fmt.Errorf("start demo: %w", err)
	}
	return nil
}

func (r *runner) state() cli.DevInfo {
	return cli.DevInfo{
		Temporal: r.server.Address(), Namespace: r.server.Namespace(), UI: r.server.UIURL(), Codec: r.codec,
		Gateway: r.gateway.URL(), Sources: absolute(r.Config.Sources.File), Rules: absolute(r.Config.Policy.File), PID: os.Getpid(),
	}
}

// absolute is for commands that are run in other directories.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil && path != "" {
		return whole
	}
	return path
}

func (r *runner) keepState(context.Context) error { return writeState(r.Config.DataDir, r.state()) }

// announce says that everything serves, and where.
func (r *runner) announce() error {
	s := r.state()
	if r.JSON {
		return json.NewEncoder(r.Out).Encode(struct {
			Ready bool `json:"ready"`
			cli.DevInfo

			Token string `json:"token,omitempty"`
			// Approval is the page of the demo's call that waits for a person.
			Approval string `json:"approval,omitempty"`
		}{true, s, r.revealToken(), r.approval})
	}
	fmt.Fprintln(r.Out, "holdfast is ready")
	fmt.Fprintf(r.Out, "  temporal  %s (namespace %s)\n  ui        %s\n  codec     %s\n  gateway   %s\n  mcp       %s/mcp\n  inbox     %s/approvals\n  data      %s\n",
		s.Temporal, s.Namespace, s.UI, s.Codec, s.Gateway, s.Gateway, s.Gateway, r.Config.DataDir)
	if token := r.revealToken(); token != "" {
		fmt.Fprintf(r.Out, "  token     %s (owner of the gateway until the next start; shown only here)\n", token)
	}
	if r.demo != nil {
		fmt.Fprintf(r.Out, "  demo      %s/%s: its engine drops the registration every %s\n",
			r.demo.key.Workspace, r.demo.key.Name, dropEvery)
	}
	if r.approval != "" {
		fmt.Fprintf(r.Out, "  approval  %s (a call that waits for you; log in with the token)\n", r.approval)
	}
	fmt.Fprintln(r.Out, "stop with Ctrl-C")
	return nil
}

// revealToken is empty where the gateway asks for none.
func (r *runner) revealToken() string {
	if r.Config.Gateway.Auth == config.AuthNone {
		return ""
	}
	return r.token.Reveal()
}

// stop ends what was started, last first. Each part has its own deadline, whatever became of the others.
func (r *runner) stop() error {
	var errs []error
	if r.up {
		fmt.Fprintln(r.Err, "stopping…")
		defer fmt.Fprintln(r.Err, "stopped; the same command goes on from here")
	}
	if r.graph != nil {
		ctx, cancel := context.WithTimeout(context.Background(), r.graph.StopTimeout())
		errs = append(errs, r.graph.Stop(ctx))
		cancel()
	}
	if r.demo != nil {
		r.demo.stop()
	}
	if r.sample != nil {
		r.sample.stop()
	}
	if r.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		errs = append(errs, r.server.Stop(ctx))
		cancel()
		errs = append(errs, removeState(r.Config.DataDir))
	}
	if r.logs != nil {
		errs = append(errs, r.logs.Close())
	}
	if r.lock != nil {
		errs = append(errs, r.lock.Release())
	}
	return errors.Join(errs...)
}
