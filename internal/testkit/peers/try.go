package peers

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// tryWithin bounds one try of an activity.
const tryWithin = time.Minute

// Registrar is a set of activities.
type Registrar interface{ Register(worker.ActivityRegistry) }

// NewEnvironment makes an environment that knows the activities.
func NewEnvironment(sets ...Registrar) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(tryWithin)
	for _, set := range sets {
		set.Register(env)
	}
	return env
}

// Try runs one try of an activity by its name.
func Try[T any](tb testing.TB, set Registrar, name string, in any) (T, error) {
	tb.Helper()
	var out T
	value, err := NewEnvironment(set).ExecuteActivity(name, in)
	if err != nil {
		return out, err
	}
	require.NoError(tb, value.Get(&out))
	return out, nil
}

// RequireFailure reads the failure that an activity reported and requires its code.
func RequireFailure(tb testing.TB, err error, code health.Code) health.Failure {
	tb.Helper()
	require.Error(tb, err)
	f, ok := apperr.FailureOf(err)
	require.True(tb, ok, "no failure in %v", err)
	require.Equal(tb, code, f.Code)
	return f
}

// RequireNotDue requires that a look found nothing to decide, and returns its words and the wait that it asked for.
func RequireNotDue(tb testing.TB, err error) (reason string, wait time.Duration) {
	tb.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(tb, err, &app, "decided, or failed")
	require.Equal(tb, temporal.ApplicationErrorCategoryBenign, app.Category(), app.Error())
	require.False(tb, app.NonRetryable())
	require.Positive(tb, app.NextRetryDelay())
	return app.Type(), app.NextRetryDelay()
}
