package chaos_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

const (
	account  = "ann"
	replicas = 2

	serverStart = 2 * time.Minute
	gatewayUp   = 2 * time.Minute

	callLeast = 100 * time.Millisecond
	callMost  = 600 * time.Millisecond
)

// rules gate every tool; those of mail are gated by what they say of themselves.
const rules = `
rules:
  - {pattern: "notes.save", effect: ask}
sources:
  ledger: {honoursKey: true}
`

// program is a process that is killed, and started again with the same settings.
type program struct {
	tb      testing.TB
	command testkit.Command
	process *testkit.Process
}

func (p *program) start() { p.process = testkit.Start(p.tb, p.command) }

// rig is everything that runs, each part in a process of its own but the upstreams, which count.
type rig struct {
	*stack.Stack

	t         *testing.T
	owner     approval.Identity
	token     string
	upstreams map[string]*upstream.Server
	worker    *program
	gateways  []*program
	urls      []string // of the gateways
	dev       temporalclient.DevServerOptions
	temporal  *temporalclient.DevServer
}

func newRig(t *testing.T, s scenario) *rig {
	t.Helper()
	r := &rig{
		t: t, owner: approval.Identity{Account: account, Organisation: "default"}, upstreams: map[string]*upstream.Server{},
		dev: temporalclient.DevServerOptions{Headless: true, Port: testkit.FreePort(t), DataFile: filepath.Join(t.TempDir(), "temporal.db")},
	}
	at := r.startUpstreams(t, s)
	r.startTemporal()
	t.Cleanup(r.stopTemporal)
	r.Stack = stack.New(t, stack.Options{
		Server: r.temporal, NoWorker: true, Settings: stack.Tools(t, at, rules, map[string]string{"approvals.window": "20m", "approvals.hold": "5s"}),
	})
	r.token = r.TokenOf(account, auth.RoleCollaborator)
	r.worker = r.program("worker")
	r.worker.start()
	for range replicas {
		port := testkit.FreePort(t)
		gateway := r.program("gateway", fmt.Sprintf("HOLDFAST_GATEWAY_LISTEN=127.0.0.1:%d", port))
		r.gateways, r.urls = append(r.gateways, gateway), append(r.urls, fmt.Sprintf("http://127.0.0.1:%d", port))
		gateway.start()
	}
	for _, url := range r.urls {
		testkit.Eventually(t, gatewayUp, func() bool { return answers(t.Context(), url+"/readyz") }, "the gateway is ready")
	}
	return r
}

func (r *rig) startUpstreams(t *testing.T, s scenario) map[string]string {
	t.Helper()
	at := map[string]string{}
	for i, name := range sources() {
		var mu sync.Mutex
		random := s.random(uint64(s.executions + 1 + i))
		server, err := upstream.Start(upstream.Options{
			// Notes are idempotent: written again under the same key, nothing happens.
			HonoursKey: name != mail,
			Takes: func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return between(random, callLeast, callMost)
			},
		})
		require.NoError(t, err)
		t.Cleanup(server.Close)
		r.upstreams[name], at[name] = server, server.URL()
	}
	return at
}

// program is one of the repository's commands on the stack's data, Temporal and tools.
func (r *rig) program(command string, env ...string) *program {
	r.TB.Helper()
	cfg := r.Config
	return &program{tb: r.TB, command: testkit.Command{
		Path: testkit.Binary(r.TB, command),
		Env: append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + cfg.DataDir, "HOLDFAST_DATA_DIR=" + cfg.DataDir,
			"TEMPORAL_ADDRESS=" + r.Server.Address(), "TEMPORAL_NAMESPACE=" + r.Server.Namespace(),
			"HOLDFAST_TEMPORAL_TASK_QUEUE=" + cfg.Temporal.TaskQueue,
			"HOLDFAST_SOURCES_FILE=" + cfg.Sources.File, "HOLDFAST_POLICY_FILE=" + cfg.Policy.File,
			"HOLDFAST_APPROVALS_WINDOW=" + cfg.Approvals.Window.String(), "HOLDFAST_APPROVALS_HOLD=" + cfg.Approvals.Hold.String(),
			"HOLDFAST_SESSIONS_START=" + cfg.Sessions.Start.String(),
			"HOLDFAST_WORKER_HEALTH_LISTEN=127.0.0.1:0", "HOLDFAST_CODEC_LISTEN=127.0.0.1:0",
		}, env...),
	}}
}

// startTemporal starts the dev server on the port and the data file that it always has.
func (r *rig) startTemporal() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), serverStart)
	defer cancel()
	server, err := stack.StartServer(ctx, r.dev)
	require.NoError(r.t, err)
	r.temporal = server
}

func (r *rig) killTemporal() {
	_ = syscall.Kill(-r.temporal.PID(), syscall.SIGKILL) // it leads a group of its own, and is our child: the id is nobody else's
	<-r.temporal.Exited()
}

func (r *rig) stopTemporal() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), time.Minute)
	defer cancel()
	_ = r.temporal.Stop(ctx)
}
