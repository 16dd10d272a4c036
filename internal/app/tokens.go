package app

import (
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

// newMintActivities makes the activities that have tokens minted.
func newMintActivities(p ActivityParams, resolver *desired.Resolver) *endpoint.MintActivities {
	sources := tokensource.NewSources(tokensource.Options{})
	p.Lifecycle.Append(fx.StopHook(sources.Close))
	minter := tokensource.NewMinter(tokensource.Params{Store: p.Store, Sources: sources, MAC: p.Keys.MAC()})
	return endpoint.NewMintActivities(resolver, minter, p.Options.Config.Endpoint.Timeout)
}
