package ask_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient/ask"
)

// answers are what queries are told, one after the other; nil is no answer.
type answers struct {
	client.Client

	told  []error
	asked []ask.Question
}

func (a *answers) QueryWorkflow(ctx context.Context, id, run, name string, args ...any) (converter.EncodedValue, error) {
	a.asked = append(a.asked, ask.Question{WorkflowID: id, RunID: run, Name: name, Args: args})
	if len(a.told) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	err := a.told[0]
	a.told = a.told[1:]
	return nil, err
}

var question = ask.Question{WorkflowID: "w", RunID: "r", Name: "snapshot", Args: []any{1}}

func TestAQueryIsSentAgainWhileItMayBeAnswered(t *testing.T) {
	t.Parallel()
	late, gone := serviceerror.NewDeadlineExceeded("late"), serviceerror.NewNotFound("gone")
	c := &answers{told: []error{late, late, nil}}
	_, err := ask.Query(t.Context(), c, question, ask.Unserved)
	require.NoError(t, err)
	require.Equal(t, []ask.Question{question, question, question}, c.asked)

	c = &answers{told: []error{late, gone, nil}}
	_, err = ask.Query(t.Context(), c, question, ask.Unserved)
	require.True(t, ask.NotFound(err))
	require.Len(t, c.asked, 2)
}

func TestAQueryThatNobodyAnswersEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c := &answers{}
		_, err := ask.Query(ctx, c, question, ask.Late)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, c.asked, 3, "one after two seconds each")
	})
}

func TestErrorsOfTemporalAreToldApart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err                                        error
		notFound, late, unserved, update, cutShort bool
	}{
		{err: nil},
		{err: errors.New("other")},
		{err: serviceerror.NewNotFound("x"), notFound: true},
		{err: serviceerror.NewDeadlineExceeded("x"), late: true, unserved: true},
		{err: context.DeadlineExceeded, late: true, unserved: true},
		{err: context.Canceled},
		{err: serviceerror.NewCanceled("x"), unserved: true},
		{err: serviceerror.NewUnavailable("x"), unserved: true},
		{err: serviceerror.NewWorkflowNotReady("x"), unserved: true},
		{err: serviceerror.NewQueryFailed("x")},
		{err: client.NewWorkflowUpdateServiceTimeoutOrCanceledError(errors.New("x")), update: true},
		{err: temporal.NewApplicationError("x", "AcceptedUpdateCompletedWorkflow"), cutShort: true},
		{err: temporal.NewApplicationError("x", "Other")},
	} {
		errs := []error{tc.err}
		if tc.err != nil {
			errs = append(errs, fmt.Errorf("wrapped: %w", tc.err))
		}
		for _, err := range errs {
			require.Equal(t, tc.notFound, ask.NotFound(err), "%v", err)
			require.Equal(t, tc.late, ask.Late(err), "%v", err)
			require.Equal(t, tc.unserved, ask.Unserved(err), "%v", err)
			require.Equal(t, tc.update, ask.UpdateLate(err), "%v", err)
			require.Equal(t, tc.cutShort, ask.CutShort(err), "%v", err)
		}
	}
}
