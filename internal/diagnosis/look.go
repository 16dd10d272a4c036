package diagnosis

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

// live is what engine and endpoint answered to this read.
type live struct {
	version    engineapi.Health
	versionErr error

	statuses    map[string]engineapi.Status
	statusesErr error

	toolIDs    []string
	toolIDsErr error

	configuration    engineapi.Configuration
	configurationErr error

	projection *projection
	probe      *mcpprobe.Result
	// notProbed says why no probe was sent although one was asked for and the engine could be.
	notProbed string
}

// look asks all that needs no other answer at once. Models are asked only when nothing before them has failed; the error is
// the caller's own end.
func (r *Reader) look(ctx context.Context, f *facts) (live, error) {
	var (
		seen      live
		all       sync.WaitGroup
		directory = f.want.Directory
	)
	all.Go(func() { seen.version, seen.versionErr = f.engine.Health(ctx) })
	all.Go(func() { seen.statuses, seen.statusesErr = f.statuses(ctx) })
	all.Go(func() { seen.toolIDs, seen.toolIDsErr = f.engine.ToolIDs(ctx, directory) })
	all.Go(func() { seen.configuration, seen.configurationErr = f.engine.Configuration(ctx, directory) })
	all.Wait()
	return seen, r.lookFurther(ctx, f, &seen)
}

// statuses reads what the engine says of its entries. Its texts may repeat what it was sent.
func (f *facts) statuses(ctx context.Context) (map[string]engineapi.Status, error) {
	statuses, err := f.engine.Statuses(ctx, f.want.Directory)
	for name, entry := range statuses {
		entry.Error = f.scrubbed(entry.Error)
		statuses[name] = entry
	}
	return statuses, err
}

// lookFurther asks the endpoint also where the engine has no working connection to it: that is when one wants to know whose
// fault it is.
func (r *Reader) lookFurther(ctx context.Context, f *facts, seen *live) error {
	var (
		both     sync.WaitGroup
		probeErr error
		stopped  = seen.stop(f.key.Name) != nil
	)
	switch {
	case !f.options.Probe:
	case stopped && seen.connected(f.key.Name):
		seen.notProbed = "not asked: the engine does not list its tools"
	case f.want.Token != nil && f.want.Token.Sequence == 0:
		seen.notProbed = "there is no token to ask with yet"
	default:
		both.Go(func() { seen.probe, probeErr = r.probe(ctx, *f.want) })
	}
	if f.options.Provider != "" && !stopped {
		both.Go(func() { seen.projection = readProjection(ctx, f) })
	}
	both.Wait()
	return errors.Join(probeErr, ctx.Err())
}

// stop is the failure that makes further steps senseless: no status, another status than connected, no tool ids.
func (l live) stop(name string) *health.Failure {
	if l.statusesErr != nil {
		f := statusFailure(l.statusesErr)
		return &f
	}
	entry := l.statuses[name]
	if f := health.FromEngineStatus(entry.Status, entry.Error); f != nil {
		return f
	}
	if l.toolIDsErr != nil {
		f := toolIDsFailure(l.toolIDsErr)
		return &f
	}
	return nil
}

// connected reports whether the engine calls the entry connected.
func (l live) connected(name string) bool {
	return l.statusesErr == nil && l.statuses[name].Status == engineapi.StatusConnected
}

func statusFailure(err error) health.Failure {
	if status, answered := answeredWith(err); answered {
		return health.EngineStatusUnavailable(status)
	}
	return health.EngineUnreachable(health.StageEngineDelivery, err.Error())
}

func toolIDsFailure(err error) health.Failure {
	switch status, answered := answeredWith(err); {
	case answered && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed):
		return health.ToolIDsUnsupported(status)
	case answered:
		return health.ToolIDsUnavailable(status)
	case httpclient.KindOf(err) == httpclient.KindMalformed:
		// The engine answers a route that it does not have with a page.
		return health.ToolIDsUnsupported(http.StatusOK)
	default:
		return health.EngineUnreachable(health.StageToolRegistration, err.Error())
	}
}

// answeredWith is the HTTP status of an answer that is not 2xx.
func answeredWith(err error) (status int, answered bool) {
	var fault *httpclient.Error
	if !errors.As(err, &fault) || fault.Kind != httpclient.KindStatus {
		return 0, false
	}
	return fault.Status, true
}

// engineIDs turns an endpoint's own names of tools into the engine's ids.
func engineIDs(server string, names []string) []string {
	ids := make([]string, 0, len(names))
	for _, name := range names {
		ids = append(ids, desired.EngineToolID(server, name))
	}
	return ids
}
