package desired

import (
	"context"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// Activities are the activities of this package.
type Activities struct{ resolver *Resolver }

// NewActivities makes the activities.
func NewActivities(r *Resolver) *Activities { return &Activities{resolver: r} }

// Load reads what is wanted of a connection, without secrets.
func (a *Activities) Load(ctx context.Context, in LoadRequest) (LoadResult, error) {
	got, err := a.resolver.Resolve(ctx, in.Key)
	if errors.Is(err, ErrNothingWanted) {
		return LoadResult{}, nil
	}
	if err != nil {
		return LoadResult{}, err
	}
	return LoadResult{
		Present:       true,
		Revision:      got.Revision,
		EngineID:      got.EngineID,
		Profile:       string(got.Profile),
		Config:        got.Config.Redacted(),
		ExpectedTools: desired.ExpectedTools(got.Profile, got.Metadata),
		TimeoutMillis: int(PushTimeout(got.Config).Milliseconds()),
		Token:         got.Token,
		Account:       got.sharedBy(),
		Failure:       got.Failure,
	}, nil
}

// sharedBy is the account whose workspaces share the config; empty for a config of the connection's own.
func (r Resolved) sharedBy() string {
	if r.Shared {
		return r.Account
	}
	return ""
}
