package diagnosis

import (
	"context"
	"maps"
	"strings"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

// probe asks the endpoint in a session of its own, ended by DELETE. Callers who ask for the same revision at the same
// time share it.
func (r *Reader) probe(ctx context.Context, want desired.Resolved) (*mcpprobe.Result, error) {
	flight := strings.Join([]string{want.Key.Workspace, want.Key.Name, want.Key.Directory, want.Revision}, "\x00")
	answer := r.flights.DoChan(flight, func() (any, error) {
		// The first caller may give up; the others must not lose their answer with it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mcpprobe.Bound(r.p.EndpointTimeout))
		defer cancel()
		result := mcpprobe.Probe(ctx, mcpprobe.Target{
			URL: want.Config.URL, Headers: maps.Clone(want.Config.Headers), RequestTimeout: r.p.EndpointTimeout,
			Expected: domain.ExpectedTools(want.Profile, want.Metadata),
		})
		return &result, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-answer:
		return got.Val.(*mcpprobe.Result), nil //nolint:forcetypeassert // the flight above returns nothing else
	}
}

// direct shows the probe.
func (f *facts) direct() Direct {
	d := Direct{Source: sourceToolsList, Listing: listing(f.expected), Error: f.live.notProbed}
	if f.options.Probe && f.engine == nil {
		d.Error = "not asked before the config can be delivered"
	}
	result := f.live.probe
	if result == nil {
		return d
	}
	d.Checked, d.Trace, d.Failure = result.Checked, &result.Trace, result.Failure
	if result.Failure != nil {
		d.Error = result.Failure.Cause()
		if d.Error == "" {
			d.Error = result.Failure.Message
		}
	}
	if result.Checked {
		d.Present, d.Missing = orEmpty(result.Present), orEmpty(result.Missing)
	}
	return d
}

// directFailure is what a probe means for the connection. One look that did not reach the endpoint proves nothing: the
// ledger's own looks decide.
func (l live) directFailure() *health.Failure {
	if l.probe == nil || l.probe.Unreachable {
		return nil
	}
	return l.probe.Failure
}
