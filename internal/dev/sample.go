package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	sampleSource = "notes"
	sampleRules  = "rules:\n  - pattern: " + sampleSource + ".delete_note\n    effect: ask\n    window: 24h\n"
	sampleStop   = 2 * time.Second
)

// sample is an MCP server with notes: reading them is harmless, deleting one is what a person is asked about.
type sample struct {
	server *http.Server
	url    string
	ended  chan struct{}

	mu    sync.Mutex
	notes []string
}

func startSample(ctx context.Context) (*sample, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start sample source: %w", err)
	}
	s := &sample{
		url: "http://" + listener.Addr().String() + "/mcp", ended: make(chan struct{}),
		notes: []string{"groceries", "passwords", "travel"},
	}
	tools := s.tools()
	s.server = &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler:           mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil),
	}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(listener) // until stop, or it would be missed by the first call
	}()
	return s, nil
}

type noteArguments struct {
	Name string `json:"name" jsonschema:"name of the note"`
}

func (s *sample) tools() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "sample-notes", Version: "1.0.0"}, nil)
	destructive := true
	mcp.AddTool(server, &mcp.Tool{
		Name: "list_notes", Description: "Lists the names of all notes.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return textResult(strings.Join(s.notes, "\n")), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{
		Name: "delete_note", Description: "Deletes a note for good.", Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in noteArguments) (*mcp.CallToolResult, any, error) {
		return textResult(s.remove(in.Name)), nil, nil
	})
	return server
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func (s *sample) remove(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.notes)
	s.notes = slices.DeleteFunc(s.notes, func(each string) bool { return each == name })
	if len(s.notes) == before {
		return "there is no note " + name
	}
	return "deleted " + name
}

// write says where the sample is, and what a person is asked about, in files that the settings then name.
func (s *sample) write(dataDir string) (sources, rules string, err error) {
	raw, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{sampleSource: map[string]string{"url": s.url}}}, "", "  ")
	sources, rules = filepath.Join(dataDir, "demo-sources.json"), filepath.Join(dataDir, "demo-policy.yaml")
	err = errors.Join(err, os.WriteFile(sources, raw, 0o600), os.WriteFile(rules, []byte(sampleRules), 0o600))
	if err != nil {
		return "", "", fmt.Errorf("write sample source: %w", err)
	}
	return sources, rules, nil
}

func (s *sample) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), sampleStop)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	<-s.ended
}
