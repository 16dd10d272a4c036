package temporalclient_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

func TestModuleStartsAndStops(t *testing.T) {
	t.Parallel()
	var dialed client.Client
	app := fxtest.New(t, temporalclient.Module, fx.Supply(plainOptions(sharedServer(t).Address())), fx.Populate(&dialed))

	app.RequireStart()
	_, err := dialed.CheckHealth(t.Context(), nil)
	require.NoError(t, err)
	app.RequireStop()
}

func TestModuleDoesNotStartWithoutAServer(t *testing.T) {
	t.Parallel()
	options := plainOptions("127.0.0.1:" + strconv.Itoa(unusedPort(t)))
	options.DialTimeout = 200 * time.Millisecond
	var dialed client.Client
	app := fx.New(temporalclient.Module, fx.NopLogger, fx.Supply(options), fx.Populate(&dialed))
	require.NoError(t, app.Err())

	err := app.Start(t.Context())

	var failed *temporalclient.DialError
	require.ErrorAs(t, err, &failed)
}

func TestModuleRefusesToSendPlainPayloadsUnasked(t *testing.T) {
	t.Parallel()
	var dialed client.Client
	app := fx.New(temporalclient.Module, fx.NopLogger, fx.Populate(&dialed),
		fx.Supply(temporalclient.Options{Env: env{}, NoConfigFile: true}))
	require.ErrorIs(t, app.Err(), temporalclient.ErrNoSealingKey)
}
