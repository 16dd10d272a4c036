package e2e_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	activity "github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

// busyEngine is a real engine with a model that calls a tool of the connection again and again, and the activities that
// deliver to it.
type busyEngine struct {
	*peers.Peers

	t          *testing.T
	activities *activity.Activities
	key        store.Key
	user       *testkit.EngineUser
	model      *simulator.Model
	generation int64
}

func newBusyEngine(t *testing.T) *busyEngine {
	t.Helper()
	model, err := simulator.NewModel(simulator.ModelOptions{Tool: "cloud_search_capabilities"})
	require.NoError(t, err)
	t.Cleanup(model.Close)
	engines <- struct{}{}
	t.Cleanup(func() { <-engines })
	engine := testkit.RealEngineWith(t, model.Configuration())
	b := &busyEngine{Peers: peers.New(t, peers.Options{}), t: t, model: model}
	b.PutEngine(store.Engine{ID: peers.EngineID, BaseURL: engine.BaseURL()})
	b.activities = activity.NewActivities(activity.Params{
		Store: b.Store, Resolver: b.Resolver, Prober: endpoint.NewProber(b.Store, soon), Log: slog.New(slog.DiscardHandler),
		Settings: activity.Settings{PollInterval: time.Second, ProbeInterval: time.Minute, EngineTimeout: soon},
	})
	t.Cleanup(b.activities.Close)
	b.key = b.Key()
	b.user = testkit.NewEngineUser(t, engine.BaseURL(), b.key.Directory)
	return b
}

// renew delivers with another bearer, as after a renewal of the credential.
func (b *busyEngine) renew(edits ...func(*activity.RegisterRequest)) activity.RegisterResult {
	b.t.Helper()
	b.generation++
	token := fmt.Sprintf("Bearer token-%d", b.generation)
	in := activity.RegisterRequest{
		Key: b.key, Revision: b.Want(b.key, peers.Header("Authorization", token)), Generation: b.generation,
		QuietWaitMillis: 5000,
	}
	for _, edit := range edits {
		edit(&in)
	}
	got, err := peers.Try[activity.RegisterResult](b.t, b.activities, activity.RegisterName, in)
	require.NoError(b.t, err)
	return got
}

// warm takes the first turn of an engine, which takes seconds.
func (b *busyEngine) warm() {
	b.t.Helper()
	session, err := b.user.Session(b.t.Context())
	require.NoError(b.t, err)
	turn, err := b.user.Turn(b.t.Context(), session, "warm up")
	require.NoError(b.t, err)
	require.Len(b.t, turn.Calls, 1)
	require.True(b.t, turn.Calls[0].OK(), turn.Calls[0].Text)
}

// thinking reports whether the model is in the middle of a turn.
func (b *busyEngine) thinking() bool {
	turns := b.model.Turns()
	return len(turns) > 0 && turns[len(turns)-1].Ended.IsZero()
}

func TestNoToolCallFailsByReRegistrationsInQuietMoments(t *testing.T) {
	t.Parallel()
	const renewals = 20
	b := newBusyEngine(t)
	require.Equal(t, activity.RegisterDelivered, b.renew().Outcome)
	b.warm()

	drive := b.user.Drive(testkit.DriveOptions{Every: 200 * time.Millisecond, Even: true})
	for n := range renewals {
		// Half of them begin when a turn is under way, half when one has just ended.
		turns := len(drive.Report().Turns)
		testkit.Eventually(t, unhurried, func() bool { return len(drive.Report().Turns) > turns }, "a turn ends")
		if n%2 == 0 {
			testkit.Eventually(t, unhurried, b.thinking, "another one is under way")
		}
		require.Equal(t, activity.RegisterDelivered, b.renew().Outcome, "renewal %d", n)
	}
	report := drive.Stop()
	require.Empty(t, report.Failures, "of %d calls", report.Calls)
	require.GreaterOrEqual(t, report.Calls, renewals)
	require.Equal(t, "Bearer token-21", b.Endpoint.LastHeader().Get("Authorization"))
}

func TestATurnThatGoesOnIsSparedUntilItEndsOrAPushIsForced(t *testing.T) {
	t.Parallel()
	b := newBusyEngine(t)
	require.Equal(t, activity.RegisterDelivered, b.renew().Outcome)
	b.warm()
	b.model.SetThink(100 * time.Millisecond)
	b.model.SetCalls(1 << 20)
	session, err := b.user.Session(t.Context())
	require.NoError(t, err)
	require.NoError(t, b.user.Prompt(t.Context(), session, "go on and on"))
	b.awaitCalls(session, 3)

	got := b.renew(func(in *activity.RegisterRequest) { in.QuietWaitMillis = 1500 })
	require.Equal(t, activity.RegisterEngineBusy, got.Outcome)
	require.Empty(t, failedCalls(b.awaitCalls(session, 3)), "nothing was pushed")

	got = b.renew(func(in *activity.RegisterRequest) { in.Force = true })
	require.Equal(t, activity.RegisterDelivered, got.Outcome)
	// The step that had bound its tools to the old client fails; the next one binds the new client's.
	require.LessOrEqual(t, len(failedCalls(b.awaitCalls(session, 3))), 1)

	b.model.SetCalls(1)
	require.Equal(t, activity.RegisterDelivered, b.renew().Outcome, "the turn has ended")
	calls, err := b.user.Calls(t.Context(), session)
	require.NoError(t, err)
	require.LessOrEqual(t, len(failedCalls(calls)), 1)
}

// awaitCalls waits for n more calls of a session to end and returns all that have ended.
func (b *busyEngine) awaitCalls(session string, n int) []testkit.ToolCall {
	b.t.Helper()
	want := len(b.endedCalls(session)) + n
	var calls []testkit.ToolCall
	testkit.Eventually(b.t, unhurried, func() bool {
		calls = b.endedCalls(session)
		return len(calls) >= want
	}, "the turn goes on")
	return calls
}

func (b *busyEngine) endedCalls(session string) []testkit.ToolCall {
	b.t.Helper()
	calls, err := b.user.Calls(b.t.Context(), session)
	require.NoError(b.t, err)
	return slices.DeleteFunc(calls, func(c testkit.ToolCall) bool { return !c.OK() && c.Text == "" })
}

// failedCalls are those of ended calls that went wrong.
func failedCalls(calls []testkit.ToolCall) []testkit.ToolCall {
	return slices.DeleteFunc(slices.Clone(calls), testkit.ToolCall.OK)
}
