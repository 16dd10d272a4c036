package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/gatehost"
)

const (
	// addedP50 is what the gateway may add to a call of one client.
	addedP50 = 0.5 // ms
	// ofDirect and ofForwarder are the calls a second of many clients, against those without and with a bare proxy.
	ofDirect    = 0.5
	ofForwarder = 0.85

	echoClients = 16
	echoWarm    = 50
	sourceName  = "up"
)

// eras are the protocols that are measured: the newest with sessions, and what a stock client agrees on by itself.
var eras = []struct{ name, protocol string }{{"sessions", "2025-11-25"}, {"stateless", ""}}

// measureGateway calls a read-only tool without the gateway, through a bare proxy on the same SDK, and through the gateway.
func measureGateway(ctx context.Context, b *bench) (Figure, error) {
	figure := Figure{Setting: fmt.Sprintf(
		"read-only echo on a go-sdk upstream over loopback, by turns in one run: direct, through a bare go-sdk forwarder, through the gateway (audit and tokens on); "+
			"%d rounds of %d calls by 1 client and of %s by %d clients; every process shares the machine", b.rounds, b.calls, b.burst, echoClients)}
	addresses, err := freeAddresses(ctx, 2)
	if err != nil {
		return figure, err
	}
	upstreamURL, forwarderURL := "http://"+addresses[0]+"/mcp", "http://"+addresses[1]
	settings, err := b.tools("gateway", upstreamURL, "")
	if err != nil {
		return figure, err
	}
	w, err := b.newWorld(ctx, "gateway", settings)
	if err != nil {
		return figure, err
	}
	defer w.close()
	up, err := w.startRole(ctx, roleUpstream, addresses[0])
	if err != nil {
		return figure, err
	}
	proxy, err := w.startRole(ctx, roleForwarder, addresses[1], upstreamURL)
	if err != nil {
		return figure, err
	}
	g, err := b.startGateway(ctx, w, settings)
	if err != nil {
		return figure, err
	}
	if b.profile > 0 { // all arms take their turns while it is taken, only the gateway is in it
		go func() {
			if err := g.process.profile(ctx, filepath.Join(w.dir, "gateway.pprof"), int(b.profile.Seconds())); err != nil {
				b.note("profile: %v", err)
			}
		}()
	}
	plain := mcp.CallToolParams{Name: toolEcho, Arguments: json.RawMessage(`{"text":"hello"}`)}
	for _, era := range eras {
		arms := []*echoArm{
			{name: "direct", url: upstreamURL, params: plain, processes: []int{up.pid()}},
			{name: "forwarder", url: forwarderURL, params: plain, processes: []int{up.pid(), proxy.pid()}},
			{name: "gateway", url: g.address + "/mcp", header: g.header(), processes: []int{up.pid(), g.process.pid()}, params: mcp.CallToolParams{
				Name:      gatehost.ToolExecute,
				Arguments: json.RawMessage(`{"address":"` + sourceName + "." + toolEcho + `","arguments":{"text":"hello"}}`),
			}},
		}
		if err := b.echo(ctx, &figure, era.name, era.protocol, arms); err != nil {
			return figure, err
		}
	}
	return figure, nil
}

// tools writes the files of a world's one source and its rules, and gives the settings of worker and gateway that name them.
func (b *bench) tools(world, url, rules string) (map[string]string, error) {
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{sourceName: map[string]string{"url": url}}})
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, world)
	if err := os.MkdirAll(dir, 0o700); err != nil { //nolint:gosec // in the folder of the run
		return nil, err
	}
	settings := map[string]string{"HOLDFAST_SOURCES_FILE": filepath.Join(dir, "mcp.json")}
	if err := os.WriteFile(settings["HOLDFAST_SOURCES_FILE"], raw, 0o600); err != nil {
		return nil, err
	}
	if rules != "" {
		settings["HOLDFAST_POLICY_FILE"] = filepath.Join(dir, "policy.yaml")
		return settings, os.WriteFile(settings["HOLDFAST_POLICY_FILE"], []byte(rules), 0o600)
	}
	return settings, nil
}

// echoArm is one way to the tool.
type echoArm struct {
	name      string
	url       string
	header    http.Header
	params    mcp.CallToolParams
	processes []int // that work for it, beside this one

	clients []*mcp.ClientSession
	alone   sample
	rates   []float64
	used    time.Duration // processor time of everybody, of all calls at once
	made    int64
}

func (a *echoArm) connect(ctx context.Context, protocol string) error {
	for range echoClients {
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: a.url, HTTPClient: manyConnections(a.header)},
			&mcp.ClientSessionOptions{ProtocolVersion: protocol})
		if err != nil {
			return fmt.Errorf("connect %s: %w", a.name, err)
		}
		a.clients = append(a.clients, session)
	}
	for range echoWarm {
		for _, client := range a.clients {
			if err := a.call(ctx, client); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *echoArm) close() {
	for _, client := range a.clients {
		_ = client.Close()
	}
}

var errEcho = errors.New("the tool did not answer what it was sent")

func (a *echoArm) call(ctx context.Context, client *mcp.ClientSession) error {
	params := a.params // the SDK adds to it
	result, err := client.CallTool(ctx, &params)
	if err != nil {
		return fmt.Errorf("call %s: %w", a.name, err)
	}
	if len(result.Content) == 1 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok && text.Text == "hello" && !result.IsError {
			return nil
		}
	}
	return fmt.Errorf("call %s: %w", a.name, errEcho)
}

// burst has all clients call as often as they can for a while.
func (a *echoArm) burst(ctx context.Context, span time.Duration) error {
	before, err := processTimes(append([]int{os.Getpid()}, a.processes...))
	if err != nil {
		return err
	}
	var made atomic.Int64
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	for _, client := range a.clients {
		group.Go(func() error {
			for time.Since(began) < span {
				if err := a.call(groupCtx, client); err != nil {
					return err
				}
				made.Add(1)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	a.rates = append(a.rates, float64(made.Load())/time.Since(began).Seconds())
	after, err := processTimes(append([]int{os.Getpid()}, a.processes...))
	a.used += after - before
	a.made += made.Load()
	return err
}

// echoRound calls by one client of each arm in turn, and then by many.
func (b *bench) echoRound(ctx context.Context, arms []*echoArm) error {
	for range b.calls {
		for _, arm := range arms {
			took, err := timed(func() error { return arm.call(ctx, arm.clients[0]) })
			if err != nil {
				return err
			}
			arm.alone = append(arm.alone, took)
		}
	}
	for _, arm := range arms {
		if err := arm.burst(ctx, b.burst); err != nil {
			return err
		}
	}
	return nil
}

// echo measures all arms by turns in one protocol.
func (b *bench) echo(ctx context.Context, figure *Figure, era, protocol string, arms []*echoArm) error {
	for _, arm := range arms {
		defer arm.close()
		if err := arm.connect(ctx, protocol); err != nil {
			return err
		}
	}
	for range b.rounds {
		if err := b.echoRound(ctx, arms); err != nil {
			return err
		}
	}
	direct, proxy, ours := arms[0], arms[1], arms[2]
	for _, arm := range arms {
		figure.add(era+": 1 client, "+arm.name+", p50", arm.alone.at(0.5), "ms")
	}
	figure.add(era+": 1 client, the forwarder adds, p50", proxy.alone.at(0.5)-direct.alone.at(0.5), "ms")
	figure.limit(era+": 1 client, the gateway adds, p50", ours.alone.at(0.5)-direct.alone.at(0.5), "ms", addedP50)
	for _, arm := range arms {
		figure.add(fmt.Sprintf("%s: %d clients, %s, median", era, echoClients, arm.name), median(arm.rates), "calls/s")
		figure.add(fmt.Sprintf("%s: %d clients, %s, processor time of a call, all processes", era, echoClients, arm.name),
			millis(arm.used/time.Duration(max(1, arm.made))), "ms")
	}
	figure.add(era+": forwarder / direct, median of the rounds", median(ratios(proxy.rates, direct.rates)), "×")
	figure.least(era+": gateway / direct, median of the rounds", median(ratios(ours.rates, direct.rates)), "×", ofDirect)
	figure.least(era+": gateway / forwarder, median of the rounds", median(ratios(ours.rates, proxy.rates)), "×", ofForwarder)
	return nil
}
