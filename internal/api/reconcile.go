package api

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// openWorkName is the server whose config has the strict rules, unless the caller says otherwise.
const openWorkName = "openwork-cloud"

// modelBody is how callers name a model: beside everything else, or in a context.
type modelBody struct {
	Provider string        `json:"provider,omitempty"`
	Model    string        `json:"model,omitempty"`
	Context  *modelContext `json:"context,omitempty"`
}

type modelContext struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

func (b modelBody) model() (model, error) {
	m := model{Provider: strings.TrimSpace(b.Provider), Model: strings.TrimSpace(b.Model)}
	if b.Context != nil && m == (model{}) {
		m = model{Provider: strings.TrimSpace(b.Context.Provider), Model: strings.TrimSpace(b.Context.Model)}
	}
	return m, m.check()
}

// addressBody repeats the path; what it says must be that.
type addressBody struct {
	WorkspaceID *string `json:"workspaceId,omitempty"`
	Name        *string `json:"name,omitempty"`
}

func (b addressBody) check(workspace, name string) error {
	if b.WorkspaceID != nil && strings.TrimSpace(*b.WorkspaceID) != workspace {
		return fail(CodeWorkspaceIDMismatch)
	}
	if b.Name != nil && *b.Name != name {
		return fail(CodeInvalidName)
	}
	return nil
}

// configBody is a desired config as callers send it.
type configBody struct {
	// Profile is the set of rules; by default openwork for the name openwork-cloud, else what is stored, else generic.
	Profile desired.Profile `json:"profile,omitempty"`
	// Config may also be inline.
	Config      json.RawMessage      `json:"config,omitempty" shape:"object"`
	TokenSource *desired.TokenSource `json:"tokenSource,omitempty"`

	// What has another type than it should have is dropped, so these are looked at by the rules for them, not here.
	TokenMetadata         json.RawMessage `json:"tokenMetadata,omitempty" shape:"object"`
	Org                   json.RawMessage `json:"org,omitempty" shape:"object"`
	App                   json.RawMessage `json:"app,omitempty" shape:"object"`
	AppVersion            json.RawMessage `json:"appVersion,omitempty" shape:"string"`
	BuildSHA              json.RawMessage `json:"buildSha,omitempty" shape:"string"`
	ConnectCatalogEnabled json.RawMessage `json:"connectCatalogEnabled,omitempty" shape:"boolean"`
	ExpectedTools         json.RawMessage `json:"expectedTools,omitempty" shape:"array"`
}

// reconcileBody is what a reconcile takes. All of it is optional: without a config, what is stored is delivered.
type reconcileBody struct {
	configBody
	addressBody
	modelBody

	Trigger string `json:"trigger,omitempty"`
}

// wantedConfig is a desired config that was read, not judged.
type wantedConfig struct {
	profile  desired.Profile
	config   desired.Config
	metadata desired.Metadata
	source   *desired.TokenSource
}

// readConfig reads the config in a body. Members of the wrong type are dropped, as the rules for it have it.
func readConfig(raw json.RawMessage, profile desired.Profile, source *desired.TokenSource) (wantedConfig, error) {
	w := wantedConfig{profile: profile, source: source}
	var err error
	if w.config, err = desired.Normalise(profile, raw); err == nil {
		w.metadata, err = desired.NormaliseMetadata(raw)
	}
	var wrong *desired.PayloadError
	if errors.As(err, &wrong) {
		return w, failf(CodeInvalidPayload, "The desired config cannot be read: %s.", wrong.Problem)
	}
	return w, err
}

// problem is the first rule that the config breaks.
func (w wantedConfig) problem() *health.Failure {
	if f := w.source.Validate(); f != nil {
		return f
	}
	config := w.config
	if w.source != nil {
		config.Headers = map[string]string{"Authorization": "Bearer from-its-source"}
		for name, value := range w.config.Headers {
			if !strings.EqualFold(name, "authorization") {
				config.Headers[name] = value
			}
		}
	}
	return desired.Validate(w.profile, config, w.metadata)
}

// trusted refuses what only an owner may want: an endpoint that nobody vouches for, and a token source that makes the worker
// read what is its own, or call yet another endpoint.
func (w wantedConfig) trusted(who auth.Principal) error {
	if who.Role.Allows(auth.RoleOwner) {
		return nil
	}
	if !desired.TrustedEndpoint(w.config.URL) {
		return failf(CodeForbidden, "Only an owner may connect an endpoint that is not on this machine and not OpenWork Cloud.")
	}
	if w.source.Mints() {
		return failf(CodeForbidden, "Only an owner may choose a token source beside a literal token.")
	}
	return nil
}

// hasConfig tells whether a body says what is wanted, in its member config or inline.
func hasConfig(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	if inner := members["config"]; len(inner) > 0 && string(inner) != "null" {
		return true
	}
	for _, name := range []string{"url", "type", "enabled", "headers", "oauth"} {
		if _, inline := members[name]; inline {
			return true
		}
	}
	return false
}

func profileOf(asked desired.Profile, name string, stored store.Effective) (desired.Profile, error) {
	switch {
	case asked != "" && !asked.Valid():
		return "", failf(CodeInvalidPayload, "profile must be %s or %s.", desired.ProfileOpenWork, desired.ProfileGeneric)
	case asked != "":
		return asked, nil
	case stored.Profile != "":
		return stored.Profile, nil
	case name == openWorkName:
		return desired.ProfileOpenWork, nil
	default:
		return desired.ProfileGeneric, nil
	}
}

const triggerReconcile = "reconcile"

// postReconcile stores what is wanted, where the body says so, and delivers it.
func postReconcile(a *API, c *call) (*job, error) {
	raw, err := c.object()
	if err != nil {
		return nil, err
	}
	var body reconcileBody
	if err := c.decode(&body, false); err != nil {
		return nil, err
	}
	if err := body.check(c.path("id")+c.path("workspace"), c.path("name")); err != nil {
		return nil, err
	}
	trigger, err := said("trigger", body.Trigger)
	if err != nil {
		return nil, err
	}
	m, err := body.model()
	if err != nil {
		return nil, err
	}
	t, err := a.target(c, workspaceParam(c))
	if err != nil {
		return nil, err
	}
	if trigger == "" {
		trigger = triggerReconcile
	}
	if hasConfig(raw) {
		return a.reconcileConfig(c, t, body, trigger, m)
	}
	if !t.wanted() {
		return a.onlyHealth(t, m), nil
	}
	return a.repair(c, t, connection.UpdateReconcile, trigger, m)
}

// workspaceParam is how the route calls the workspace in its path.
func workspaceParam(c *call) string {
	if c.PathValue("workspace") != "" {
		return "workspace"
	}
	return "id"
}

// onlyHealth is the job of a reconcile where nothing is wanted.
func (a *API) onlyHealth(t target, m model) *job {
	return &job{run: func(ctx context.Context, _ string) (*reply, error) {
		document, err := a.health(ctx, t.key, m.options(true))
		if err != nil {
			return nil, err
		}
		return ok(document)
	}}
}

func (a *API) reconcileConfig(c *call, t target, body reconcileBody, trigger string, m model) (*job, error) {
	raw, err := c.object()
	if err != nil {
		return nil, err
	}
	profile, err := profileOf(body.Profile, t.key.Name, t.effective)
	if err != nil {
		return nil, err
	}
	want, err := readConfig(raw, profile, body.TokenSource)
	if err != nil {
		return nil, err
	}
	if err := want.trusted(c.principal); err != nil {
		return nil, err
	}
	if problem := want.problem(); problem != nil {
		return a.refused(t, *problem, m), nil
	}
	who, memory := c.principal.ID, c.memory
	run := func(ctx context.Context, updateID string) (*reply, error) {
		if err := a.want(ctx, memory, t, want, store.Intent{By: who, Reason: trigger}); err != nil {
			return nil, err
		}
		// The revision was not known before: what was stored now decides which update may be shared.
		revision, err := a.revision(ctx, t.key)
		if err != nil {
			return nil, err
		}
		_, err = once(a, flightName(connection.UpdateReconcile, t.key, revision), only(func() error {
			return a.ask(ctx, t, updateID, trigger, a.reconcile)
		}))
		if err != nil {
			return nil, err
		}
		document, err := a.health(ctx, t.key, m.options(false))
		if err != nil {
			return nil, err
		}
		return ok(document)
	}
	return &job{run: run}, nil
}

// refused is the job for a config that breaks a rule: nothing is stored, and the health says what is wrong with what was sent.
func (a *API) refused(t target, problem health.Failure, m model) *job {
	return &job{run: func(ctx context.Context, _ string) (*reply, error) {
		document, err := a.health(ctx, t.key, m.options(true))
		if err != nil {
			return nil, err
		}
		return ok(overlay(document, problem))
	}}
}

// overlay shows a health with another first failure: what was asked for, not what is there.
func overlay(document diagnosis.Document, failure health.Failure) diagnosis.Document {
	document.Phase, document.Usable, document.FirstFailure = health.PhaseOf(&failure), false, &failure
	if document.Tools.ProviderProjection.Checked {
		no := false
		document.UsableByCurrentModel = &no
	}
	return document
}
