package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// plan is what is to be written: checked, and complete but for what only the store knows.
type plan struct {
	engines     []plannedEngine
	workspaces  []plannedWorkspace
	shared      []store.AccountDesired
	connections []store.Desired
	// many says that the answer is a list.
	many bool
}

// plannedWorkspace keeps the account that the store has where none is given.
type plannedWorkspace struct {
	store.Workspace

	keepAccount bool
}

// plannedEngine keeps what the store has where a part is not given.
type plannedEngine struct {
	id       string
	url      string // normal; empty: the store must know the id
	derived  bool   // the id is made from the URL: one that the store has for this URL is taken instead
	where    string // the place in a file that names it by its id alone
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
	source, err := a.sourceOfFlags(ctx, given)
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
		Enabled: &enabled, ExpectedTools: given.expectTools, TokenSource: source,
	})
	if err != nil {
		return plan{}, &CodeError{Code: ExitUsage, Cause: err}
	}
	place := store.Workspace{
		ID: given.workspace, Directory: manifest.CleanDirectory(base, given.directory), EngineID: target.id, Account: given.account,
	}
	row := want.of(place, given.name)
	if err := row.Key.Validate(); err != nil {
		return plan{}, usagef("--%w", err)
	}
	return plan{
		engines:     []plannedEngine{target},
		workspaces:  []plannedWorkspace{{Workspace: place, keepAccount: given.account == ""}},
		connections: []store.Desired{row},
	}, nil
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
	whole, err := planOf(read)
	if err != nil {
		return plan{}, &CodeError{Code: ExitUsage, Cause: err}
	}
	if len(whole.workspaces) == 0 && len(whole.shared) == 0 {
		return plan{}, usagef("neither workspaces nor accounts with connections in %s", strings.Join(files, ", "))
	}
	return whole, nil
}

func planOf(read manifest.Manifest) (plan, error) {
	whole := plan{many: true}
	for _, e := range read.Engines {
		whole.engines = append(whole.engines, plannedEngine{
			id: e.ID, url: e.URL, derived: e.ID == manifest.EngineID(e.URL),
			username: given(e.Username), password: given(e.Password),
		})
	}
	for _, e := range read.Elsewhere {
		whole.engines = append(whole.engines, plannedEngine{id: e.ID, where: e.Where()})
	}
	var faults []error
	for _, account := range read.Accounts {
		for _, c := range account.Connections {
			want, err := check(c)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %s of account %s: %w", c.Where(), c.Name, account.ID, err))
				continue
			}
			whole.shared = append(whole.shared, want.shared(account.ID, c.Name))
		}
	}
	for _, w := range read.Workspaces {
		place := store.Workspace{ID: w.ID, Directory: w.Directory, EngineID: w.Engine, Account: w.Account}
		whole.workspaces = append(whole.workspaces, plannedWorkspace{Workspace: place, keepAccount: w.Account == ""})
		for _, c := range w.Connections {
			want, err := check(c)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %s/%s: %w", c.Where(), w.ID, c.Name, err))
				continue
			}
			whole.connections = append(whole.connections, want.of(place, c.Name))
		}
	}
	return whole, errors.Join(faults...)
}

// given is nil for a text that is not there.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
