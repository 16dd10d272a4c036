package app

import (
	"context"

	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

// newSources makes the token sources of the process.
func newSources(lc fx.Lifecycle) *tokensource.Sources {
	sources := tokensource.NewSources(tokensource.Options{})
	lc.Append(fx.StopHook(sources.Close))
	return sources
}

// tokenMoved tells whether a variable or a file of this machine holds another token than the one that is current.
func tokenMoved(p ActivityParams, sources *tokensource.Sources) func(context.Context, desired.Resolved, string) bool {
	return func(ctx context.Context, want desired.Resolved, refused string) bool {
		return want.TokenSource != nil && sources.Moved(ctx, *want.TokenSource, want.BearerToken(), refused, p.Keys.MAC())
	}
}

// newMintActivities makes the activities that have tokens minted.
func newMintActivities(p ActivityParams, resolver *desired.Resolver, sources *tokensource.Sources) *endpoint.MintActivities {
	minter := tokensource.NewMinter(tokensource.Params{Store: p.Store, Sources: sources, MAC: p.Keys.MAC()})
	return endpoint.NewMintActivities(resolver, minter, p.Options.Config.Endpoint.Timeout)
}
