package diagnosis

import (
	"maps"
	"slices"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/domain/denies"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

// serversShown is how many of the engine's entries are listed.
const serversShown = 50

const (
	typeLocal  = "local"
	typeRemote = "remote"
)

// document puts together what was learnt.
func (f *facts) document(build buildinfo.Build) Document {
	first := f.first()
	projection := f.projectionView()
	d := Document{
		SchemaVersion:         SchemaVersion,
		Phase:                 health.PhaseOf(first),
		Usable:                first == nil,
		UsableByCurrentModel:  f.usableByModel(projection, first),
		ConnectCatalogEnabled: f.want == nil || f.want.Metadata.ConnectCatalogEnabled,
		Workspace:             f.workspace(),
		Desired:               f.desiredView(),
		Delivery:              Delivery{Snapshot: f.ledger.of(f.key, f.revision()), Source: f.ledger.source},
		Engine:                f.engineView(),
		EngineInspection:      f.inspectionView(),
		Tools:                 Tools{Listing: f.toolList(), Direct: f.direct(), ProviderProjection: projection},
		PluginCanaries:        f.canaryList(),
		Compatibility:         f.compatibility(build, projection),
		ToolDenies:            f.denials,
		ToolDeniesUnknown:     f.unknown,
		FirstFailure:          first,
	}
	if d.ToolDenies == nil {
		d.ToolDenies = []denies.Denial{}
	}
	return d
}

func (f *facts) workspace() Workspace {
	w := Workspace{ID: f.key.Workspace}
	if f.key.Directory != "" {
		w.Directory = &f.key.Directory
	}
	if f.engine == nil {
		return w
	}
	where := typeRemote
	if f.engine.local {
		where, w.Path = typeLocal, w.Directory
	}
	w.Type = &where
	return w
}

func (f *facts) desiredView() Desired {
	d := Desired{Name: f.key.Name}
	if f.want == nil {
		return d
	}
	want := f.want
	shown := want.Config.Redacted()
	d.Present, d.Revision, d.Profile, d.Config = true, &want.Revision, want.Profile, &shown
	if want.Shared {
		d.Account = want.Account
	}
	d.Org, d.App = told(want.Metadata.Org), told(want.Metadata.App)
	if !want.UpdatedAt.IsZero() {
		d.UpdatedAt = &want.UpdatedAt
	}
	d.Token = Token{
		Present:  shown.Headers.AuthorizationPresent || len(want.Metadata.Token) > 0,
		Metadata: told(want.Metadata.Token),
	}
	if t := want.Token; t != nil {
		d.Token.Present = t.Sequence > 0
		d.Token.Source, d.Token.ExpiresAt, d.Token.RenewAt = t.Source, t.ExpiresAt, t.RenewAt
	}
	return d
}

func (f *facts) engineView() Engine {
	switch {
	case f.engine == nil:
		return Engine{Status: StatusNotChecked}
	case f.live.statusesErr != nil:
		view := Engine{Status: StatusUnreachable, Error: f.live.statusesErr.Error()}
		if statusFailure(f.live.statusesErr).Code != health.CodeEngineUnreachable {
			view.Status = StatusUnknown
		}
		return view
	}
	entry, present := f.live.statuses[f.key.Name]
	if !present {
		return Engine{Status: StatusMissing}
	}
	view := Engine{Status: entry.Status, Error: entry.Error}
	switch entry.Status {
	case engineapi.StatusConnected, engineapi.StatusDisabled, engineapi.StatusFailed, engineapi.StatusNeedsAuth,
		engineapi.StatusNeedsClientRegistration:
	default:
		view.Status = StatusUnknown
	}
	return view
}

func (f *facts) inspectionView() Inspection {
	if f.engine == nil || f.live.statusesErr != nil {
		return Inspection{}
	}
	_, present := f.live.statuses[f.key.Name]
	count := len(f.live.statuses)
	view := Inspection{Checked: true, CloudPresent: &present, ServerCount: &count}
	for _, name := range slices.Sorted(maps.Keys(f.live.statuses)) {
		if len(view.Servers) == serversShown {
			break
		}
		entry := f.live.statuses[name]
		view.Servers = append(view.Servers, Server{
			Name: redact.String(name), Status: redact.String(entry.Status), Error: entry.Error,
		})
	}
	return view
}

// toolList tells which tools are there: by this read's probe, else by the ledger's last verification. An engine's
// "connected" alone is no proof.
func (f *facts) toolList() Listing {
	expected := f.expectedIDs()
	list := listing(expected)
	if f.want == nil || f.engine == nil {
		return list
	}
	list.Missing = expected
	if f.live.stop(f.key.Name) != nil {
		return list
	}
	if f.live.probe != nil {
		return f.probedList(list)
	}
	if !f.ledger.proven(f.want.Revision) {
		return list
	}
	if known := f.ledger.listed(f.want.Revision); known != nil {
		present := engineIDs(f.key.Name, known)
		if len(expected) == 0 {
			list.Present = present
			return list
		}
		list.Missing = absentFrom(present, expected)
		list.Present = absentFrom(list.Missing, expected)
		return list
	}
	list.Present, list.Missing = expected, []string{}
	return list
}

// probedList has all or nothing: with one tool missing none is any good.
func (f *facts) probedList(list Listing) Listing {
	probe := f.live.probe
	switch {
	case !probe.Checked:
		list.Missing = []string{}
	case probe.Failure != nil || len(probe.Missing) > 0:
	case len(list.Expected) == 0:
		list.Present = engineIDs(f.key.Name, probe.Present)
	default:
		list.Present, list.Missing = list.Expected, []string{}
	}
	return list
}

func (f *facts) canaryList() Listing {
	if !f.openwork() || f.engine == nil {
		return listing(nil)
	}
	list := listing(canaries)
	if f.live.stop(f.key.Name) != nil {
		list.Missing = canaries
		return list
	}
	list.Missing = absentFrom(f.live.toolIDs, canaries)
	list.Present = absentFrom(list.Missing, canaries)
	return list
}

func listing(expected []string) Listing {
	return Listing{Expected: orEmpty(expected), Present: []string{}, Missing: []string{}}
}

func orEmpty(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}
