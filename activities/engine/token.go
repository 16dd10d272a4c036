package engine

import (
	"context"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

// ForceBefore is how long before the delivered token expires its successor is delivered although a session uses the
// client: with an expired one every call fails anyway.
const ForceBefore = 2 * time.Second

// token looks at the token of a connection that is ready. It decides when one is to be minted, and when a newer one than
// the engine was given can be delivered; due is false when neither is the case. A client that a session uses is left
// alone for as long as its token works.
func (l *look) token(ctx context.Context) (res InspectResult, due bool, err error) {
	seen, have := l.in.Token, l.want.Token
	if seen == nil || have == nil {
		return InspectResult{}, false, nil
	}
	now := l.now()
	if have.Sequence != 0 && have.Sequence != seen.Sequence {
		res = InspectResult{Decision: DecisionTokenRenewed, Status: engineapi.StatusConnected}
		most := l.untilForced(l.settings.RestSpan)
		if most <= 0 {
			return res, true, nil
		}
		rested, err := l.rested(ctx, most)
		return res, rested, err
	}
	if seen.ExpiresAt != nil && !now.Before(*seen.ExpiresAt) {
		f := health.InvalidToken(health.StageTransportAuth, health.AliasTokenExpired,
			"The delivered token has expired, and its source has given no other one.")
		return InspectResult{Decision: DecisionEndpointFailed, Status: engineapi.StatusConnected, Failure: &f}, true, nil
	}
	if l.tokenPause() > 0 {
		return InspectResult{}, false, nil
	}
	due = l.tokenless() || (have.RenewAt != nil && !now.Before(*have.RenewAt)) || l.tokenMoved(ctx)
	return InspectResult{Decision: DecisionTokenDue, Status: engineapi.StatusConnected}, due, nil
}

// tokenless reports whether the config's source has given no token that may be used.
func (l *look) tokenless() bool { return l.want.Token != nil && l.want.Token.Sequence == 0 }

// tokenPause is how long nothing is to be tried because of the token.
func (l *look) tokenPause() time.Duration {
	if seen := l.in.Token; seen != nil && seen.RetryAt != nil {
		return max(seen.RetryAt.Sub(l.now()), 0)
	}
	return 0
}

// tokenMoved reports whether a variable or a file of this machine holds another token than the store does.
func (l *look) tokenMoved(ctx context.Context) bool {
	seen := l.in.Token
	refused := seen.Refused
	if seen.RefusedUntil != nil && !l.now().Before(*seen.RefusedUntil) {
		refused = ""
	}
	return l.moved != nil && l.moved(ctx, l.want, refused)
}

// tokenWait is how long a look may wait before the token wants another one.
func (l *look) tokenWait(wait time.Duration) time.Duration {
	seen, have := l.in.Token, l.want.Token
	if seen == nil || have == nil {
		return wait
	}
	if have.Sequence != 0 && have.Sequence != seen.Sequence {
		// There is one to deliver as soon as no session uses the client.
		return l.untilForced(min(wait, minimumWait))
	}
	if seen.ExpiresAt != nil {
		wait = min(wait, seen.ExpiresAt.Sub(l.now()))
	}
	if have.RenewAt != nil {
		wait = min(wait, max(have.RenewAt.Sub(l.now()), l.tokenPause()))
	}
	return wait
}

// untilForced is how long the sessions that use the client are waited for: until its token is of no use any more.
func (l *look) untilForced(most time.Duration) time.Duration {
	if seen := l.in.Token; seen != nil && seen.ExpiresAt != nil {
		return min(most, seen.ExpiresAt.Add(-ForceBefore).Sub(l.now()))
	}
	return most
}

// recoverToken looks at the token of a connection that failed: another one than it failed with is a cause that changed.
func (l *look) recoverToken(ctx context.Context) (InspectResult, bool) {
	seen, have := l.in.Token, l.want.Token
	if seen == nil || have == nil || l.tokenPause() > 0 {
		return InspectResult{}, false
	}
	if have.Sequence != 0 && have.Sequence != seen.Tried {
		return InspectResult{Decision: DecisionTokenRenewed, Status: l.in.Status}, true
	}
	return InspectResult{Decision: DecisionTokenDue, Status: l.in.Status}, l.tokenMoved(ctx)
}
