package executions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
)

// case 28, and 41: nobody is told of an id that is not known
func TestAnUnknownIDIsNotFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, id := range []string{approval.PauseID(approval.NewKey(), 1), approval.NewKey(), "nonsense", ""} {
		_, err := r.Resume(t.Context(), r.who, executions.Answer{ID: id, Action: approval.ActionAccept})
		var gone *executions.NotFoundError
		require.ErrorAs(t, err, &gone)
		require.Equal(t, id, gone.ID)
		_, err = r.Lookup(t.Context(), r.who, id)
		require.ErrorAs(t, err, &gone)
	}
	paused := r.pause("put", r.name)
	_, err := r.Resume(t.Context(), r.who, executions.Answer{ID: approval.PauseID(paused.Key, 7), Action: approval.ActionAccept})
	var gone *executions.NotFoundError
	require.ErrorAs(t, err, &gone)
}

// cases 27 and 50
func TestAnotherSessionOnAnotherGatewayGoesOnWithTheRun(t *testing.T) {
	t.Parallel()
	a, b := newRig(t), newRig(t)
	a.who.Session = "session-a"
	b.who.Identity, b.who.Session = a.who.Identity, "session-b"
	paused := a.pause("put", a.name)
	require.NotEqual(t, paused.Pause.ID, a.pause("put", a.name+"-2").Pause.ID)
	b.requireCompleted(b.resume(b.who, paused.Pause.ID, approval.ActionAccept), a.name)
	a.requireCompleted(a.resume(a.who, paused.Pause.ID, ""), a.name)
	require.Equal(t, 1, world.upstream.did(a.name))
}

// case 51, and 47 for pages
func TestAnotherIdentityHasNoEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	other := r.who
	other.Identity.Organisation = "elsewhere"
	_, err := r.Resume(t.Context(), other, executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
	var forbidden *executions.ForbiddenError
	require.ErrorAs(t, err, &forbidden)
	stranger := r.page()
	stranger.Identity.Account = "somebody-else"
	for _, do := range []func() error{
		func() error { _, err := r.Lookup(t.Context(), stranger, paused.Pause.ID); return err },
		func() error { _, err := r.Paused(t.Context(), stranger, paused.Pause.ID); return err },
		func() error { _, err := r.Settled(t.Context(), stranger, paused.Pause.ID); return err },
		func() error { _, err := r.Cancel(t.Context(), stranger, paused.Key, ""); return err },
		func() error {
			_, err := r.Decide(t.Context(), stranger, executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
			return err
		},
	} {
		var gone *executions.NotFoundError
		require.ErrorAs(t, do(), &gone)
	}
	row, err := r.Paused(t.Context(), r.who, paused.Pause.ID)
	require.NoError(t, err)
	require.True(t, row.Open())
	require.Zero(t, world.upstream.tried(r.name))
}

func TestAnOperatorDecidesForItsOrganisationButNeverByMCP(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	operator := r.page()
	operator.Identity.Account, operator.Operator = "boss", true
	byMCP := operator
	byMCP.Via = "mcp"
	_, err := r.Resume(t.Context(), byMCP, executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
	var forbidden *executions.ForbiddenError
	require.ErrorAs(t, err, &forbidden)
	abroad := operator
	abroad.Identity.Organisation = "elsewhere"
	_, err = r.Lookup(t.Context(), abroad, paused.Pause.ID)
	var gone *executions.NotFoundError
	require.ErrorAs(t, err, &gone)

	report, err := r.Cancel(t.Context(), operator, paused.Pause.ID, "not today")
	require.NoError(t, err)
	require.Equal(t, paused.Key, report.Key)
	after := r.resume(r.who, paused.Pause.ID, "")
	require.Equal(t, approval.OutcomeCancelled, after.Outcome.Kind)
	again, err := r.Cancel(t.Context(), operator, paused.Key, "again")
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeCancelled, again.Outcome.Kind)
}
