package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/gatehost"
)

const sessionProtocol = "2025-11-25"

const initializeBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + sessionProtocol +
	`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// echoBody calls the read-only tool through the gateway.
var echoBody = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + gatehost.ToolExecute +
	`","arguments":{"address":"` + sourceName + "." + toolEcho + `","arguments":{"text":"hello"}}}}`

var errNoAnswer = errors.New("not the answer that was expected")

// newSession makes an MCP session, as a client does that keeps no connection to itself.
func (g *gateway) newSession(ctx context.Context) (string, error) {
	header, _, err := g.post(ctx, "/mcp", "", initializeBody)
	if err != nil {
		return "", err
	}
	session := header.Get("Mcp-Session-Id")
	_, _, err = g.post(ctx, "/mcp", session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return session, err
}

// echo makes a call in a session, and returns how long it took.
func (g *gateway) echo(ctx context.Context, session string) (time.Duration, error) {
	began := time.Now()
	_, body, err := g.post(ctx, "/mcp", session, echoBody)
	if err == nil && !bytes.Contains(body, []byte("hello")) {
		err = fmt.Errorf("call %s: %w", toolEcho, errNoAnswer)
	}
	return time.Since(began), err
}

// pausedAnswer is what the API says of a call that waits for a person.
type pausedAnswer struct {
	Status      string `json:"status"`
	ExecutionID string `json:"executionId"`
}

// pauseCall makes a call that waits for a person, and returns the pause's id.
func (g *gateway) pauseCall(ctx context.Context, tool, name string) (string, error) {
	began := time.Now()
	_, body, err := g.post(ctx, "/api/executions", "", `{"tool":"`+sourceName+"."+tool+`","arguments":{"name":"`+name+`","value":"x"}}`)
	if err != nil {
		return "", err
	}
	var told pausedAnswer
	if err := json.Unmarshal(body, &told); err != nil || told.Status != "paused" || told.ExecutionID == "" {
		return "", fmt.Errorf("pause call %s: %w after %s: %s", name, errNoAnswer, time.Since(began).Round(time.Millisecond), told.Status)
	}
	return told.ExecutionID, nil
}

// post sends a body, in a session where there is one, and requires that it is taken.
func (g *gateway) post(ctx context.Context, path, session, body string) (http.Header, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.address+path, bytes.NewBufferString(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header = g.header()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		request.Header.Set("Mcp-Session-Id", session)
		request.Header.Set("Mcp-Protocol-Version", sessionProtocol)
	}
	response, err := g.http.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, nil, fmt.Errorf("POST %s: HTTP %d: %.200s", path, response.StatusCode, raw)
	}
	return response.Header, raw, nil
}
