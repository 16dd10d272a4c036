package mcpprobe_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

// TestA6AnExpiredSessionThatIsAnsweredWithNothingIsNotBelieved plays an endpoint that answers an expired session within
// milliseconds, without an error, and with nothing in it.
func TestA6AnExpiredSessionThatIsAnsweredWithNothingIsNotBelieved(t *testing.T) {
	t.Parallel()
	empty := func(w http.ResponseWriter, _ *http.Request, in request) { writeResult(w, in, tools("")) }
	f := newFake(t).on(methodList, forgetting(empty))
	got := mcpprobe.Probe(t.Context(), f.target(canary))
	require.Nil(t, got.Failure, "a new session shows what is really there")
	require.Equal(t, []string{search, execute}, got.Present)
	require.Equal(t, http.StatusOK, got.Forgotten, "and that the engine's session is of no use any more")
	require.Equal(t, "session-of-fake-1", got.Session.ID)
}

func TestToolsThatAreReallyMissingAreNoLostSession(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, func(w http.ResponseWriter, _ *http.Request, in request) {
		writeResult(w, in, tools("", search))
	})
	got := mcpprobe.Probe(t.Context(), f.target(canary))
	require.Equal(t, health.CodeToolsMissing, got.Failure.Code)
	require.Equal(t, []string{execute}, got.Missing)
	require.Zero(t, got.Forgotten)
	require.Equal(t, "session-of-earlier", got.Session.ID, "the session is as good as a new one")
	seen := f.requests()
	require.Equal(t, methodDelete, seen[len(seen)-1].Method, "and the new one is ended")
}
