package delivery_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
)

var revisions = rapid.SampledFrom([]string{"r1", "r2", "r3"})

// anyEvent draws an event about a nearby generation: the current one, an older one, a made-up one, or any (0).
func anyEvent(t *rapid.T, e delivery.Entry) delivery.Event {
	revision := revisions.Draw(t, "revision")
	generation := rapid.SampledFrom([]int64{0, e.Generation, e.Generation - 1, e.Generation + 1}).Draw(t, "generation")
	switch rapid.IntRange(0, 8).Draw(t, "event") {
	case 0:
		return delivery.Wanted{Revision: revision, Trigger: "t", Again: rapid.Bool().Draw(t, "again")}
	case 1:
		return delivery.Unwanted{Reason: "removed"}
	case 2:
		return delivery.Started{Revision: revision}
	case 3:
		return delivery.Deferred{Revision: revision, Reason: "busy"}
	case 4:
		return delivery.Delivered{Revision: revision, Generation: generation}
	case 5:
		return delivery.Verified{Revision: revision, Generation: generation}
	case 6:
		return delivery.Broken{Revision: revision, Generation: generation, Failure: failure()}
	case 7:
		return delivery.Pushed{Revision: revision, Generation: generation}
	default:
		return delivery.Doubted{Generation: generation, Reason: "gone"}
	}
}

// witness keeps its own account of what has been proven since the last doubt.
type witness struct {
	pushed     string
	delivered  string
	generation int64
	verified   bool
}

func (w *witness) see(before, after delivery.Entry, ev delivery.Event, out delivery.Outcome) {
	if out.Ignored != "" {
		return
	}
	switch ev := ev.(type) {
	case delivery.Pushed:
		*w = witness{pushed: ev.Revision}
	case delivery.Delivered:
		*w = witness{pushed: w.pushed, delivered: w.pushed, generation: before.Generation}
	case delivery.Verified:
		w.verified = w.verified || w.delivered == ev.Revision
	case delivery.Doubted, delivery.Unwanted:
		*w = witness{}
	case delivery.Wanted:
		if after.DesiredRevision != before.DesiredRevision {
			*w = witness{}
		}
	}
}

func TestPropertyLedger(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e, w, now := delivery.New(), witness{}, start
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Second)
			ev := anyEvent(t, e)
			before := e
			next, out := delivery.Apply(e, ev, now)
			checkStep(t, before, next, ev, out)
			w.see(before, next, ev, out)
			e = next
			if e.State == delivery.Ready {
				require.True(t, w.verified, "ready without verification")
				require.Equal(t, e.DesiredRevision, w.delivered, "ready without a receipt for the desired revision")
				require.Equal(t, e.Generation, w.generation, "ready by a receipt of an older generation")
				require.True(t, e.Usable())
				require.Nil(t, e.Failure)
			}
		}
	})
}

func checkStep(t *rapid.T, before, after delivery.Entry, ev delivery.Event, out delivery.Outcome) {
	require.True(t, after.State.Valid())
	require.Equal(t, before.State, out.From)
	require.Equal(t, after.State, out.To)
	require.GreaterOrEqual(t, after.Generation, before.Generation, "a generation never goes back")
	if out.Ignored != "" {
		require.Equal(t, before, after, "an ignored event changes nothing")
	}
	if after.State == delivery.Registering && before.State != delivery.Registering {
		require.True(t, before.State.MayRegister(), "registering started from %s", before.State)
	}
	if after.State == delivery.Stale && out.Ignored == "" {
		if _, doubted := ev.(delivery.Doubted); doubted {
			require.Empty(t, after.AppliedRevision)
			require.Nil(t, after.Receipt)
			require.Nil(t, after.VerifiedAt)
			require.Greater(t, after.Generation, before.Generation)
		}
	}
	if older(before, ev) {
		require.NotEmpty(t, out.Ignored, "an older revision or generation was applied")
	}
}

// older reports whether the event speaks of another revision or generation than the current ones.
func older(e delivery.Entry, ev delivery.Event) bool {
	stale := func(revision string, generation int64) bool {
		return revision != e.DesiredRevision || (generation != 0 && generation != e.Generation)
	}
	switch ev := ev.(type) {
	case delivery.Started:
		return stale(ev.Revision, 0)
	case delivery.Deferred:
		return stale(ev.Revision, 0)
	case delivery.Pushed:
		return stale(ev.Revision, ev.Generation)
	case delivery.Delivered:
		return stale(ev.Revision, ev.Generation)
	case delivery.Verified:
		return stale(ev.Revision, ev.Generation)
	case delivery.Broken:
		return stale(ev.Revision, ev.Generation)
	case delivery.Doubted:
		return ev.Generation != 0 && ev.Generation != e.Generation
	default:
		return false
	}
}

func TestPropertyAnEntrySurvivesJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e, now := delivery.New(), start
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Second)
			e, _ = delivery.Apply(e, anyEvent(t, e), now)
		}
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		var back delivery.Entry
		require.NoError(t, json.Unmarshal(raw, &back))
		require.Equal(t, e, back)
	})
}
