package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// plain is a client without Holdfast's care: what it sees is what the engine does.
var plain = &http.Client{}

// reply is a complete HTTP answer.
type reply struct {
	status int
	header http.Header
	body   string
}

func (s *site) url(path, directory string) string {
	if directory == "" {
		return s.engine.BaseURL() + path
	}
	return s.engine.BaseURL() + path + "?directory=" + url.QueryEscape(directory)
}

func request(ctx context.Context, method, target string, body any) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return plain.Do(r)
}

func ask(t *testing.T, method, target string, body any) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	response, err := request(ctx, method, target, body)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return reply{status: response.StatusCode, header: response.Header, body: string(text)}
}

func (s *site) get(t *testing.T, path string) string {
	t.Helper()
	answer := ask(t, http.MethodGet, s.url(path, s.directory), nil)
	require.Equal(t, http.StatusOK, answer.status, answer.body)
	return answer.body
}

func (s *site) post(t *testing.T, path string) string {
	t.Helper()
	answer := ask(t, http.MethodPost, s.url(path, s.directory), nil)
	require.Equal(t, http.StatusOK, answer.status, answer.body)
	return answer.body
}

func (s *site) status(t *testing.T) string {
	t.Helper()
	return s.get(t, "/mcp")
}

// register pushes a config and returns the engine's answer.
func (s *site) register(t *testing.T, name string, config map[string]any) string {
	t.Helper()
	answer := ask(t, http.MethodPost, s.url("/mcp", s.directory), map[string]any{"name": name, "config": config})
	require.Equal(t, http.StatusOK, answer.status, answer.body)
	return answer.body
}

// push is a registration under way: answer yields its body, abandon makes its caller leave.
type push struct {
	answer  <-chan string
	abandon context.CancelFunc
}

func (s *site) push(t *testing.T, name string, config map[string]any) push {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	answer := make(chan string, 1)
	go func() {
		defer close(answer)
		response, err := request(ctx, http.MethodPost, s.url("/mcp", s.directory),
			map[string]any{"name": name, "config": config})
		if err != nil {
			return
		}
		defer func() { _ = response.Body.Close() }()
		if text, err := io.ReadAll(response.Body); err == nil {
			answer <- string(text)
		}
	}()
	return push{answer: answer, abandon: cancel}
}

func (p push) wait(t *testing.T) string {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case text, ok := <-p.answer:
		require.True(t, ok, "the registration was not answered")
		return text
	case <-timer.C:
		require.Fail(t, "the registration was not answered in time")
		return ""
	}
}
