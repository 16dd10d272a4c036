package apperr

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// Failed makes the error by which an activity reports a failure. Its type is the failure's code, so that it reads in
// the clear in the Temporal UI; its message and details are sealed by the converters.
func Failed(f health.Failure, cause error) error {
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Code), temporal.ApplicationErrorOptions{
		NonRetryable: !f.Retryable,
		Cause:        cause,
		Details:      []any{f},
	})
}

// FailedFinally is [Failed] without further tries by the server, whatever the failure's own retryability says: the
// caller takes over from here.
func FailedFinally(f health.Failure, cause error) error {
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Code), temporal.ApplicationErrorOptions{
		NonRetryable: true,
		Cause:        cause,
		Details:      []any{f},
	})
}

// FailureOf reads back what [Failed] made, through the wrappers of the SDK.
func FailureOf(err error) (health.Failure, bool) {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || !app.HasDetails() {
		return health.Failure{}, false
	}
	var f health.Failure
	if app.Details(&f) != nil || f.Code == "" || string(f.Code) != app.Type() {
		return health.Failure{}, false
	}
	return f, true
}

// NotDue makes the benign error by which a look says "nothing to decide": the server retries the attempt after next, at
// no cost in history. The reason is shown by the Temporal UI, so it is in words for people and holds no secret: as the
// error's type it stays in the clear.
func NotDue(reason string, next time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(reason, reason, temporal.ApplicationErrorOptions{
		Category:       temporal.ApplicationErrorCategoryBenign,
		NextRetryDelay: next,
	})
}
