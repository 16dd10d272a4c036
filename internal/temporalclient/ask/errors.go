package ask

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Is reports whether an error is, or wraps, one of a type.
func Is[T error](err error) bool {
	_, is := errors.AsType[T](err)
	return is
}

// NotFound reports whether Temporal knows no such workflow, or none that runs where one has to.
func NotFound(err error) bool { return Is[*serviceerror.NotFound](err) }

// Late reports whether a request was not answered in time: neither by a worker nor, where that did not answer, by Temporal.
func Late(err error) bool {
	return Is[*serviceerror.DeadlineExceeded](err) || errors.Is(err, context.DeadlineExceeded)
}

// Unserved reports whether a request was not served in time, or did not reach anybody.
func Unserved(err error) bool {
	return Late(err) || Is[*serviceerror.Canceled](err) || Is[*serviceerror.Unavailable](err) || Is[*serviceerror.WorkflowNotReady](err)
}

// UpdateLate reports whether an update was not answered in time. It may have been accepted.
func UpdateLate(err error) bool { return Is[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err) }

// CutShort reports whether a run took an update and ended before it answered. The same update sent again meets the next run, or the end.
func CutShort(err error) bool {
	app, is := errors.AsType[*temporal.ApplicationError](err)
	return is && app.Type() == "AcceptedUpdateCompletedWorkflow"
}
