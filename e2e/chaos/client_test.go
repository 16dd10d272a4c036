package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
)

const (
	legacyProtocol = "2025-11-25"
	// patience is how long a client waits for one answer before it asks again. The gateways hold calls for less.
	patience  = 12 * time.Second
	mostPause = 600 * time.Millisecond
)

// told is what a client is told of its call in the end, and how it came to that.
type told struct {
	Status      string `json:"status"`
	Reason      string `json:"reason"`
	ExecutionID string `json:"executionId"`
	Error       string `json:"error"`

	calls, resumes, failures int
	sessions, forgotten      int // made, and not known any more to a gateway
}

// over reports whether it is an outcome.
func (t told) over() bool {
	switch t.Status {
	case payload.StatusWaiting, payload.StatusApproval, payload.StatusPending, "":
		return false
	case payload.StatusError:
		return t.Reason != "unavailable"
	default:
		return true
	}
}

// client is an MCP client with one call to make. Whatever happens to an answer, it asks again: by the same call under the same key, or
// by resume once it knows the execution.
type client struct {
	planned

	http    *http.Client
	session *mcp.ClientSession
	bad     int // failures in a row
	known   string
	closing sync.WaitGroup
	told    told
	last    error
}

// outcome makes the call and goes on until its outcome is known.
func (c *client) outcome(ctx context.Context) (told, error) {
	defer c.closing.Wait()
	defer c.leave()
	for wait(ctx, between(c.random, 0, mostPause)) {
		got, err := c.ask(ctx)
		if err != nil {
			c.failed(err)
			continue
		}
		c.bad = 0
		c.told.Status, c.told.Reason, c.told.Error = got.Status, got.Reason, got.Error
		if got.ExecutionID != "" {
			c.known = got.ExecutionID
		}
		if c.told.over() {
			c.told.ExecutionID = c.known
			return c.told, nil
		}
	}
	return c.told, fmt.Errorf("no outcome of %s: last told %q (%s %s), last failure: %w", c.name, c.told.Status, c.told.Reason, c.told.Error, c.last)
}

// failed keeps the session at first: a gateway that was killed is no reason to give it up.
func (c *client) failed(err error) {
	c.last = err
	c.told.failures++
	c.bad++
	if errors.Is(err, mcp.ErrSessionMissing) {
		c.told.forgotten++
	}
	if c.bad > 2 || errors.Is(err, mcp.ErrConnectionClosed) {
		c.leave()
	}
}

// leave ends the session, which does not end the call.
func (c *client) leave() {
	if left := c.session; left != nil {
		c.session = nil
		c.closing.Go(func() { _ = left.Close() })
	}
}

func (c *client) ask(ctx context.Context) (told, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if c.session == nil {
		if err := c.connect(ctx); err != nil {
			return told{}, fmt.Errorf("connect: %w", err)
		}
	}
	params := &mcp.CallToolParams{
		Meta: mcp.Meta{gatehost.MetaIdempotencyKey: "chaos/" + c.name}, Name: gatehost.ToolExecute,
		Arguments: map[string]any{"address": c.address(), "arguments": map[string]any{"name": c.name, "value": "1"}},
	}
	if c.known != "" && c.random.IntN(3) > 0 {
		c.told.resumes++
		params = &mcp.CallToolParams{Name: gatehost.ToolResume, Arguments: map[string]any{"executionId": c.known}}
	} else {
		c.told.calls++
	}
	result, err := c.session.CallTool(ctx, params)
	if err != nil {
		return told{}, fmt.Errorf("call %s: %w", params.Name, err)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return told{}, err
	}
	var got told
	if err := json.Unmarshal(raw, &got); err != nil || got.Status == "" {
		return told{}, fmt.Errorf("call %s: the answer has no status: %s", params.Name, raw)
	}
	return got, nil
}

func (c *client) connect(ctx context.Context) error {
	options := &mcp.ClientSessionOptions{}
	if !c.modern {
		options.ProtocolVersion = legacyProtocol
	}
	made := mcp.NewClient(&mcp.Implementation{Name: "chaos", Version: c.name}, nil)
	session, err := made.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: anywhere + "/mcp?elicitation_mode=" + string(c.mode), HTTPClient: c.http, MaxRetries: 3,
	}, options)
	if err != nil {
		return err
	}
	c.session = session
	c.told.sessions++
	return nil
}

// key is the execution's, as the store knows it.
func (t told) key() string {
	key, _, _ := strings.Cut(strings.TrimPrefix(t.ExecutionID, "exec_"), "_")
	return key
}
