package temporalclient

import (
	"context"

	"github.com/tink-crypto/tink-go/v2/tink"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.uber.org/fx"
)

// Module provides a client.Client from the Options in the graph. The server is waited for when the graph starts, so that a
// graph can be built and checked without one; the client is closed when the graph stops, after everything that was made with
// it.
var Module = fx.Module("temporalclient", fx.Provide(provideClient))

// Params are what the client needs. What the graph offers beside the options fills the fields that the options leave empty.
type Params struct {
	fx.In

	Lifecycle fx.Lifecycle
	Options   Options

	AEAD         tink.AEAD                       `optional:"true"`
	Logger       log.Logger                      `optional:"true"`
	Metrics      client.MetricsHandler           `optional:"true"`
	Interceptors []interceptor.ClientInterceptor `optional:"true"`
}

// options are the options with the gaps filled.
func (p Params) options() Options {
	filled := p.Options
	if filled.AEAD == nil && !filled.Plain {
		filled.AEAD = p.AEAD
	}
	if filled.Logger == nil {
		filled.Logger = p.Logger
	}
	if filled.Metrics == nil {
		filled.Metrics = p.Metrics
	}
	if filled.Interceptors == nil {
		filled.Interceptors = p.Interceptors
	}
	return filled
}

func provideClient(p Params) (client.Client, error) {
	options := p.options()
	lazy, err := NewLazy(options)
	if err != nil {
		return nil, err
	}
	p.Lifecycle.Append(fx.Hook{
		OnStart: func(ctx context.Context) error { return WaitReady(ctx, lazy, options) },
		OnStop: func(context.Context) error {
			lazy.Close()
			return nil
		},
	})
	return lazy, nil
}
