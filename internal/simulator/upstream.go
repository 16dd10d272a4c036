package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	connectTimeout = 30 * time.Second // per transport, when the config has none
	callTimeout    = 60 * time.Second // of a tool call, when the config has none
	pageLimit      = 1000
	upstreamLimit  = 16 << 20
)

// upstream is the engine's MCP client for one registered server. It never ends its session.
type upstream struct {
	config serverConfig
	http   *http.Client
	ids    atomic.Int64

	life context.Context //nolint:containedctx // ends with the client: replaced, disconnected, disposed or killed
	end  context.CancelFunc

	mu        sync.Mutex
	session   string
	version   string
	resources bool
}

// connectFailure is what became of an attempt; the zero value means success.
type connectFailure struct {
	needsAuth bool
	text      string
}

// connect makes an MCP client: Streamable HTTP first, then the old SSE transport, whose error is the one reported.
func connect(life context.Context, transport *http.Transport, name string, config serverConfig) (*upstream, connectFailure) {
	if text := checkURL(name, config.url); text != "" {
		return nil, connectFailure{text: text}
	}
	u := &upstream{config: config, http: &http.Client{Transport: transport}}
	u.life, u.end = context.WithCancel(life)
	limit := orDefault(config.timeout, connectTimeout)
	err := u.within(u.life, limit, u.handshake)
	if err != nil {
		defer u.end()
		var status *statusError
		if errors.As(err, &status) && status.code == http.StatusUnauthorized && !config.noOAuth {
			return nil, connectFailure{needsAuth: true}
		}
		err = u.within(u.life, limit, u.legacySSE)
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, connectFailure{text: fmt.Sprintf("Operation timed out after %dms", limit.Milliseconds())}
		}
		return nil, connectFailure{text: "SSE error: " + sseText(err)}
	}
	if err := u.within(u.life, limit, u.listTools); err != nil {
		u.end()
		return nil, connectFailure{text: "Failed to get tools"}
	}
	return u, connectFailure{}
}

// checkURL returns the engine's words for a URL that it does not even try.
func checkURL(name, raw string) string {
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Scheme == "" || parsed.Host == "" || !validPort(parsed.Port()) {
		return fmt.Sprintf("Invalid MCP URL for %q", name)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "SSE error: protocol must be http:, https: or s3:"
	}
	return ""
}

func validPort(port string) bool {
	var number int
	if port == "" {
		return true
	}
	_, err := fmt.Sscanf(port, "%d", &number)
	return err == nil && number >= 0 && number <= 65535
}

func (u *upstream) within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return do(ctx)
}

// close is safe on nil; requests under way fail with the end of life.
func (u *upstream) close() {
	if u != nil {
		u.end()
	}
}

func (u *upstream) hasResources() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.resources
}

// handshake opens a session in place of the one before.
func (u *upstream) handshake(ctx context.Context) error {
	u.mu.Lock()
	u.session, u.version = "", ""
	u.mu.Unlock()
	var result struct {
		ProtocolVersion string                     `json:"protocolVersion"`
		Capabilities    map[string]json.RawMessage `json:"capabilities"`
	}
	header, err := u.request(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25",
		"capabilities":    map[string]any{"roots": struct{}{}},
		"clientInfo":      map[string]string{"name": "opencode", "version": EngineVersion},
	}, &result)
	if err != nil {
		return err
	}
	u.mu.Lock()
	u.session, u.version = header.Get(sessionHeader), result.ProtocolVersion
	_, u.resources = result.Capabilities["resources"]
	u.mu.Unlock()
	response, err := u.send(ctx, http.MethodPost, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	return nil
}

// legacySSE is the second attempt. It never succeeds here: a server that speaks only the old transport is not modelled.
func (u *upstream) legacySSE(ctx context.Context) error {
	response, err := u.send(ctx, http.MethodGet, nil)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return &statusError{code: response.StatusCode}
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return errContentType
	}
	_, _ = io.Copy(io.Discard, response.Body) // the endpoint event that would have to come
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return io.ErrUnexpectedEOF
}

func (u *upstream) listTools(ctx context.Context) error {
	params := map[string]string{}
	for range pageLimit {
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		var arguments any
		if len(params) > 0 {
			arguments = params
		}
		if _, err := u.request(ctx, "tools/list", arguments, &page); err != nil {
			return err
		}
		if page.NextCursor == "" {
			return nil
		}
		params = map[string]string{"cursor": page.NextCursor}
	}
	return errors.New("list tools: too many pages")
}

// request sends a JSON-RPC request and decodes its result.
func (u *upstream) request(ctx context.Context, method string, params, result any) (http.Header, error) {
	id := u.ids.Add(1) - 1
	message := map[string]any{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	response, err := u.send(ctx, http.MethodPost, message)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	reply, err := readReply(response, id)
	if err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, &replyError{*reply.Error}
	}
	if err := json.Unmarshal(reply.Result, result); err != nil {
		return nil, fmt.Errorf("decode result of %s: %w", method, err)
	}
	return response.Header, nil
}

// send sends one HTTP request with the headers of the real engine; the caller closes the body. A POST that is not
// answered with 2xx is a *statusError.
func (u *upstream) send(ctx context.Context, httpMethod string, message any) (*http.Response, error) {
	var body io.Reader
	if message != nil {
		encoded, err := json.Marshal(message)
		if err != nil {
			return nil, fmt.Errorf("encode message: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, httpMethod, u.config.url, body)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	u.dress(request)
	response, err := u.http.Do(request)
	if err != nil {
		return nil, err
	}
	if httpMethod == http.MethodPost && response.StatusCode/100 != 2 {
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // as much as came
		return nil, &statusError{code: response.StatusCode, body: string(text)}
	}
	return response, nil
}

func (u *upstream) dress(request *http.Request) {
	request.Header.Set("Accept", "text/event-stream")
	if request.Method == http.MethodPost {
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", "opencode/"+EngineVersion)
	// Marks the request as replayable and is not sent: a pooled connection that the server closed meanwhile must not
	// look like a failing server.
	request.Header["Idempotency-Key"] = nil
	u.mu.Lock()
	session, version := u.session, u.version
	u.mu.Unlock()
	if session != "" {
		request.Header.Set(sessionHeader, session)
	}
	if version != "" {
		request.Header.Set(versionHeader, version)
	}
	for name, value := range u.config.headers {
		request.Header.Set(name, value)
	}
}
