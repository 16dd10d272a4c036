package executions_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func allowed(t *testing.T, options ...option) *rig {
	t.Helper()
	r := newRig(t, options...)
	r.allow(policy.Rule{Pattern: "src.*", Effect: policy.Allow})
	return r
}

func TestAHarmlessCallIsAnsweredAtOnceAndAudited(t *testing.T) {
	t.Parallel()
	r := allowed(t)
	report, err := r.Execute(t.Context(), r.who, r.call("echo", r.name))
	require.NoError(t, err)
	r.requireCompleted(report, r.name)
	require.Empty(t, report.Key)
	line := r.audits("call", 1)[0]
	require.Equal(t, "completed", line.Outcome)
	require.Equal(t, "src.echo", line.Address)
	canonical, err := policy.Canonical(r.call("echo", r.name).Arguments)
	require.NoError(t, err)
	require.Equal(t, policy.Digest("src.echo", canonical, line.Policy), line.Digest)
}

func TestAToolThatAsksInADirectCallIsToldCancelAndTheResultSaysSo(t *testing.T) {
	t.Parallel()
	r := allowed(t)
	report, err := r.Execute(t.Context(), r.who, r.call("asking", r.name))
	require.NoError(t, err)
	require.Contains(t, string(report.Result), "told cancel")
	require.Contains(t, executions.Note(report), `"cancel"`)
}

func TestAnUpstreamThatIsNotThereIsUnavailable(t *testing.T) {
	t.Parallel()
	r := allowed(t)
	_, err := r.Execute(t.Context(), r.who, r.call("down", r.name))
	var away *executions.UnavailableError
	require.ErrorAs(t, err, &away)
	require.Equal(t, "upstream", away.What)
}

func TestAnAllowedWriteWithANameIsMadeOnce(t *testing.T) {
	t.Parallel()
	a, b := allowed(t), allowed(t)
	b.who = a.who
	call := a.call("put", a.name)
	call.Request = "request-1"
	var wait sync.WaitGroup
	for _, gateway := range []*rig{a, b, a, b} {
		wait.Go(func() {
			report, err := gateway.Execute(t.Context(), gateway.who, call)
			require.NoError(t, err)
			a.requireCompleted(report, a.name)
		})
	}
	wait.Wait()
	require.Equal(t, 1, world.upstream.did(a.name))

	// Rules that ask for it meanwhile do not make it another call.
	a.allow(policy.Rule{Pattern: "src.*", Effect: policy.Ask})
	report, err := a.Execute(t.Context(), a.who, call)
	require.NoError(t, err)
	a.requireCompleted(report, a.name)

	other := a.call("put", a.name+"-other")
	other.Request = call.Request
	for _, gateway := range []*rig{a, b} {
		_, err = gateway.Execute(t.Context(), gateway.who, other)
		var refused *executions.ArgumentsError
		require.ErrorAs(t, err, &refused)
		require.True(t, refused.Taken)
	}
}

func TestAWriteThatMayHaveRunIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	r := allowed(t)
	call := r.call("lost", r.name)
	call.Request = "request-1"
	for range 2 {
		call.Hold = 200 * time.Millisecond
		report, err := r.Execute(t.Context(), r.who, call)
		require.NoError(t, err)
		require.Equal(t, approval.OutcomeUnknown, report.Outcome.Kind)
	}
	require.Equal(t, 1, world.upstream.did(r.name))

	// One that honours our key is made again, under the same key.
	keyed := r.call("keyed", r.name+"-keyed")
	keyed.Request = "request-2"
	canonical, err := policy.Canonical(keyed.Arguments)
	require.NoError(t, err)
	_, fresh, err := world.store.BeginDirect(t.Context(), []store.Direct{{
		Name: keyed.Request, Identity: r.who.Identity, Address: keyed.Address, Digest: policy.Digest(keyed.Address, canonical, ""), At: time.Now(),
	}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, fresh)
	report, err := r.Execute(t.Context(), r.who, keyed)
	require.NoError(t, err)
	r.requireCompleted(report, r.name+"-keyed")
}

func TestAWriteThatWasNotSentCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	r := allowed(t)
	call := r.call("unsent", r.name)
	call.Request = "request-1"
	for range 2 {
		_, err := r.Execute(t.Context(), r.who, call)
		var away *executions.UnavailableError
		require.ErrorAs(t, err, &away)
	}
	require.Equal(t, 2, world.upstream.tried(r.name))
}

func TestANameIsNoLongerThanIsAllowed(t *testing.T) {
	t.Parallel()
	r := allowed(t)
	call := r.call("put", r.name)
	call.Request = string(make([]rune, 301))
	_, err := r.Execute(t.Context(), r.who, call)
	var refused *executions.ArgumentsError
	require.ErrorAs(t, err, &refused)
}

func TestSecretsAreMaskedByTypeAndByName(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{"pin":{"format":"password"},"deep":{"properties":{"code":{"writeOnly":true}}},"list":{"items":{"format":"password"}}}}`)
	got := executions.Mask(json.RawMessage(
		`{"api_key":"k","deep":{"code":9,"n":12345678901234567890},"list":["a"],"pin":"1234","plain":"<b>","text":"Bearer abcdefghijklmnop"}`), schema)
	require.JSONEq(t, `{"api_key":"[REDACTED]","deep":{"code":"[REDACTED]","n":12345678901234567890},"list":["[REDACTED]"],"pin":"[REDACTED]",`+
		`"plain":"<b>","text":"Bearer [REDACTED]"}`, string(got))
	require.Contains(t, string(got), "12345678901234567890")
	require.Contains(t, string(got), "<b>")
}
