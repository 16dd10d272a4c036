package endpoint

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/holdfast-mcp/holdfast/activities/desired"
)

// Activities are the activities of this package.
type Activities struct {
	resolver *desired.Resolver
	prober   *Prober
}

// NewActivities makes the activities.
func NewActivities(r *desired.Resolver, p *Prober) *Activities {
	return &Activities{resolver: r, prober: p}
}

// Probe asks the endpoint of a connection for its tools.
func (a *Activities) Probe(ctx context.Context, in ProbeRequest) (ProbeResult, error) {
	want, same, err := a.resolver.Is(ctx, in.Key, in.Revision)
	if err != nil {
		return ProbeResult{}, err
	}
	if !same {
		return ProbeResult{DesiredChanged: true}, nil
	}
	out, err := a.prober.Probe(ctx, want)
	return out.ProbeResult, err
}

// Register makes the activities known to a worker under their names.
func (a *Activities) Register(r worker.ActivityRegistry) {
	r.RegisterActivityWithOptions(a.Probe, activity.RegisterOptions{Name: ProbeName})
}
