package endpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

// maxVerifyRequest bounds each request of a verification, so that it ends within the minter's own bound.
const maxVerifyRequest = mcpprobe.DefaultRequestTimeout

// MintActivities are the activities that have tokens minted.
type MintActivities struct {
	resolver *desired.Resolver
	minter   *tokensource.Minter
	timeout  time.Duration
}

// NewMintActivities makes the activities. timeout bounds each request by which a new token is verified; more than 5 s, or
// 0, counts as 5 s.
func NewMintActivities(r *desired.Resolver, m *tokensource.Minter, timeout time.Duration) *MintActivities {
	if timeout <= 0 || timeout > maxVerifyRequest {
		timeout = maxVerifyRequest
	}
	return &MintActivities{resolver: r, minter: m, timeout: timeout}
}

// Register makes the activities known to a worker under their names.
func (a *MintActivities) Register(r worker.ActivityRegistry) {
	r.RegisterActivityWithOptions(a.Mint, activity.RegisterOptions{Name: MintName})
}

// Mint makes sure that there is a token to deliver, and that its endpoint takes it. What the token source or the endpoint
// refuses is a failure that the server does not try again: how long to wait is for the caller to decide.
//
// It records heartbeats. When its context ends it returns at once, and the mint that is under way goes on in this worker: a
// rotated refresh token would be lost otherwise.
func (a *MintActivities) Mint(ctx context.Context, in MintRequest) (MintResult, error) {
	want, same, err := a.resolver.Is(ctx, in.Key, in.Revision)
	if err != nil {
		return MintResult{}, err
	}
	switch {
	case !same:
		return MintResult{DesiredChanged: true}, nil
	case want.Failure != nil:
		return MintResult{}, apperr.FailedFinally(*want.Failure, nil)
	case !want.TokenSource.Mints():
		return MintResult{}, nil
	}
	defer beat(ctx)()
	if in.Force {
		if _, err := a.minter.Drop(ctx, want.Credential, *want.TokenSource, in.Sequence); err != nil {
			return MintResult{}, err
		}
	}
	got, err := a.minter.Ensure(ctx, tokensource.Ask{
		Credential: want.Credential, Source: *want.TokenSource, Sequence: in.Sequence, Revision: want.Revision,
		Verify: func(ctx context.Context, token string) *health.Failure { return a.verify(ctx, want, token) },
	})
	if err != nil {
		return MintResult{}, mintFault(err)
	}
	return MintResult{
		Sequence: got.Sequence, ExpiresAt: moment(got.ExpiresAt), RenewAt: moment(got.RenewAt), Minted: got.Minted,
	}, nil
}

func mintFault(err error) error {
	var failed *tokensource.Error
	if errors.As(err, &failed) {
		return apperr.FailedFinally(failed.Failure, err)
	}
	return fmt.Errorf("see to a token that can be delivered: %w", err)
}

// verify asks the endpoint with the token, as the engine would, in a session that is closed again.
func (a *MintActivities) verify(ctx context.Context, want desired.Resolved, token string) *health.Failure {
	res := mcpprobe.Probe(ctx, mcpprobe.Target{
		URL: want.Config.URL, Headers: want.HeadersWith(token), RequestTimeout: a.timeout,
		Expected: domain.ExpectedTools(want.Profile, want.Metadata),
	})
	if res.Failure == nil || !res.Unreachable {
		return res.Failure
	}
	cause, _ := res.Failure.Details["error"].(string)
	f := health.EndpointUnreachable(cause, res.Failure.Details["causes"])
	return &f
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
