package approvals_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/browser"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

const (
	// late is how long anything may take on a busy machine.
	late = 4 * time.Minute
	// shortWindow is how long people have to decide on what late offers.
	shortWindow = 2 * time.Second

	organisation = "default"
	audience     = "holdfast-gateway"
)

// rules: the sources are the same server under different rules.
const rules = `
rules:
  - {pattern: "late.*", effect: ask, window: 2s}
  - {pattern: "talk.*", effect: ask, modelMayAnswer: true}
sources:
  mail: {honoursKey: true}
`

// rig is a stack with tools behind it, a gateway, a worker, an OpenID provider and a browser. Tests share it, each as somebody else.
type rig struct {
	*stack.Stack

	upstream *upstream.Server
	provider *simulator.OIDCProvider
	gateway  *stack.Gateway
	browser  *browser.Browser
	vault    *vault
	worker   string // address of its metrics
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := newRigWithout(t)
	r.StartWorker()
	r.gateway = r.StartGateway()
	return r
}

// newRigWithout has neither worker nor gateway.
func newRigWithout(t *testing.T) *rig {
	t.Helper()
	r := &rig{}
	var err error
	r.upstream, err = upstream.Start(upstream.Options{HonoursKey: true})
	require.NoError(t, err)
	t.Cleanup(r.upstream.Close)
	r.provider, err = simulator.NewOIDCProvider(simulator.OIDCOptions{Users: map[string]map[string]any{
		"ann": {"org": organisation}, "bob": {"org": "other"},
	}})
	require.NoError(t, err)
	t.Cleanup(r.provider.Close)
	at := map[string]string{"mail": r.upstream.URL(), "late": r.upstream.URL(), "talk": r.upstream.URL()}
	r.worker = fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))
	settings := stack.Tools(t, at, rules, map[string]string{
		"worker.health_listen": r.worker,
		"approvals.hold":       "20s", "oidc.issuer": r.provider.Issuer(), "oidc.audience": audience, "oidc.organisation_claim": "org",
		"oidc.default_role": "collaborator", "oidc.client_id": "holdfast",
	})
	r.vault = newVault(t)
	r.vault.addTo(t, settings["sources.file"])
	r.Stack = stack.New(t, stack.Options{NoWorker: true, Settings: settings})
	return r
}

// user is somebody with an account of their own, and the rig as they use it.
type user struct {
	*rig

	t       *testing.T
	account string
	token   string
}

func (r *rig) user(t *testing.T) *user {
	t.Helper()
	return r.userOf(t, "u-"+testkit.UniqueName(), auth.RoleCollaborator)
}

func (r *rig) userOf(t *testing.T, account string, role auth.Role) *user {
	t.Helper()
	own, shared := *r, *r.Stack
	shared.TB = t
	own.Stack = &shared
	return &user{rig: &own, t: t, account: account, token: own.TokenOf(account, role)}
}

// person is the user at a browser in which nobody is logged in.
func (u *user) person() *browser.Browser {
	u.t.Helper()
	return u.browser.Person(u.t)
}

// runs is how often a tool did what it was called for, under this name.
func (u *user) runs(name string) int { return u.upstream.Counts().Effects[name] }

// answer is what a gateway answered.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

func (a answer) into(v any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.body, v), string(a.body))
}

func (a answer) ok() answer {
	a.t.Helper()
	require.Equal(a.t, http.StatusOK, a.status, string(a.body))
	return a
}

func (u *user) get(path string) answer { return u.api(u.gateway.URL, http.MethodGet, path, nil) }
func (u *user) post(path string, body any) answer {
	return u.api(u.gateway.URL, http.MethodPost, path, body)
}

// api asks a gateway as the user.
func (u *user) api(base, method, path string, body any) answer {
	u.t.Helper()
	got, err := u.try(base, method, path, body)
	require.NoError(u.t, err)
	return got
}

func (u *user) try(base, method, path string, body any) (answer, error) {
	raw := ""
	switch body := body.(type) {
	case nil:
	case string:
		raw = body
	default:
		encoded, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		raw = string(encoded)
	}
	ctx, cancel := context.WithTimeout(u.t.Context(), late)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+u.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	got, err := io.ReadAll(response.Body)
	return answer{t: u.t, status: response.StatusCode, header: response.Header, body: got}, err
}

// approvalView is what the API shows of a pause.
type approvalView struct {
	ID, Execution, Address, State, Outcome string
	Arguments                              json.RawMessage
	Decision                               *struct{ Action, By, Name, Via, Reason string }
}

func (u *user) approval(id string) approvalView {
	u.t.Helper()
	var view approvalView
	u.get("/api/v1/approvals/" + id).ok().into(&view)
	return view
}

// decide decides by the API.
func (u *user) decide(id string, action approval.Action) answer {
	u.t.Helper()
	return u.decideAt(u.gateway.URL, id, action)
}

// decideAt decides at a gateway, as often as it says that this cannot be done right now: a busy machine may keep it from Temporal.
func (u *user) decideAt(base, id string, action approval.Action) answer {
	u.t.Helper()
	var got answer
	testkit.Eventually(u.t, late, func() bool {
		got = u.api(base, http.MethodPost, "/api/v1/approvals/"+id+"/decision", map[string]any{"action": action})
		return got.status != http.StatusServiceUnavailable
	}, "a decision is taken")
	return got
}

// outcomeOf waits until an execution is over.
func (u *user) outcomeOf(key string) approval.Outcome {
	u.t.Helper()
	var outcome *approval.Outcome
	testkit.Eventually(u.t, late, func() bool {
		row, err := u.Store.Execution(u.t.Context(), key)
		require.NoError(u.t, err)
		outcome = row.Outcome
		return outcome != nil
	}, "an outcome")
	return *outcome
}

// audited waits until the audit has a line of an execution.
func (u *user) audited(key, action string) auditLine {
	u.t.Helper()
	var found auditLine
	testkit.Eventually(u.t, late, func() bool {
		var list struct{ Items []auditLine }
		u.get("/api/v1/audit?execution=" + key).ok().into(&list)
		for _, line := range list.Items {
			if line.Action == action {
				found = line
				return true
			}
		}
		return false
	}, "the audit says "+action)
	return found
}

type auditLine struct {
	Account, Principal, Via, Action, Execution, Pause, Address, Digest, Outcome, Reason string
}

// keyOf is the execution's, of a pause's or an execution's id.
func keyOf(t *testing.T, id string) string {
	t.Helper()
	key, _, err := approval.ParseID(id)
	require.NoError(t, err)
	return key
}
