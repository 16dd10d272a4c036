package mcpprobe_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

// sessions are the two ways to ask for tools: a session of the probe's own, and an earlier one's.
var sessions = map[string]func(*mcpprobe.Target){
	"new session": func(*mcpprobe.Target) {},
	"canary":      canary,
}

func paged(next func(cursor string) string) func(http.ResponseWriter, *http.Request, request) {
	return func(w http.ResponseWriter, _ *http.Request, in request) { writeResult(w, in, next(in.Cursor)) }
}

func TestAllPagesAreReadAndShownAsOneStep(t *testing.T) {
	t.Parallel()
	for name, tc := range sessions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t).on(methodList, paged(func(cursor string) string {
				switch cursor {
				case "":
					return tools("second", search)
				case "second":
					return tools("third", "other")
				default:
					return tools("", execute)
				}
			}))
			got := mcpprobe.Probe(t.Context(), f.target(tc))
			require.Nil(t, got.Failure)
			require.Equal(t, 3, got.ToolCount)
			require.Equal(t, mcpprobe.StepToolsList, got.Trace.Steps[len(got.Trace.Steps)-1].Step)
			require.NotEqual(t, mcpprobe.StepToolsList, append([]string{""}, stepNames(got)...)[len(stepNames(got))-1])
		})
	}
}

func TestCursorLoopsAreFound(t *testing.T) {
	t.Parallel()
	for name, tc := range sessions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t).on(methodList, paged(func(cursor string) string {
				if cursor == "a" {
					return tools("b", execute)
				}
				return tools("a", search)
			}))
			got := mcpprobe.Probe(t.Context(), f.target(tc))
			requireFailure(t, got, health.CodeToolsMissing, false)
			require.Contains(t, got.Failure.Message, "cursor")
			require.Less(t, len(f.requests()), 10)
		})
	}
}

func TestPagesWithoutEndAreCutOff(t *testing.T) {
	t.Parallel()
	for name, tc := range sessions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t).on(methodList, paged(func(cursor string) string {
				page, _ := strconv.Atoi(cursor)
				return tools(strconv.Itoa(page+1), search, execute)
			}))
			got := mcpprobe.Probe(t.Context(), f.target(tc))
			requireFailure(t, got, health.CodeToolsMissing, false)
			require.Contains(t, got.Failure.Message, "64 pages")
			require.Less(t, len(f.requests()), 80)
		})
	}
}

func TestAnswerThatTheEndpointMovesToAResumedStreamIsFetched(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var asked request
	f.on(methodList, events(func(in request, _ int) (string, bool) {
		asked = in
		return "id: 1\nretry: 10\ndata: \n\n", false
	}))
	f.on(http.MethodGet, events(func(in request, _ int) (string, bool) {
		if in.Header.Get("Last-Event-Id") != "1" {
			return "", false
		}
		return fmt.Sprintf("id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n",
			asked.ID, tools("", search, execute)), false
	}))
	got := mcpprobe.Probe(t.Context(), f.target())
	require.Nil(t, got.Failure)
	require.Equal(t, []string{methodInit, methodNotice, methodList, http.MethodGet, methodDelete}, f.methods())
}
