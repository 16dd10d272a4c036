package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

// Roles are what this program does when it is started by itself: servers whose work is measured are processes of their own, so that they
// do not share a scheduler with their clients.
const (
	roleUpstream  = "role-upstream"  // address
	roleForwarder = "role-forwarder" // address, URL of the upstream
)

const toolEcho = upstream.Echo

// runRole serves until it is told to end. It reports whether the arguments name a role.
func runRole(args []string) (served bool, err error) {
	if len(args) < 2 || args[0] != roleUpstream && args[0] != roleForwarder {
		return false, nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if args[0] == roleUpstream {
		server, err := upstream.Start(upstream.Options{Address: args[1]})
		if err != nil {
			return true, err
		}
		defer server.Close()
		<-ctx.Done()
		return true, nil
	}
	if len(args) != 3 {
		return true, fmt.Errorf("%s: an address and an upstream are needed", roleForwarder)
	}
	return true, forward(ctx, args[1], args[2])
}

// forward is the least that a proxy on the same SDK does: a server, a client, and one handler between them.
func forward(ctx context.Context, address, target string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "forwarder", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: target, HTTPClient: manyConnections(nil)}, nil)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", target, err)
	}
	defer func() { _ = session.Close() }()
	server := mcp.NewServer(&mcp.Implementation{Name: "forwarder", Version: "1"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	server.AddTool(&mcp.Tool{Name: toolEcho, Annotations: readOnly, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return session.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	serving := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = serving.Close() })()
	if err := serving.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// startRole starts this program in a role, and waits until it takes connections.
func (w *world) startRole(ctx context.Context, role, address string, more ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process, err := startChild(filepath.Join(w.dir, role+".log"), os.Environ(), self, append([]string{role, address}, more...)...)
	if err != nil {
		return nil, err
	}
	w.closers = append(w.closers, func() { process.stop(stopGrace) })
	return process, w.await(ctx, startWithin, 20*time.Millisecond, role, func() (bool, error) {
		var dialer net.Dialer
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, connection.Close()
	})
}

// manyConnections is a client that keeps as many connections as a figure has callers, and adds headers.
func manyConnections(header http.Header) *http.Client {
	return &http.Client{Transport: bearing{header: header, base: &http.Transport{MaxIdleConnsPerHost: 128}}}
}

type bearing struct {
	header http.Header
	base   http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (b bearing) RoundTrip(original *http.Request) (*http.Response, error) {
	if len(b.header) == 0 {
		return b.base.RoundTrip(original)
	}
	request := original.Clone(original.Context())
	for name, values := range b.header {
		request.Header[name] = values
	}
	return b.base.RoundTrip(request)
}
