package diagnosis

import (
	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

func (f *facts) compatibility(build buildinfo.Build, projection Projection) Compatibility {
	c := Compatibility{
		OpenWork:         OpenWork{ServerVersion: build.Version},
		OpenCode:         f.engineVersion(),
		PluginFileHashes: []string{},
		SupportedFeatures: Features{
			DynamicMCP: true, DirectoryScoping: f.key.Directory != "", ToolIDs: f.live.toolIDsErr == nil,
			ProviderToolProjection: projection.Checked && f.projectionSupported(), PluginCanaries: f.openwork() && f.engine != nil,
		},
	}
	if f.want != nil {
		c.OpenWork.App = told(f.want.Metadata.App)
	}
	if f.engine != nil && f.live.statusesErr == nil && f.live.connected(f.key.Name) {
		c.ExperimentalToolIDs = f.listed(f.live.toolIDs, f.live.toolIDsErr)
	}
	if p := f.live.projection; p != nil {
		c.ExperimentalProviderTools = f.listed(p.tools, p.toolsErr)
	}
	return c
}

func (f *facts) engineVersion() OpenCode {
	view := OpenCode{ExpectedVersion: ExpectedEngineVersion, Probe: ProbeNotChecked}
	switch {
	case f.engine == nil:
	case f.live.versionErr != nil:
		view.Probe, view.Error = ProbeUnavailable, f.live.versionErr.Error()
	default:
		version := redact.String(f.live.version.Version)
		view.Probe, view.ActualVersion = ProbeOK, &version
	}
	return view
}

// projectionSupported reports whether the engine could tell of the model at all.
func (f *facts) projectionSupported() bool {
	failure := f.live.projection.failure(f.options, f.expectedIDs())
	if failure == nil {
		return true
	}
	return failure.Code == health.CodeProjectionMissing && f.live.projection.modelErr == nil
}

func (f *facts) listed(ids []string, err error) Experimental {
	view := Experimental{Checked: true, Count: len(ids)}
	if err != nil {
		view.Error = err.Error()
		return view
	}
	all := includes(ids, f.expectedIDs())
	view.IncludesMCPTools = &all
	return view
}
