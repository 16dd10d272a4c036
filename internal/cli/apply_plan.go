package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// plan is what is to be written: checked, and complete but for what only the store knows.
type plan struct {
	engines     []plannedEngine
	connections []store.Desired
	// many says that the answer is a list.
	many bool
}

// plannedEngine keeps what the store has where a part is not given.
type plannedEngine struct {
	id       string
	url      string // normal; empty: the store must know the id
	derived  bool   // the id is made from the URL: one that the store has for this URL is taken instead
	username *string
	password *string
}

// planOfFlags is the plan of one connection.
func (a *App) planOfFlags(ctx context.Context, given applyFlags, usernameGiven bool) (plan, error) {
	if err := given.complete(); err != nil {
		return plan{}, err
	}
	base, err := a.workDir()
	if err != nil {
		return plan{}, err
	}
	target, err := a.engineOfFlags(ctx, given, usernameGiven)
	if err != nil {
		return plan{}, err
	}
	headers, err := a.headersOfFlags(ctx, given)
	if err != nil {
		return plan{}, err
	}
	timeout, err := parseTimeout(given.timeout)
	if err != nil {
		return plan{}, err
	}
	enabled := !given.disabled
	want, err := check(manifest.Connection{
		Name: given.name, Profile: given.profile, URL: given.url, Headers: headers, TimeoutMillis: timeout,
		Enabled: &enabled, ExpectedTools: given.expectTools,
	})
	if err != nil {
		return plan{}, &CodeError{Code: ExitUsage, Cause: err}
	}
	want.Key = store.Key{
		Workspace: given.workspace, Name: given.name, Directory: manifest.CleanDirectory(base, given.directory),
	}
	if err := want.Key.Validate(); err != nil {
		return plan{}, usagef("--%w", err)
	}
	want.EngineID = target.id
	return plan{engines: []plannedEngine{target}, connections: []store.Desired{want}}, nil
}

// complete names all flags that are missing.
func (f applyFlags) complete() error {
	var missing []string
	for _, need := range []struct{ flag, value string }{
		{"--workspace", f.workspace},
		{"--directory", f.directory},
		{"--engine", f.engine},
		{"--name", f.name},
		{"--url", f.url},
	} {
		if need.value == "" {
			missing = append(missing, need.flag)
		}
	}
	if len(missing) > 0 {
		return usagef("missing: %s (or give -f FILE)", strings.Join(missing, ", "))
	}
	if !desired.Profile(f.profile).Valid() {
		return usagef("--profile must be generic or openwork")
	}
	if len(f.expectTools) > 0 && desired.Profile(f.profile) == desired.ProfileOpenWork {
		return usagef("--expect-tool is for the profile generic; openwork has its own tools")
	}
	return nil
}

// planOfFiles is the plan of whole files. Everything that is wrong is told at once, with file and line.
func (a *App) planOfFiles(ctx context.Context, files []string) (plan, error) {
	read, err := patiently(ctx, func() (manifest.Manifest, error) {
		return manifest.Load(a.environment().LookupEnv, files...)
	})
	if err != nil && ctx.Err() != nil {
		return plan{}, err
	}
	if err != nil {
		return plan{}, &CodeError{Code: ExitUsage, Cause: err}
	}
	whole := plan{many: true}
	for _, e := range read.Engines {
		whole.engines = append(whole.engines, plannedEngine{
			id: e.ID, url: e.URL, derived: e.ID == manifest.EngineID(e.URL),
			username: given(e.Username), password: given(e.Password),
		})
	}
	var faults []error
	for _, workspace := range read.Workspaces {
		for _, c := range workspace.Connections {
			want, err := check(c)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %s/%s: %w", c.Where(), workspace.ID, c.Name, err))
				continue
			}
			want.Key = store.Key{Workspace: workspace.ID, Name: c.Name, Directory: workspace.Directory}
			want.EngineID = workspace.Engine
			whole.connections = append(whole.connections, want)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return plan{}, &CodeError{Code: ExitUsage, Cause: err}
	}
	if len(whole.connections) == 0 {
		return plan{}, usagef("no connections in %s", strings.Join(files, ", "))
	}
	return whole, nil
}

// given is nil for a text that is not there.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// refusedError is a desired config that breaks a rule of its profile.
type refusedError struct{ failure health.Failure }

func (e *refusedError) Error() string {
	return fmt.Sprintf("%s. Nothing was changed. Next: %s", strings.TrimSuffix(e.failure.Error(), "."), e.failure.RecommendedAction)
}

// check brings a connection into its normal form and applies the rules of its profile. One that is wanted switched off is
// checked as if it were on: being off is what was asked for, not a mistake.
func check(c manifest.Connection) (store.Desired, error) {
	body, err := c.Body()
	if err != nil {
		return store.Desired{}, err
	}
	want := store.Desired{Profile: desired.Profile(c.Profile)}
	if want.Config, err = desired.Normalise(want.Profile, body); err != nil {
		return store.Desired{}, err
	}
	if want.Metadata, err = desired.NormaliseMetadata(body); err != nil {
		return store.Desired{}, err
	}
	on := want.Config
	enabled := true
	on.Enabled = &enabled
	if failure := desired.Validate(want.Profile, on, want.Metadata); failure != nil {
		return store.Desired{}, &refusedError{failure: *failure}
	}
	return want, nil
}
