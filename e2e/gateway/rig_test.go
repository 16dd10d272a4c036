package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

const (
	soon = 30 * time.Second
	// told is within what an outage is told.
	told = 2 * time.Second

	canary  = "canary-5ecret-value"
	account = "acme"
)

// rig is a stack with a simulated engine, a scripted endpoint, a workspace and a gateway.
type rig struct {
	*stack.Stack

	engine   *simulator.Engine
	endpoint *simulator.Endpoint
	gateway  *stack.Gateway
	token    string
	// workspace and directory are of this test alone.
	workspace, directory string
}

func newRig(t *testing.T, o stack.Options) *rig {
	t.Helper()
	r := &rig{Stack: stack.New(t, o), workspace: "w-" + testkit.UniqueName()}
	var err error
	r.engine, err = simulator.NewEngine(simulator.EngineOptions{})
	require.NoError(t, err)
	t.Cleanup(r.engine.Close)
	r.endpoint, err = simulator.NewEndpoint(simulator.EndpointOptions{Token: canary})
	require.NoError(t, err)
	t.Cleanup(r.endpoint.Close)
	r.directory, err = filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	_, err = r.Store.PutEngine(t.Context(), store.Engine{ID: "engine", BaseURL: r.engine.BaseURL()})
	require.NoError(t, err)
	r.gateway, r.token = r.StartGateway(), r.Token(auth.RoleOwner)
	r.put("/api/v1/workspaces/"+r.workspace, map[string]any{"directory": r.directory, "engine": "engine", "account": account}).ok()
	return r
}

func (r *rig) key(name string) delivery.Key {
	return delivery.Key{Workspace: r.workspace, Name: name, Directory: r.directory}
}

// config is what is wanted of the scripted endpoint.
func (r *rig) config() map[string]any {
	return map[string]any{"config": map[string]any{
		"url": r.endpoint.URL(), "enabled": true, "oauth": false, "timeout": 2000,
		"headers": map[string]any{"Authorization": "Bearer " + canary},
	}}
}

func (r *rig) server(name, rest string) string {
	return "/workspace/" + r.workspace + "/mcp/" + name + rest
}

func (r *rig) connection(name, rest string) string {
	return "/api/v1/connections/" + r.workspace + "/" + name + rest
}

// answer is what a gateway answered.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
	took   time.Duration
}

func (a answer) ok() answer {
	a.t.Helper()
	require.Equal(a.t, http.StatusOK, a.status, string(a.body))
	return a
}

func (a answer) into(v any) answer {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.body, v), string(a.body))
	return a
}

func (a answer) code() string {
	var e struct{ Code string }
	_ = json.Unmarshal(a.body, &e)
	return e.Code
}

// document is the part of a health document that these tests look at.
type document struct {
	Phase    string
	Usable   bool
	Delivery struct{ State string }
	Tools    struct {
		Present []string
		Direct  struct{ Checked bool }
	}
	FirstFailure *struct{ Code string }
}

func (a answer) document() document {
	a.t.Helper()
	var d document
	a.into(&d)
	return d
}

func (r *rig) get(path string) answer { return r.call(r.gateway.URL, http.MethodGet, path, nil) }
func (r *rig) post(path string, body any, header ...string) answer {
	return r.call(r.gateway.URL, http.MethodPost, path, body, header...)
}

func (r *rig) put(path string, body any) answer {
	return r.call(r.gateway.URL, http.MethodPut, path, body)
}

// call asks a gateway, and requires that no secret is in the answer.
func (r *rig) call(base, method, path string, body any, header ...string) answer {
	r.TB.Helper()
	a, err := r.try(base, method, path, body, header...)
	require.NoError(r.TB, err)
	require.NotContains(r.TB, string(a.body), canary)
	return a
}

func (r *rig) try(base, method, path string, body any, header ...string) (answer, error) {
	raw := ""
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		raw = string(encoded)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.TB.Context()), 2*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	asked := time.Now()
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	return answer{t: r.TB, status: res.StatusCode, header: res.Header, body: got, took: time.Since(asked)}, err
}

// follow reads the states that a stream of events tells.
func (r *rig) follow(ctx context.Context, path string, last string) <-chan string {
	r.TB.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.gateway.URL+path, nil)
	require.NoError(r.TB, err)
	req.Header.Set("Authorization", "Bearer "+r.token)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := (&http.Client{}).Do(req) //nolint:bodyclose // by the reader below
	require.NoError(r.TB, err)
	require.Equal(r.TB, http.StatusOK, res.StatusCode)
	states := make(chan string)
	go func() {
		defer close(states)
		defer func() { _ = res.Body.Close() }()
		scanner := bufio.NewScanner(res.Body)
		for scanner.Scan() {
			data, isData := strings.CutPrefix(scanner.Text(), "data: ")
			var t struct{ To string }
			if !isData || json.Unmarshal([]byte(data), &t) != nil {
				continue
			}
			select {
			case states <- t.To:
			case <-ctx.Done():
				return
			}
		}
	}()
	return states
}
