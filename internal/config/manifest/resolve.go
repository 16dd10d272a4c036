package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
)

// resolve checks the whole and replaces each workspace's engine by an id.
func (m Manifest) resolve() (Manifest, error) {
	r := &resolver{
		byID: map[string]Engine{}, byURL: map[string]string{}, connections: map[connectionKey]place{},
		workspaces: map[workspaceKey]Workspace{},
	}
	for _, engine := range m.Engines {
		r.engine(engine)
	}
	for i := range m.Accounts {
		r.account(&m.Accounts[i])
	}
	for i := range m.Workspaces {
		r.workspace(&m.Workspaces[i])
	}
	for i := range m.Workspaces {
		r.settle(&m.Workspaces[i])
	}
	if err := errors.Join(r.faults...); err != nil {
		return Manifest{}, err
	}
	m.Engines, m.Elsewhere = r.engines, r.elsewhere
	return m, nil
}

// connectionKey is of a workspace's own connection, or of an account's.
type connectionKey struct{ account, workspace, directory, name string }

type workspaceKey struct{ id, directory string }

type resolver struct {
	byID        map[string]Engine
	byURL       map[string]string // normal URL to id
	connections map[connectionKey]place
	workspaces  map[workspaceKey]Workspace

	engines   []Engine
	elsewhere []Reference
	faults    []error
}

func (r *resolver) fault(at place, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s: %s", at.Where(), fmt.Sprintf(format, args...)))
}

func (r *resolver) engine(engine Engine) {
	if engine.URL == "" {
		r.fault(engine.place, "engine needs a url")
		return
	}
	normal, err := EngineURL(engine.URL)
	if err != nil {
		r.fault(engine.place, "engine's url %v", err)
		return
	}
	engine.URL = normal
	if engine.ID == "" {
		engine.ID = EngineID(normal)
	}
	if first, twice := r.byID[engine.ID]; twice {
		r.fault(engine.place, "engine %q is given twice, first at %s", engine.ID, first.Where())
		return
	}
	if id, twice := r.byURL[normal]; twice {
		r.fault(engine.place, "the url of engine %q is that of engine %q at %s: give it once", engine.ID, id, r.byID[id].Where())
		return
	}
	r.add(engine)
}

func (r *resolver) add(engine Engine) {
	r.byID[engine.ID] = engine
	r.byURL[engine.URL] = engine.ID
	r.engines = append(r.engines, engine)
}

func (r *resolver) workspace(workspace *Workspace) {
	for _, need := range []struct{ key, value string }{
		{"id", workspace.ID},
		{"directory", workspace.Directory},
		{"engine", workspace.Engine},
	} {
		if need.value == "" {
			r.fault(workspace.place, "workspace needs %s", need.key)
		}
	}
	if workspace.Engine != "" {
		workspace.Engine = r.engineOf(*workspace)
	}
	r.once(*workspace)
	for i := range workspace.Connections {
		connection := &workspace.Connections[i]
		r.connection(connection)
		if workspace.ID != "" && connection.Name != "" {
			if err := (delivery.Key{Workspace: workspace.ID, Name: connection.Name, Directory: workspace.Directory}).Validate(); err != nil {
				r.fault(connection.place, "%v", err)
			}
		}
		r.single(connectionKey{"", workspace.ID, workspace.Directory, connection.Name}, *connection,
			fmt.Sprintf("workspace %q", workspace.ID))
	}
}

// once takes a workspace that is given in parts, and refuses parts that contradict each other.
func (r *resolver) once(workspace Workspace) {
	key := workspaceKey{workspace.ID, workspace.Directory}
	first, twice := r.workspaces[key]
	switch {
	case !twice:
		r.workspaces[key] = workspace
	case first.Engine != workspace.Engine:
		r.fault(workspace.place, "workspace %q has another engine here than at %s", workspace.ID, first.Where())
	case workspace.Account == "":
	case first.Account == "":
		first.Account = workspace.Account
		r.workspaces[key] = first
	case first.Account != workspace.Account:
		r.fault(workspace.place, "workspace %q has another account here than at %s", workspace.ID, first.Where())
	}
}

// settle gives each part of a workspace the account that another part has, and notes an engine that no file gives: any of them
// may have given it by now.
func (r *resolver) settle(workspace *Workspace) {
	workspace.Account = r.workspaces[workspaceKey{workspace.ID, workspace.Directory}].Account
	_, given := r.byID[workspace.Engine]
	noted := slices.ContainsFunc(r.elsewhere, func(e Reference) bool { return e.ID == workspace.Engine })
	if workspace.Engine != "" && !given && !noted {
		r.elsewhere = append(r.elsewhere, Reference{ID: workspace.Engine, place: workspace.place})
	}
}

func (r *resolver) account(account *Account) {
	if account.ID == "" {
		r.fault(account.place, "account needs id")
	}
	for i := range account.Connections {
		connection := &account.Connections[i]
		r.connection(connection)
		if connection.Name != "" {
			if err := (delivery.Key{Workspace: "any", Name: connection.Name}).Validate(); err != nil {
				r.fault(connection.place, "%v", err)
			}
		}
		r.single(connectionKey{account.ID, "", "", connection.Name}, *connection, fmt.Sprintf("account %q", account.ID))
	}
}

// engineOf is the id of the engine that a workspace names by id or URL. A URL that no engine of the file has makes one without
// credentials. What is no URL may be the id of an engine that is known from before.
func (r *resolver) engineOf(workspace Workspace) string {
	if engine, found := r.byID[workspace.Engine]; found {
		return engine.ID
	}
	if !strings.Contains(workspace.Engine, "://") {
		return workspace.Engine
	}
	normal, err := EngineURL(workspace.Engine)
	if err != nil {
		r.fault(workspace.place, "workspace's engine %v", err)
		return workspace.Engine
	}
	if id, found := r.byURL[normal]; found {
		return id
	}
	engine := Engine{ID: EngineID(normal), URL: normal, place: workspace.place}
	if first, taken := r.byID[engine.ID]; taken {
		r.fault(workspace.place, "engine %q at %s has another url: give this one under engines with an id of its own", engine.ID, first.Where())
		return engine.ID
	}
	r.add(engine)
	return engine.ID
}

func (r *resolver) connection(connection *Connection) {
	if connection.Name == "" {
		r.fault(connection.place, "connection needs name")
	}
	if connection.URL == "" {
		r.fault(connection.place, "connection needs url")
	}
	switch connection.Profile {
	case "":
		connection.Profile = ProfileGeneric
	case ProfileGeneric, ProfileOpenWork:
	default:
		r.fault(connection.place, "profile must be %s or %s", ProfileGeneric, ProfileOpenWork)
	}
	if connection.TimeoutMillis < 0 || connection.TimeoutMillis > 600_000 {
		r.fault(connection.place, "timeout is out of range: give 1 to 600000 milliseconds")
	}
	if _, err := connection.TokenSource.Desired(); err != nil {
		r.fault(connection.place, "%v", err)
	}
}

// single refuses a name that its workspace or account has already.
func (r *resolver) single(key connectionKey, connection Connection, of string) {
	if first, twice := r.connections[key]; twice {
		r.fault(connection.place, "connection %q of %s is given twice, first at %s", connection.Name, of, first.Where())
		return
	}
	r.connections[key] = connection.place
}
