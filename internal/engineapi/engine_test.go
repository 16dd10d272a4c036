package engineapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

const (
	directory = "/srv/a b+c/ü%"
	password  = "tell-nobody"
)

// request is what the engine got.
type request struct {
	Method, Path string
	Directories  []string
	Accept       string
	Body         map[string]any
	User, Pass   string
}

// engine is an HTTP server that records each request and answers as told.
type engine struct {
	*httptest.Server

	mu  sync.Mutex
	got []request
}

func startEngine(t *testing.T, answer http.HandlerFunc) *engine {
	t.Helper()
	e := &engine{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := request{
			Method: r.Method, Path: r.URL.EscapedPath(),
			Directories: r.URL.Query()["directory"], Accept: r.Header.Get("Accept"),
		}
		_ = json.Unmarshal(body, &got.Body)
		got.User, got.Pass, _ = r.BasicAuth()
		e.mu.Lock()
		e.got = append(e.got, got)
		e.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *engine) requests() []request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]request(nil), e.got...)
}

func (e *engine) last(t *testing.T) request {
	t.Helper()
	all := e.requests()
	require.NotEmpty(t, all)
	return all[len(all)-1]
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func newClient(t *testing.T, o engineapi.Options) *engineapi.Client {
	t.Helper()
	client, err := engineapi.New(o)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func clientFor(t *testing.T, e *engine) *engineapi.Client {
	t.Helper()
	return newClient(t, engineapi.Options{BaseURL: e.URL, Timeout: 2 * time.Second})
}
