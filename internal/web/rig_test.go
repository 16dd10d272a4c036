package web_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/web"
)

// sharedKeys are made once: it takes longer than most tests.
var sharedKeys = sync.OnceValues(func() (*keys.Keys, error) {
	dir, err := os.MkdirTemp("", "holdfast-keys-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return keys.Open(filepath.Join(dir, "keys"))
})

// rig is the pages with a real store, logins of both kinds, and a clock that can be moved on.
type rig struct {
	t      *testing.T
	store  *counted
	tools  *tools
	engine *engine
	tokens *auth.Tokens
	issuer *simulator.OIDCProvider
	web    *web.Web
	server *httptest.Server
	ahead  atomic.Int64
}

type change func(*auth.Sources, *web.Params)

func newRig(t *testing.T, changes ...change) *rig {
	t.Helper()
	keyset, err := sharedKeys()
	require.NoError(t, err)
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "holdfast.db"), Keys: keyset})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	issuer, err := simulator.NewOIDCProvider(simulator.OIDCOptions{Users: map[string]map[string]any{
		"ann": {"name": "Ann Example", "org": "acme", "groups": []string{"staff"}},
		"bob": {"name": "Bob", "org": "acme", "groups": []string{"staff"}},
		"eve": {"name": "Eve", "org": "evil", "groups": []string{"admins"}},
		"ops": {"name": "Ops", "org": "acme", "groups": []string{"admins"}},
		"vic": {"name": "Vic", "org": "acme", "groups": []string{"guests"}},
		"out": {"name": "Out", "org": "acme"},
	}})
	require.NoError(t, err)
	t.Cleanup(issuer.Close)
	r := &rig{t: t, store: &counted{Store: s}, tools: &tools{known: map[string]catalog.Tool{}}, issuer: issuer}
	r.engine = &engine{store: s, now: r.now, results: map[string]json.RawMessage{}}
	r.tokens = auth.NewTokens(s, r.now)
	t.Cleanup(r.tokens.Close)
	provider := auth.NewProvider(auth.ProviderOptions{
		Issuer: issuer.Issuer(), OrganisationClaim: "org", RolesClaim: "groups", ClientID: "holdfast", Scopes: []string{"openid"}, Timeout: 30 * time.Second,
		Roles: map[string]auth.Role{"guests": auth.RoleViewer, "staff": auth.RoleCollaborator, "admins": auth.RoleOwner},
	})
	t.Cleanup(provider.Close)
	sources := auth.Sources{Tokens: r.tokens, Provider: provider}
	params := web.Params{
		Engine: r.engine, Store: r.store, Tools: r.tools, Now: r.now, Settings: web.Settings{Poll: 20 * time.Millisecond, AskAgain: 50 * time.Millisecond, KeepAlive: 30 * time.Millisecond},
	}
	for _, c := range changes {
		c(&sources, &params)
	}
	sources.Sessions = auth.NewSessions(keyset.AEAD(), sources, false, r.now)
	params.Auth = auth.NewAuthenticator(sources)
	r.web, err = web.New(params)
	require.NoError(t, err)
	r.server = httptest.NewServer(r.web.Handler())
	t.Cleanup(func() {
		r.web.Drain()
		r.server.CloseClientConnections()
		r.server.Close()
		r.web.Close()
	})
	return r
}

func (r *rig) now() time.Time {
	return time.Now().Add(time.Duration(r.ahead.Load())).Truncate(time.Microsecond)
}

func (r *rig) advance(d time.Duration) { r.ahead.Add(int64(d)) }

var ann = approval.Identity{Account: "ann", Organisation: "acme"}

// pause makes an execution of ann's that waits, as a call of a tool would; changes make it another one.
func (r *rig) pause(changes ...func(*store.Execution, *store.PauseRow)) store.PauseRow {
	r.t.Helper()
	key := approval.NewKey()
	execution := store.Execution{
		Key: key, Identity: ann, Mode: approval.ModeBrowser, Resource: "default", Client: "claude-code 2.1", Address: "github.create_issue",
		Arguments: []byte(`{"repo":"acme/site","title":"Login fails on Safari","labels":["bug","p1"],"assignee":null,"token":"[REDACTED]","retries":12345678901234567890}`),
		Digest:    "d1", Policy: "p1", CreatedAt: r.now(), Status: "running",
	}
	row := store.PauseRow{
		Pause: approval.Pause{
			ID: approval.PauseID(key, 1), Number: 1, CreatedAt: r.now(), Deadline: r.now().Add(4 * time.Minute),
			Request: approval.Request{Kind: approval.KindGate, Message: "Create an issue in acme/site", Reason: "rule 2: github.*"},
		},
		Key: key, Identity: ann, Address: execution.Address, Client: execution.Client, Policy: "p1", Digest: "d1",
	}
	for _, c := range changes {
		c(&execution, &row)
	}
	row.Identity, row.Address = execution.Identity, execution.Address
	_, _, err := r.store.PutExecution(r.t.Context(), execution)
	require.NoError(r.t, err)
	require.NoError(r.t, r.store.RecordPaused(r.t.Context(), row, store.ExecutionEvent{Key: key, Seq: 1, Kind: store.EventPaused, Pause: 1, At: r.now()}))
	require.NoError(r.t, r.store.PutAudit(r.t.Context(), store.Audit{
		At: r.now(), Identity: execution.Identity, Principal: "oidc:ann", Name: "Ann Example", Via: "mcp", Action: "execute", Execution: key, Address: row.Address,
	}))
	return row
}

// settle ends an execution.
func (r *rig) settle(key string, outcome approval.Outcome, text string) {
	r.t.Helper()
	if text != "" {
		raw, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
		require.NoError(r.t, err)
		r.engine.mu.Lock()
		r.engine.results[key] = raw
		r.engine.mu.Unlock()
	}
	outcome.At = r.now()
	require.NoError(r.t, r.store.RecordOutcome(r.t.Context(), store.Ending{Key: key, Outcome: outcome, Retained: r.now().Add(time.Hour)}))
}

func (r *rig) expire(row store.PauseRow) {
	r.t.Helper()
	row.Expired = true
	require.NoError(r.t, r.store.RecordDecided(r.t.Context(), row.Pause, nil))
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeExpired}, "")
}

func (r *rig) token(role auth.Role, account string) string {
	r.t.Helper()
	secret, row, err := r.tokens.Create(r.t.Context(), auth.Request{Name: "my laptop", Role: role})
	require.NoError(r.t, err)
	if account != "" {
		row.Account = account
		require.NoError(r.t, r.store.PutAPIToken(r.t.Context(), row))
	}
	return secret.Reveal()
}

func link(row store.PauseRow) string { return "/resume/" + row.ID }

func formSchema() json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{
		"zeta":{"type":"string","title":"Title","description":"What the ticket is called","minLength":3,"maxLength":40,"default":"Login fails"},
		"mail":{"type":"string","format":"email","title":"Mail of the reporter"},
		"link":{"type":"string","format":"uri","title":"Link"},
		"body":{"type":"string","title":"Body","maxLength":2000},
		"count":{"type":"integer","title":"How many","minimum":1,"maximum":10},
		"ratio":{"type":"number","title":"Ratio","maximum":0.5},
		"urgent":{"type":"boolean","title":"Urgent","default":true},
		"kind":{"type":"string","title":"Kind","enum":["bug","idea"],"enumNames":["A bug","An idea"]},
		"team":{"type":"string","title":"Team","oneOf":[{"const":"web","title":"Web"},{"const":"ops","title":"Operations"}],"default":"ops"},
		"labels":{"type":"array","title":"Labels","minItems":1,"maxItems":2,"items":{"anyOf":[{"const":"a","title":"Alpha"},{"const":"b","title":"Beta"},{"const":"c","title":"Gamma"}]},"default":["b"]},
		"alpha":{"type":"object","title":"Anything"}
	},"required":["zeta","count","labels"]%s}`, ""))
}

func asForm(_ *store.Execution, row *store.PauseRow) {
	row.Request = approval.Request{Kind: approval.KindForm, Message: "Which ticket is it?", Schema: formSchema()}
}

func asURL(address string) func(*store.Execution, *store.PauseRow) {
	return func(_ *store.Execution, row *store.PauseRow) {
		row.Request = approval.Request{Kind: approval.KindURL, Message: "Connect your calendar", URL: address}
	}
}
