package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	callWithin = 10 * time.Second
	// blind is how long an event stream is deaf after its beginning, with room.
	blind = 300 * time.Millisecond
)

// newHTTPClient is a plain client with connections of its own.
func newHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}, Timeout: callWithin}
}

type answer struct {
	status int
	body   []byte
}

func get(ctx context.Context, c *http.Client, address string) (answer, error) {
	return call(ctx, c, http.MethodGet, address, nil)
}

func call(ctx context.Context, c *http.Client, method, address string, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, body: raw}, err
}

// place is one directory of an engine.
type place struct{ engine, directory string }

func (p place) url(path string) string {
	return p.engine + path + "?directory=" + url.QueryEscape(p.directory)
}

// connected asks the engine whether it holds a connected server.
func (p place) connected(ctx context.Context, c *http.Client) (bool, error) {
	got, err := get(ctx, c, p.url("/mcp"))
	if err != nil {
		return false, err
	}
	var entries map[string]struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal(got.body, &entries); err != nil {
		return false, fmt.Errorf("read statuses: %w", err)
	}
	return entries[serverName].Status == "connected", nil
}

// dispose drops the directory's instance with everything registered in it.
func (p place) dispose(ctx context.Context, c *http.Client) error {
	got, err := call(ctx, c, http.MethodPost, p.url("/instance/dispose"), nil)
	if err == nil && got.status != http.StatusOK {
		err = fmt.Errorf("dispose: HTTP %d", got.status)
	}
	return err
}

// byHand repairs one directory as a script would: it reads the engine's events, registers, and asks whether it worked.
type byHand struct {
	place

	endpoint string
	http     *http.Client
	repaired chan time.Time
	ended    chan error
}

// startByHand registers once and goes on repairing until the context ends.
func startByHand(ctx context.Context, p place, endpoint string) (*byHand, error) {
	h := &byHand{place: p, endpoint: endpoint, http: newHTTPClient(), repaired: make(chan time.Time, 1), ended: make(chan error, 1)}
	if err := h.register(ctx); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.engine+"/global/event", nil)
	if err != nil {
		return nil, err
	}
	opened := make(chan struct{})
	go func() { h.ended <- h.follow(ctx, request, opened) }()
	select {
	case <-opened:
		return h, pause(ctx, blind)
	case err := <-h.ended:
		return nil, fmt.Errorf("open events: %w", err)
	}
}

// follow opens the event stream and listens until it ends.
func (h *byHand) follow(ctx context.Context, request *http.Request, opened chan<- struct{}) error {
	response, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	close(opened)
	return h.listen(ctx, response.Body)
}

func (h *byHand) listen(ctx context.Context, events io.Reader) error {
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found {
			continue
		}
		var event struct {
			Directory string `json:"directory"`
			Payload   struct {
				Type string `json:"type"`
			} `json:"payload"`
		}
		if json.Unmarshal([]byte(data), &event) != nil || event.Directory != h.directory ||
			event.Payload.Type != "server.instance.disposed" {
			continue
		}
		if err := h.register(ctx); err != nil {
			return err
		}
		h.repaired <- time.Now()
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}

var errNotConnected = errors.New("registered and not connected")

func (h *byHand) register(ctx context.Context) error {
	body, err := json.Marshal(map[string]any{"name": serverName, "config": map[string]any{
		"type": "remote", "url": h.endpoint, "enabled": true, "oauth": false, "timeout": 5000,
	}})
	if err != nil {
		return err
	}
	if _, err := call(ctx, h.http, http.MethodPost, h.url("/mcp"), body); err != nil {
		return fmt.Errorf("register by hand: %w", err)
	}
	connected, err := h.connected(ctx, h.http)
	if err == nil && !connected {
		err = errNotConnected
	}
	return err
}

// awaitRepaired waits until the repair of the last disposal is over.
func (h *byHand) awaitRepaired(ctx context.Context) (time.Time, error) {
	select {
	case at := <-h.repaired:
		return at, nil
	case err := <-h.ended:
		return time.Time{}, fmt.Errorf("repair by hand ended: %w", err)
	case <-time.After(callWithin):
		return time.Time{}, fmt.Errorf("repair by hand: %w", errNotInTime)
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}
