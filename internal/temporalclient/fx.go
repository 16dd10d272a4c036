package temporalclient

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.uber.org/fx"
)

// Module provides a client.Client from the Options in the graph. The server is waited for when the graph starts, so that a
// graph can be built and checked without one; the client is closed when the graph stops, after everything that was made with
// it.
var Module = fx.Module("temporalclient", fx.Provide(provideClient))

// Params are what the client needs.
type Params struct {
	fx.In

	Lifecycle fx.Lifecycle
	Options   Options
}

func provideClient(p Params) (client.Client, error) {
	lazy, err := NewLazy(p.Options)
	if err != nil {
		return nil, err
	}
	p.Lifecycle.Append(fx.Hook{
		OnStart: func(ctx context.Context) error { return WaitReady(ctx, lazy, p.Options) },
		OnStop: func(context.Context) error {
			lazy.Close()
			return nil
		},
	})
	return lazy, nil
}
