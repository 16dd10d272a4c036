package tool_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

func (w *world) try(in tool.CallRequest) (tool.CallResult, error) {
	w.t.Helper()
	return peers.Try[tool.CallResult](w.t, w.activities(), tool.CallName, in)
}

func TestACallIsClaimedBeforeItIsMadeAndStoredBeforeItIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got, err := w.try(w.request())
	require.NoError(t, err)
	row, err := w.store.Call(t.Context(), w.key, 1)
	require.NoError(t, err)
	sum := sha256.Sum256(row.Result)
	require.Equal(t, tool.CallResult{State: tool.StateDone, Digest: hex.EncodeToString(sum[:]), Bytes: len(row.Result)}, got)
	require.Contains(t, string(row.Result), "ok")
	require.Equal(t, w.key+"/1", row.Idempotency)
	require.Len(t, w.calls, 1)
	require.Equal(t, w.key+"/1", w.calls[0].Key)
	require.JSONEq(t, `{"to":"bob"}`, string(w.calls[0].Arguments))
}

func TestACallThatIsDoneIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.try(w.request())
	require.NoError(t, err)
	again := w.request()
	again.Fence = 2
	second, err := w.try(again)
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Len(t, w.calls, 1)
}

func TestAClaimedCallIsMadeByAHigherFenceAlone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		fence int64
		want  tool.CallState
		calls int
	}{{"the same fence", 1, tool.StateClaimed, 0}, {"a higher one", 2, tool.StateDone, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			earlier := w.claimed(1)
			in := w.request()
			in.Fence = tc.fence
			got, err := w.try(in)
			require.NoError(t, err)
			require.Equal(t, tc.want, got.State)
			require.Len(t, w.calls, tc.calls)
			if tc.want == tool.StateDone {
				earlier.Result, earlier.DoneAt = []byte(`{"late":true}`), time.Now()
				require.ErrorIs(t, w.store.FinishCall(t.Context(), earlier), store.ErrLeaseLost)
			}
		})
	}
}

func TestWhatBecameOfACallWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial tcp: CANARY")
	for _, tc := range []struct {
		name string
		err  error
		want tool.CallState
		code string
		kept bool // the claim
	}{
		{"cut off", &catalog.CallError{Sent: true, Code: "upstream_timeout", Cause: secret}, tool.StateClaimed, "upstream_timeout", true},
		{"not reached", &catalog.CallError{Code: "upstream_unreachable", Cause: secret}, tool.StateNone, "upstream_unreachable", false},
		{"refused", &catalog.CallError{Code: "upstream_unauthorized", Answered: true, Cause: secret}, tool.StateRefused, "upstream_unauthorized", false},
		{
			"refused by the tool", &catalog.CallError{Code: "upstream_refused", Sent: true, Answered: true, Message: "no such folder", Cause: secret},
			tool.StateRefused, "upstream_refused", true,
		},
		{"no such tool", &catalog.CallError{Code: "upstream_refused", Answered: true, Cause: catalog.ErrNoTool}, tool.StateNone, tool.CodeNoTool, false},
		{
			"given up while the tool was looked for", &catalog.CallError{Code: "upstream_refused", Answered: true, Cause: context.Canceled},
			tool.StateNone, "upstream_timeout", false,
		},
		{"something else", secret, tool.StateClaimed, "upstream_protocol", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.onCall = func(context.Context, catalog.CallRequest) (catalog.CallResult, error) {
				return catalog.CallResult{}, tc.err
			}
			got, err := w.try(w.request())
			require.NoError(t, err)
			require.Equal(t, tc.want, got.State)
			require.Equal(t, tc.code, got.Code)
			require.NotEmpty(t, got.Message)
			require.NotContains(t, got.Message, "CANARY")
			_, err = w.store.Call(t.Context(), w.key, 1)
			require.Equal(t, tc.kept, err == nil)
		})
	}
}

func TestAStoreThatFailsLeavesItToWhoComesNext(t *testing.T) {
	t.Parallel()
	t.Run("no claim, no call", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.store.claim = 1
		_, err := w.try(w.request())
		require.ErrorContains(t, err, "claim call")
		require.Empty(t, w.calls)
	})
	t.Run("a claim that cannot be given back stays", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.store.drop = 1
		w.onCall = func(context.Context, catalog.CallRequest) (catalog.CallResult, error) {
			return catalog.CallResult{}, &catalog.CallError{Code: "upstream_unreachable"}
		}
		_, err := w.try(w.request())
		require.ErrorContains(t, err, "give claim of call back")
		_, err = w.store.Call(t.Context(), w.key, 1)
		require.NoError(t, err)
	})
	t.Run("a result is stored when it can be", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.store.finish = 2
		got, err := w.try(w.request())
		require.NoError(t, err)
		require.Equal(t, tool.StateDone, got.State)
	})
}

func TestOnlyTheCallThatWasDecidedOnIsMade(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		edit func(*tool.CallRequest)
		code string
	}{
		{"another digest", func(in *tool.CallRequest) { in.Digest = "d2" }, tool.CodeOtherCall},
		{"another tool", func(in *tool.CallRequest) { in.Address = "mail.delete" }, tool.CodeOtherCall},
		{"not stored", func(in *tool.CallRequest) { in.Key = approval.NewKey() }, tool.CodeNoExecution},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			in := w.request()
			tc.edit(&in)
			got, err := w.try(in)
			require.NoError(t, err)
			require.Equal(t, tool.StateRefused, got.State)
			require.Equal(t, tc.code, got.Code)
			require.Empty(t, w.calls)
		})
	}
}

func TestACallOfAClosedExecutionIsNotMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.store.RecordOutcome(t.Context(), store.Ending{
		Key: w.key, Outcome: approval.Outcome{Kind: approval.OutcomeFailed, At: time.Now()}, Retained: time.Now().Add(time.Hour),
	}))
	got, err := w.try(w.request())
	require.NoError(t, err)
	require.Equal(t, tool.StateRefused, got.State)
	require.Equal(t, tool.CodeSettled, got.Code)
	require.Empty(t, w.calls)
}

func TestACallThatTheRulesHaveComeToDenyIsNotMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.denied = "rules[0]"
	got, err := w.try(w.request())
	require.NoError(t, err)
	require.Equal(t, tool.StateRefused, got.State)
	require.Equal(t, tool.CodeDenied, got.Code)
	require.Contains(t, got.Message, "rules[0]")
	require.Empty(t, w.calls)
	_, err = w.store.Store.Call(t.Context(), w.key, 1)
	require.ErrorIs(t, err, store.ErrNotFound, "the claim is given back")

	// What has been done stays done.
	w.finished(w.claimed(1), `{"content":[]}`)
	got, err = w.try(w.request())
	require.NoError(t, err)
	require.Equal(t, tool.StateDone, got.State)
}

func TestACallThatTakesTooLongIsCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onCall = func(ctx context.Context, _ catalog.CallRequest) (catalog.CallResult, error) {
		<-ctx.Done()
		return catalog.CallResult{}, &catalog.CallError{Sent: true, Code: "upstream_protocol", Cause: ctx.Err()}
	}
	in := w.request()
	in.Timeout = time.Millisecond
	got, err := w.try(in)
	require.NoError(t, err)
	require.Equal(t, tool.CallResult{State: tool.StateClaimed, Code: "upstream_timeout", Message: got.Message}, got)
}

func TestAResultThatIsTooLongIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onCall = func(context.Context, catalog.CallRequest) (catalog.CallResult, error) {
		return catalog.CallResult{Result: make([]byte, 64<<20+1)}, nil
	}
	got, err := w.try(w.request())
	require.NoError(t, err)
	require.True(t, got.ToolError)
	row, err := w.store.Call(t.Context(), w.key, 1)
	require.NoError(t, err)
	require.True(t, json.Valid(row.Result))
	require.Contains(t, string(row.Result), "67108865 bytes")
}

func TestATenMebibyteResultPassesThroughTheStoreAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onCall = func(context.Context, catalog.CallRequest) (catalog.CallResult, error) {
		return catalog.CallResult{Result: make([]byte, 10<<20)}, nil
	}
	got, err := w.try(w.request())
	require.NoError(t, err)
	require.Equal(t, 10<<20, got.Bytes)
	told, err := json.Marshal(got)
	require.NoError(t, err)
	require.Less(t, len(told), 500)
}

func TestSettlingReadsWhatIsKnown(t *testing.T) {
	t.Parallel()
	settle := func(w *world, grace time.Duration) tool.CallResult {
		got, err := peers.Try[tool.CallResult](w.t, w.activities(), tool.SettleName, tool.SettleRequest{Key: w.key, Number: 1, Grace: grace})
		require.NoError(w.t, err)
		return got
	}
	w := newWorld(t)
	require.Equal(t, tool.CallResult{State: tool.StateNone}, settle(w, time.Hour), "nothing is waited for where nothing was begun")
	call := w.claimed(1)
	require.Equal(t, tool.CallResult{State: tool.StateClaimed}, settle(w, 0))
	late := make(chan struct{})
	go func() {
		defer close(late)
		w.finished(call, `{}`)
	}()
	require.Equal(t, tool.StateDone, settle(w, time.Minute).State)
	<-late
}
