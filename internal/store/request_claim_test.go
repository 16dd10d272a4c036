package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// held is a request that somebody carries out until a minute after monday.
func held(id string) store.Request {
	r := request(id)
	r.Holder, r.Until = "h1", monday.Add(time.Minute)
	return r
}

func TestARequestHasOneHolderUntilItsTimeIsOver(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	begun, _, err := opened.BeginRequest(ctx, held("r"))
	require.NoError(t, err)
	require.False(t, begun.Free(monday.Add(59*time.Second)))
	require.True(t, begun.Free(monday.Add(time.Minute)))
	other := again(t, dir)
	now := monday.Add(30 * time.Second)
	got, claimed, err := other.ClaimRequest(ctx, "r", "h2", now, now.Add(time.Minute))
	require.NoError(t, err)
	require.False(t, claimed)
	require.Equal(t, "h1", got.Holder)
	mine, err := opened.RenewRequest(ctx, "r", "h1", monday.Add(2*time.Minute))
	require.NoError(t, err)
	require.True(t, mine)

	now = monday.Add(2 * time.Minute)
	got, claimed, err = other.ClaimRequest(ctx, "r", "h2", now, now.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, claimed)
	require.Equal(t, "h2", got.Holder)
	require.Equal(t, now, got.StartedAt)
	mine, err = opened.RenewRequest(ctx, "r", "h1", now.Add(time.Hour))
	require.NoError(t, err)
	require.False(t, mine, "who came too late")
	require.NoError(t, opened.ReleaseRequest(ctx, "r", "h1"))
	got, err = opened.Request(ctx, "r")
	require.NoError(t, err)
	require.Equal(t, "h2", got.Holder)
	require.NoError(t, other.ReleaseRequest(ctx, "r", "h2"))
	_, claimed, err = opened.ClaimRequest(ctx, "r", "h3", now, now.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, claimed, "at once")

	_, _, err = opened.ClaimRequest(ctx, "none", "h", now, now.Add(time.Minute))
	require.ErrorIs(t, err, store.ErrNotFound)
	_, _, err = opened.ClaimRequest(ctx, "r", "", now, now.Add(time.Minute))
	require.Error(t, err)
}

func TestOfManyWhoClaimARequestOneGetsIt(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	_, _, err := opened.BeginRequest(t.Context(), request("r"))
	require.NoError(t, err)
	handles := []*store.Store{opened, again(t, dir)}
	claimed := make([]bool, 12)
	var group errgroup.Group
	for i := range claimed {
		group.Go(func() (err error) {
			_, claimed[i], err = handles[i%2].ClaimRequest(t.Context(), "r", fmt.Sprint("h", i), monday, monday.Add(time.Minute))
			return err
		})
	}
	require.NoError(t, group.Wait())
	holders := 0
	for _, mine := range claimed {
		if mine {
			holders++
		}
	}
	require.Equal(t, 1, holders)
}

func TestAFailureThatPassesMakesRoomForTheNextTry(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	_, _, err := opened.BeginRequest(ctx, held("r"))
	require.NoError(t, err)
	failed := store.Outcome{Holder: "h0", Status: 503, Result: []byte("no"), Passing: true, At: monday}
	got, err := opened.FinishRequest(ctx, "r", failed)
	require.NoError(t, err)
	require.True(t, got.FinishedAt.IsZero(), "only its holder may say so")
	failed.Holder = "h1"
	got, err = opened.FinishRequest(ctx, "r", failed)
	require.NoError(t, err)
	require.True(t, got.Passing)
	require.False(t, got.Done())
	require.Equal(t, []byte("no"), got.Result)

	now := monday.Add(time.Second)
	got, claimed, err := opened.ClaimRequest(ctx, "r", "h2", now, now.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, claimed)
	require.True(t, got.FinishedAt.IsZero())
	require.Nil(t, got.Result)
	require.Equal(t, now, got.StartedAt)
	got, err = opened.FinishRequest(ctx, "r", store.Outcome{Holder: "h1", Status: 200, Result: []byte("yes"), At: now})
	require.NoError(t, err)
	require.True(t, got.Done(), "a result is one, whoever has it")
	_, claimed, err = opened.ClaimRequest(ctx, "r", "h3", now.Add(time.Hour), now.Add(2*time.Hour))
	require.NoError(t, err)
	require.False(t, claimed)
}

func TestWhatARequestHasDoneIsKnownToWhoGoesOn(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	_, _, err := opened.BeginRequest(ctx, held("r"))
	require.NoError(t, err)
	plan, err := opened.PlanRequest(ctx, "r", []byte("first"))
	require.NoError(t, err)
	require.Equal(t, "first", string(plan))
	disabled := store.Intent{Workspace: "w", Name: "n", Kind: store.IntentDisabled, By: "p", UpdatedAt: monday}
	first, err := opened.PutIntentFor(ctx, "r", []byte("second"), disabled)
	require.NoError(t, err)
	enabled := disabled
	enabled.Kind = store.IntentEnabled
	last, err := opened.PutIntent(ctx, enabled)
	require.NoError(t, err)

	other := again(t, dir)
	plan, err = other.PlanRequest(ctx, "r", []byte("third"))
	require.NoError(t, err)
	require.Equal(t, "second", string(plan))
	repeated, err := other.PutIntentFor(ctx, "r", []byte("third"), disabled)
	require.NoError(t, err)
	require.Equal(t, first, repeated)
	intents, err := other.Intents(ctx, store.IntentFilter{})
	require.NoError(t, err)
	require.Equal(t, []store.Intent{last}, intents, "the last word stays")
	row, err := other.Request(ctx, "r")
	require.NoError(t, err)
	require.Equal(t, &first, row.Intent)

	_, err = other.PutIntentFor(ctx, "none", nil, disabled)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = other.PlanRequest(ctx, "none", nil)
	require.ErrorIs(t, err, store.ErrNotFound)
	tamper(t, dir, `UPDATE api_request SET intent = plan`)
	_, err = other.Request(ctx, "r")
	requireCorrupt(t, err, "api_request", "intent", `"r"`)
}
