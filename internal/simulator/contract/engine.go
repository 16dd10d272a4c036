package contract

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

type engineCase struct {
	claim string
	check func(*testing.T, *site)
}

// engineCases is what happens to all directories at once.
func engineCases() []engineCase {
	return []engineCase{
		{"a global dispose drops and tells of every directory", checkGlobalDispose},
		{"an unchanged global config disposes nothing", checkUnchangedGlobalConfig},
		{"a changed global config disposes everything", checkChangedGlobalConfig},
		{"a kill ends both streams and forgets everything", checkKill},
	}
}

// pair registers the same server in two directories.
func pair(t *testing.T, s *site) *site {
	t.Helper()
	other := &site{engine: s.engine, directory: s.directory + "-other"}
	withResources(t, s, 0)
	withResources(t, other, 0)
	return other
}

func checkGlobalDispose(t *testing.T, s *site) {
	other := pair(t, s)
	global := s.listen(t, "/global/event")
	s.sighted(t, global)
	require.JSONEq(t, `true`, ask(t, http.MethodPost, s.url("/global/dispose", ""), nil).body)
	disposed := make(map[string]bool)
	for event := global.next(t); event.Type != "global.disposed"; event = global.next(t) {
		if event.Type == "server.instance.disposed" {
			disposed[event.Directory] = true
		}
	}
	require.True(t, disposed[s.directory])
	require.True(t, disposed[other.directory])
	require.JSONEq(t, `{}`, s.status(t))
	require.JSONEq(t, `{}`, other.status(t))
}

func checkUnchangedGlobalConfig(t *testing.T, s *site) {
	withResources(t, s, 0)
	require.Equal(t, http.StatusOK, ask(t, http.MethodPatch, s.url("/global/config", ""), map[string]any{}).status)
	require.JSONEq(t, connected("cloud"), s.status(t))
}

func checkChangedGlobalConfig(t *testing.T, s *site) {
	other := pair(t, s)
	global := s.listen(t, "/global/event")
	s.sighted(t, global)
	patch := map[string]any{"username": "somebody"}
	require.Equal(t, http.StatusOK, ask(t, http.MethodPatch, s.url("/global/config", ""), patch).status)
	global.until(t, "global.disposed", "global")
	require.JSONEq(t, `{}`, s.status(t))
	require.JSONEq(t, `{}`, other.status(t))
}

func checkKill(t *testing.T, s *site) {
	up := withResources(t, s, 0)
	own, global := s.listen(t, "/event"), s.listen(t, "/global/event")
	s.engine.Kill()
	testkit.Eventually(t, patience, own.ends, "the directory's stream ends")
	testkit.Eventually(t, patience, global.ends, "the global stream ends")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	response, err := request(ctx, http.MethodGet, s.url("/mcp", s.directory), nil)
	if err == nil {
		_ = response.Body.Close()
	}
	require.Error(t, err, "nobody listens")
	require.Zero(t, up.Count("DELETE"))
	s.engine.Restart()
	require.JSONEq(t, `{}`, s.status(t))
	require.JSONEq(t, connected("cloud"), s.register(t, "cloud", remote(up.URL(), 5000)))
}

func checkPassword(t *testing.T, s *site) {
	t.Helper()
	for _, path := range []string{"/global/health", "/mcp", "/event", "/global/event", "/session/status"} {
		answer := ask(t, http.MethodGet, s.url(path, s.directory), nil)
		require.Equal(t, http.StatusUnauthorized, answer.status, path)
		require.Empty(t, answer.body, path)
		require.Equal(t, `Basic realm="Secure Area"`, answer.header.Get("WWW-Authenticate"), path)
	}
	for password, want := range map[string]int{"wrong": http.StatusUnauthorized, "pass-word": http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url("/mcp", s.directory), nil)
		require.NoError(t, err)
		r.SetBasicAuth("opencode", password)
		response, err := plain.Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, password)
	}
}
