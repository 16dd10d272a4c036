package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func question() approval.Request { return approval.Request{Kind: approval.KindForm, Message: "Which?"} }

// askingTool is a tool that asks and tells what it was answered.
func askingTool(times int, told *[]approval.Decision) func(context.Context, catalog.CallRequest) (catalog.CallResult, error) {
	return func(ctx context.Context, call catalog.CallRequest) (catalog.CallResult, error) {
		for range times {
			d, err := call.Elicit(ctx, question())
			if err != nil {
				return catalog.CallResult{Result: json.RawMessage(`{}`), ToolError: true}, nil //nolint:nilerr // the tool's own answer
			}
			*told = append(*told, d)
		}
		return catalog.CallResult{Result: json.RawMessage(`{}`)}, nil
	}
}

// opens is an asker whose pause is in the store, and ends as the test says.
func (w *world) opens(end func(*approval.Pause)) func(string, approval.Request) (approval.Pause, error) {
	return func(_ string, q approval.Request) (approval.Pause, error) {
		n := len(w.asked)
		now := time.Now()
		pause := approval.Pause{
			ID: approval.PauseID(w.key, n), Number: n, Request: q, CreatedAt: now, Deadline: now.Add(time.Hour),
		}
		err := w.store.PutPause(w.t.Context(), store.PauseRow{
			Pause: pause, Key: w.key, Identity: approval.Identity{Account: "ann", Organisation: "default"}, Address: "mail.send",
		})
		if err != nil {
			return approval.Pause{}, err
		}
		ended := pause
		end(&ended)
		return pause, w.store.DecidePause(w.t.Context(), pause.ID, ended)
	}
}

func TestAToolIsToldWhatAPersonDecided(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		end  func(*approval.Pause)
		want approval.Decision
	}{
		{"accepted", func(p *approval.Pause) {
			p.Decision = &approval.Decision{Action: approval.ActionAccept, Content: json.RawMessage(`{"n":1}`), By: "ann"}
		}, approval.Decision{Action: approval.ActionAccept, Content: json.RawMessage(`{"n":1}`), By: "ann"}},
		{
			"declined", func(p *approval.Pause) { p.Decision = &approval.Decision{Action: approval.ActionDecline, By: "ann"} },
			approval.Decision{Action: approval.ActionDecline, By: "ann"},
		},
		{
			"expired", func(p *approval.Pause) { p.Expired = true },
			approval.Decision{Action: approval.ActionDecline, Reason: tool.ReasonTimeout},
		},
		{"dropped", func(p *approval.Pause) { p.Dropped = true }, approval.Decision{Action: approval.ActionCancel}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.onAsk = w.opens(tc.end)
			var told []approval.Decision
			w.onCall = askingTool(1, &told)
			_, err := w.try(w.request())
			require.NoError(t, err)
			require.Len(t, told, 1)
			told[0].At = time.Time{}
			require.Equal(t, tc.want, told[0])
		})
	}
}

func TestTheClockOfACallStandsStillWhileAPersonIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	released := make(chan struct{})
	w.onAsk = func(id string, q approval.Request) (approval.Pause, error) {
		// Longer than the call's own time.
		<-time.After(400 * time.Millisecond)
		close(released)
		return w.opens(func(p *approval.Pause) { p.Decision = &approval.Decision{Action: approval.ActionAccept} })(id, q)
	}
	var told []approval.Decision
	w.onCall = askingTool(1, &told)
	in := w.request()
	in.Timeout = 300 * time.Millisecond
	got, err := w.try(in)
	require.NoError(t, err)
	<-released
	require.Equal(t, tool.StateDone, got.State)
	require.Len(t, told, 1)
}

func TestQuestionsHaveTheSameNamesInEachTry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onAsk = w.opens(func(p *approval.Pause) { p.Decision = &approval.Decision{Action: approval.ActionAccept} })
	var told []approval.Decision
	w.onCall = askingTool(2, &told)
	_, err := w.try(w.request())
	require.NoError(t, err)
	names := append([]string{}, w.asked...)
	require.Len(t, names, 2)
	require.NotEqual(t, names[0], names[1])

	again := newWorld(t)
	again.onAsk = again.opens(func(p *approval.Pause) { p.Decision = &approval.Decision{Action: approval.ActionAccept} })
	again.onCall = askingTool(2, &told)
	_, err = again.try(again.request())
	require.NoError(t, err)
	require.Equal(t, names, again.asked)
}

func TestAToolThatMayNotAskIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onAsk = func(string, approval.Request) (approval.Pause, error) { return approval.Pause{}, errors.New("not now") }
	var told []approval.Decision
	w.onCall = askingTool(1, &told)
	got, err := w.try(w.request())
	require.NoError(t, err)
	require.True(t, got.ToolError)
	require.Empty(t, told)
}
