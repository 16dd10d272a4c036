package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	healthReads = 200
	// healthMore is what a health read of the gateway may take longer than the engine calls that it needs, p50.
	healthMore = 15.0
	probesAt   = 100
)

// measureService asks the gateway as its users do.
func measureService(ctx context.Context, b *bench) (Figure, error) {
	figure := Figure{Setting: fmt.Sprintf(
		"gateway, worker, dev server and real engine share the machine; %d health reads by turns with the engine calls they need, made one after another",
		healthReads)}
	w, err := b.newWorld(ctx, "service", nil)
	if err != nil {
		return figure, err
	}
	defer w.close()
	g, err := b.startGateway(ctx, w, nil)
	if err != nil {
		return figure, err
	}
	if err := b.measureHealth(ctx, w, g, &figure); err != nil {
		return figure, err
	}
	return figure, measureProbes(ctx, w, g, &figure)
}

// gateway is a gateway and a token that it takes.
type gateway struct {
	process *child
	address string
	token   string
	http    *http.Client
}

func (g *gateway) header() http.Header { return http.Header{"Authorization": {"Bearer " + g.token}} }

// startGateway starts a gateway on the world's store. settings are its own, by the names of their variables.
func (b *bench) startGateway(ctx context.Context, w *world, settings map[string]string) (*gateway, error) {
	found, err := freeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	at := found[0]
	tokens := auth.NewTokens(w.store, nil)
	defer tokens.Close()
	secret, _, err := tokens.Create(ctx, auth.Request{Name: "bench", Role: auth.RoleOwner, By: "bench"})
	if err != nil {
		return nil, err
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir,
		"TEMPORAL_ADDRESS=" + w.server.Address(), "TEMPORAL_NAMESPACE=" + w.server.Namespace(),
		"HOLDFAST_DATA_DIR=" + w.dir, "HOLDFAST_TEMPORAL_TASK_QUEUE=" + taskQueue, "HOLDFAST_LOG_LEVEL=warn",
		"HOLDFAST_SESSIONS_START=30s", // many are made at once
		"HOLDFAST_GATEWAY_LISTEN=" + at, inspectVariable + "=" + found[1],
	}
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	process, err := startChild(filepath.Join(w.dir, "gateway"+at[strings.LastIndexByte(at, ':'):]+".log"), env, b.gateway)
	if err != nil {
		return nil, err
	}
	process.inspect = found[1]
	w.closers = append(w.closers, func() { process.stop(stopGrace) })
	g := &gateway{process: process, address: "http://" + at, token: secret.Reveal(), http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: probesAt}, Timeout: time.Minute,
	}}
	return g, w.await(ctx, startWithin, 50*time.Millisecond, "gateway ready", func() (bool, error) {
		answer, err := get(ctx, newHTTPClient(), g.address+"/readyz")
		return err == nil && answer.status == http.StatusOK, nil
	})
}

// ask sends a request and requires an answer of 200.
func (g *gateway) ask(ctx context.Context, method, path string, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, g.address+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+g.token)
	response, err := g.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: HTTP %d", method, path, response.StatusCode)
	}
	return nil
}

// deliver wants one connection in a workspace of its own, and waits until it is ready.
func (w *world) deliver(ctx context.Context, key delivery.Key, engineURL, endpoint string) error {
	if _, err := w.store.PutEngine(ctx, store.Engine{ID: engineURL, BaseURL: engineURL}); err != nil {
		return err
	}
	_, err := w.store.PutWorkspace(ctx, store.Workspace{
		ID: key.Workspace, Directory: key.Directory, EngineID: engineURL, Account: store.DefaultAccount,
	})
	if err != nil {
		return err
	}
	if err := w.apply(ctx, key, engineURL, endpoint); err != nil {
		return err
	}
	_, err = w.awaitReady(ctx, key, 0, deliverWithin)
	return err
}

// measureHealth reads a connection's health on the real engine, by turns with what a script has to ask the engine for it.
func (b *bench) measureHealth(ctx context.Context, w *world, g *gateway, figure *Figure) error {
	address, stop, err := b.startEngine(ctx, w)
	if err != nil {
		return err
	}
	defer stop()
	ends, err := newEndpoints(1)
	if err != nil {
		return err
	}
	defer closeAll(ends)
	key := delivery.Key{Workspace: "health", Name: serverName, Directory: filepath.Join(w.dir, "health")}
	if err := os.MkdirAll(key.Directory, 0o700); err != nil {
		return err
	}
	if err := w.deliver(ctx, key, address, ends[0].URL()); err != nil {
		return err
	}
	where := place{address, key.Directory}
	client := newHTTPClient()
	var hand, read sample
	for range healthReads {
		took, err := timed(func() error { return where.inspect(ctx, client) })
		if err != nil {
			return err
		}
		hand = append(hand, took)
		took, err = timed(func() error { return g.readHealth(ctx, key) })
		if err != nil {
			return err
		}
		read = append(read, took)
	}
	figure.spread("engine calls of a health read: by hand", hand)
	figure.spread("GET …/health of the gateway", read)
	figure.limit("GET …/health more than by hand, p50", read.at(0.5)-hand.at(0.5), "ms", healthMore)
	figure.add("GET …/health / by hand, p50", read.at(0.5)/hand.at(0.5), "×")
	return nil
}

func timed(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}

// inspect asks the engine for all that a health document without probe tells of it.
func (p place) inspect(ctx context.Context, c *http.Client) error {
	for _, path := range []string{"/global/health", "/mcp", "/experimental/tool/ids", "/config"} {
		got, err := get(ctx, c, p.url(path))
		if err != nil {
			return err
		}
		var read any
		if err := json.Unmarshal(got.body, &read); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	return nil
}

// readHealth reads the document and requires that it says usable.
func (g *gateway) readHealth(ctx context.Context, key delivery.Key) error {
	var document struct {
		Usable bool   `json:"usable"`
		Phase  string `json:"phase"`
	}
	if err := g.ask(ctx, http.MethodGet, "/workspace/"+url.PathEscape(key.Workspace)+"/mcp/"+key.Name+"/health", &document); err != nil {
		return err
	}
	if !document.Usable {
		return fmt.Errorf("read health: not usable, phase %s", document.Phase)
	}
	return nil
}

// looked is what probes have cost so far.
type looked struct{ updates, statuses, sessions, lists int }

// measureProbes has many callers ask for a probe at once, and one alone before.
func measureProbes(ctx context.Context, w *world, g *gateway, figure *Figure) error {
	sim, endpoint, err := simulated()
	if err != nil {
		return err
	}
	defer sim.Close()
	defer endpoint.Close()
	key := delivery.Key{Workspace: "probes", Name: serverName, Directory: "/bench/probes"}
	if err := w.deliver(ctx, key, sim.BaseURL(), endpoint.URL()); err != nil {
		return err
	}
	// The endpoint is slow enough for all of them to come while the first is under way.
	endpoint.Inject("tools/list", simulator.Always, simulator.Fault{Delay: 300 * time.Millisecond})
	probed := subject{key: key, engine: sim, endpoint: endpoint}
	one, err := w.probing(ctx, g, probed, 1)
	if err != nil {
		return err
	}
	all, err := w.probing(ctx, g, probed, probesAt)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d probes asked for at once: ", probesAt)
	figure.limit(what+"updates", float64(all.updates), "", 1)
	figure.limit(what+"reads of the engine's statuses, against one probe's", float64(all.statuses), "", float64(one.statuses))
	figure.limit(what+"tools/list at the endpoint, against one probe's", float64(all.lists), "", float64(one.lists))
	figure.limit(what+"initialize at the endpoint, against one probe's", float64(all.sessions), "", float64(one.sessions))
	return nil
}

// probing has n callers ask for a probe at once and tells what it cost.
func (w *world) probing(ctx context.Context, g *gateway, s subject, n int) (looked, error) {
	count := func() (looked, error) {
		updates, err := w.updates(ctx, connection.ID(s.key))
		return looked{
			updates: updates, statuses: s.engine.Calls(simulator.RouteStatus, s.key.Directory),
			sessions: s.endpoint.Count("initialize"), lists: s.endpoint.Count("tools/list"),
		}, err
	}
	before, err := count()
	if err != nil {
		return looked{}, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for range n {
		group.Go(func() error {
			var answer any
			return g.ask(groupCtx, http.MethodPost, "/api/v1/connections/"+s.key.Workspace+"/"+s.key.Name+"/probe", &answer)
		})
	}
	if err := group.Wait(); err != nil {
		return looked{}, err
	}
	if err := pause(ctx, settle); err != nil {
		return looked{}, err
	}
	after, err := count()
	return looked{
		after.updates - before.updates, after.statuses - before.statuses, after.sessions - before.sessions,
		after.lists - before.lists,
	}, err
}

// updates is how many updates a workflow has accepted.
func (w *world) updates(ctx context.Context, id string) (int, error) {
	accepted := 0
	events := w.temporal.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return 0, fmt.Errorf("read history: %w", err)
		}
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED {
			accepted++
		}
	}
	return accepted, nil
}
