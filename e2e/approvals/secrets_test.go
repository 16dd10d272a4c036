package approvals_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// The canaries: each is put where a secret belongs, and found nowhere else.
const (
	sourceBearer = "cnry0bearer4Tz8mRp1Jd"
	sourceHeader = "cnry0header7Hq2vXw9Lk"
	password     = "cnry0password6Bn3cYf5"
	writeOnly    = "cnry0written2Wd7kUa8V"
)

// vault is a source that is reached with secrets and takes secrets.
type vault struct {
	*httptest.Server

	mu  sync.Mutex
	got []string // the passwords, by call
}

func newVault(t *testing.T) *vault {
	t.Helper()
	v := &vault{}
	made := mcp.NewServer(&mcp.Implementation{Name: "vault", Version: "1"}, nil)
	yes := true
	made.AddTool(&mcp.Tool{
		Name: "open_account", Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes},
		InputSchema: json.RawMessage(`{"type":"object","required":["login","password"],"properties":{
			"login":{"type":"string"},"password":{"type":"string","format":"password"},"answer":{"type":"string","writeOnly":true}}}`),
	}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments struct{ Login, Password, Answer string }
		if err := json.Unmarshal(r.Params.Arguments, &arguments); err != nil {
			return nil, err
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.got = append(v.got, arguments.Password+" "+arguments.Answer)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "opened for " + arguments.Login}}}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return made }, nil)
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+sourceBearer || r.Header.Get("X-Vault-Key") != sourceHeader {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		v.CloseClientConnections()
		v.Close()
	})
	return v
}

// addTo adds the source to a file of sources.
func (v *vault) addTo(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var sources struct {
		Servers map[string]any `json:"mcpServers"`
	}
	require.NoError(t, json.Unmarshal(raw, &sources))
	sources.Servers["vault"] = map[string]any{
		"url": v.URL, "headers": map[string]string{"Authorization": "Bearer " + sourceBearer, "X-Vault-Key": sourceHeader},
	}
	raw, err = json.Marshal(sources)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, raw, 0o600))
}

// secretsStaySo holds that nobody reads a secret who has no business with it.
func secretsStaySo(t *testing.T, u *user) {
	login := testkit.UniqueName()
	w := u.wire(u.gateway.URL, "browser")
	arguments := map[string]any{"login": login, "password": password, "answer": writeOnly}
	asked := w.call(gatehost.ToolExecute, executing("vault.open_account", arguments), nil)
	url := asked.byPage(t, u.gateway.URL)
	key := keyOf(t, asked.ExecutionID)
	page := u.visit(url, "vault.open_account", login, redact.Marker)
	pages := page.HTML()
	approve(page, "opened for "+login)
	pages += page.HTML()
	for _, path := range []string{"/approvals", "/approvals/history"} {
		page.Open(u.gateway.URL+path, "a list", func(shown string) bool { return strings.Contains(shown, "Log out") })
		pages += page.HTML()
	}
	told := w.call(gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID}, nil)
	require.Equal(t, "opened for "+login, told.Text)
	u.vault.mu.Lock()
	require.Contains(t, u.vault.got, password+" "+writeOnly, "the tool has it all")
	u.vault.mu.Unlock()
	u.audited(key, "outcome")
	testkit.Eventually(t, late, func() bool { return len(u.snapshot(w.session).Hooks) == 3 }, "the session knows")

	found := map[string]string{"pages": pages, "logs": u.Logs(), "results": asked.Text + told.Text}
	for _, path := range []string{"/api/v1/audit", "/api/v1/approvals?state=all", "/api/v1/executions", "/api/v1/tools", "/metrics", "/api/executions/" + key, "/api/v1/executions/" + key} {
		found["API"] += string(u.get(path).ok().body)
	}
	found["execution's history"], found["execution's history, opened"] = u.Recorded(execution.ID(key))
	found["session's history"], found["session's history, opened"] = u.Recorded(session.ID(w.session))
	require.Contains(t, found["execution's history, opened"], "vault.open_account", "it is opened")
	for _, path := range []string{u.Config.Store.Path, u.Config.Store.Path + "-wal"} {
		raw, err := os.ReadFile(filepath.Clean(path))
		require.NoError(t, err)
		found["store"] += string(raw)
	}
	for place, text := range found {
		for _, secret := range []string{sourceBearer, sourceHeader, password, writeOnly, u.token} {
			require.Negative(t, strings.Index(text, secret), "%s: %s", place, secret)
		}
	}
	// A session's id is no secret, since it is of no use to others; pages have no use for it either.
	require.NotContains(t, pages, w.session)
}
