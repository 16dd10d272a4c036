package cli_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func TestGetHasTheFieldsThatProgramsRead(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.describe = running(standing(delivery.Stale, "r1").Delivery)
	l.connections.health = func() (connection.Health, error) { return standing(delivery.Ready, "r1"), nil }
	require.Zero(t, l.run("connection", "get", "acme/search", "-o", "json"), l.stderr)
	got := document[map[string]any](l)
	for _, name := range []string{"workspace", "name", "directory", "engine", "snapshot", "health", "workflowId", "runId"} {
		require.Contains(t, got, name)
	}
	snapshot, _ := got["snapshot"].(map[string]any)
	for _, name := range []string{
		"state", "desiredRevision", "appliedRevision", "updatedAt", "appliedAt", "lastAttemptAt", "trigger", "failure",
	} {
		require.Contains(t, snapshot, name)
	}
	require.Equal(t, "ready", snapshot["state"], "what a worker says counts, not what was published before")
	require.Equal(t, "workflow", got["source"])
	require.Empty(t, l.stderr.String())
}

func TestGetWithNoWorkerShowsWhatWasPublishedAndSaysSo(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.describe = running(standing(delivery.Ready, "r1").Delivery)
	require.Zero(t, l.run("connection", "get", "acme/search", "-o", "json"), l.stderr)
	require.Contains(t, l.stderr.String(), "no worker answers")
	got := document[map[string]any](l)
	require.Equal(t, "memo", got["source"])
	require.Nil(t, got["health"])
	require.NotNil(t, got["snapshot"])
}

func TestGetForPeopleSaysTheNextStep(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	h := failing(health.ConfigConflict("search"))
	l.connections.describe = running(h.Delivery)
	l.connections.health = func() (connection.Health, error) { return h, nil }
	require.Zero(t, l.run("connection", "get", "acme/search"), l.stderr)
	rows := map[string]string{}
	for text := range strings.Lines(l.stdout.String()) {
		name, value, found := strings.Cut(strings.TrimSuffix(text, "\n"), "   ")
		require.True(t, found, text)
		rows[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	require.Equal(t, map[string]string{
		"connection": "acme/search", "directory": "/srv/acme", "engine": "127.0.0.1-4096", "state": "failed", "usable": "no",
		"since": noon.Local().Format("2006-01-02 15:04:05"), "applied": "-", "last attempt": "-", "last look": "-",
		"failure":   h.FirstFailure.Error(),
		"next step": "Remove the server from the engine's own configuration, or choose another name.",
		"workflow":  "connection:acme:search:1",
	}, rows)
}

func TestWhatIsUnknownOrOverIsCodeFour(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	for _, verb := range []string{"get", "watch", "probe", "reconcile", "refresh", "mark-stale", "history", "remove"} {
		require.Equal(t, cli.ExitNotFound, l.run("connection", verb, "acme/search"), verb)
		require.Contains(t, l.stderr.String(), "connection list", verb)
		require.Empty(t, l.stdout.String())
	}
	l.connections.describe = func() (connection.Description, error) { return connection.Description{Running: false}, nil }
	for _, verb := range []string{"get", "watch"} {
		require.Equal(t, cli.ExitNotFound, l.run("connection", verb, "acme/search", "--directory", "/srv/acme"), verb)
	}
}

func TestAnAmbiguousAddressListsTheDirectories(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/b")
	l.want("/srv/a")
	require.Equal(t, cli.ExitUsage, l.run("connection", "get", "acme/search"))
	require.Contains(t, l.stderr.String(), "--directory /srv/a\nholdfast:   --directory /srv/b\n")
	l.connections.describe = running(standing(delivery.Ready, "r1").Delivery)
	require.Zero(t, l.run("connection", "get", "--workspace", "acme", "--name", "search", "--directory", "/srv//a/"), l.stderr)
	require.Equal(t, delivery.Key{Workspace: "acme", Name: "search", Directory: "/srv/a"}, l.connections.keys[0])
}

func TestAConnectionThatIsOnlyRunningIsFoundToo(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	s := standing(delivery.NotDesired, "").Delivery
	l.connections.listed = []connection.Listed{{Workspace: "acme", Name: "search", Snapshot: &s}}
	l.connections.describe = running(s)
	require.Zero(t, l.run("connection", "get", "acme/search"), l.stderr)
	require.Equal(t, "/srv/acme", l.connections.keys[0].Directory)
}

func TestListShowsStateFailureAndAge(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	ready, broken := standing(delivery.Ready, "r1").Delivery, failing(health.EndpointUnreachable("", nil)).Delivery
	since := time.Now().Add(-(90*time.Minute + 10*time.Second))
	ready.StateSince = &since
	l.connections.listed = []connection.Listed{
		{Workspace: "acme", Name: "files", WorkflowID: "w1", Snapshot: &broken},
		{Workspace: "acme", Name: "search", WorkflowID: "w2", Snapshot: &ready},
		{Workspace: "new", Name: "one", WorkflowID: "w3"},
	}
	require.Zero(t, l.run("connection", "list", "--workspace", "acme", "--name", "n", "--engine", "e", "--state", "failed",
		"--failure-code", "c"), l.stderr)
	require.Equal(t, connection.Filter{Workspace: "acme", Name: "n", Engine: "e", State: "failed", FailureCode: "c"}, l.connections.filter)
	rows := strings.Split(strings.TrimSpace(l.stdout.String()), "\n")
	require.Len(t, rows, 4)
	require.Equal(t, []string{"CONNECTION", "STATE", "SINCE", "AGE", "FAILURE", "ENGINE", "DIRECTORY"}, strings.Fields(rows[0]))
	require.Contains(t, rows[1], "mcp_endpoint_unreachable")
	require.Contains(t, rows[2], "1h30m")
	require.Equal(t, []string{"new/one", "-", "-", "-", "-", "-", "-"}, strings.Fields(rows[3]))

	require.Zero(t, l.run("connection", "list", "-o", "json"), l.stderr)
	got := document[[]map[string]any](l)
	require.Equal(t, "mcp_endpoint_unreachable", got[0]["failureCode"])
	require.InDelta(t, 5410, got[1]["ageSeconds"], 60)
}

func TestWhatHasPublishedNothingIsListedFromTheStore(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	key := l.want("/srv/acme")
	l.connections.listed = []connection.Listed{{Workspace: "acme", Name: "search", WorkflowID: connection.ID(key)}}
	require.Zero(t, l.run("connection", "list", "-o", "json"), l.stderr)
	got := document[[]map[string]any](l)
	require.Equal(t, []any{"/srv/acme", "127.0.0.1-4096"}, []any{got[0]["directory"], got[0]["engine"]})
}

func TestAnEmptyListIsAListForPrograms(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Zero(t, l.run("connection", "list", "-o", "json"))
	require.Equal(t, "[]\n", l.stdout.String())
	require.Zero(t, l.run("connection", "list"))
	require.Contains(t, l.stderr.String(), "holdfast connection apply")
}

func transition(sequence int64, from, to delivery.State, reason string) connection.Transition {
	return connection.Transition{
		Sequence: sequence, From: from, To: to, Reason: reason, At: noon.Add(time.Duration(sequence) * time.Second),
	}
}

func TestHistoryTellsFromToAtAndReason(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.history = func() ([]connection.Transition, error) {
		return []connection.Transition{
			transition(1, delivery.Ready, delivery.Stale, "instance disposed"),
			transition(2, delivery.Stale, delivery.Registering, "repair"),
		}, nil
	}
	require.Zero(t, l.run("connection", "history", "acme/search"), l.stderr)
	rows := strings.Split(strings.TrimSpace(l.stdout.String()), "\n")
	require.Equal(t, "AT                    FROM    TO            REASON              FAILURE   TRIGGER", rows[0])
	require.Equal(t, noon.Add(time.Second).Local().Format("2006-01-02 15:04:05")+
		"   ready   stale         instance disposed   -         -", rows[1])
	require.Zero(t, l.run("connection", "history", "acme/search", "-o", "json"), l.stderr)
	got := document[[]map[string]any](l)
	require.Equal(t, []any{"stale", "registering", "repair"}, []any{got[1]["from"], got[1]["to"], got[1]["reason"]})
	require.Contains(t, got[1], "at")
}

func TestWatchPrintsEveryChangeAlsoThoseBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	past := []connection.Transition{transition(1, delivery.Registering, delivery.Ready, "delivered")}
	burst := append(past,
		transition(2, delivery.Ready, delivery.Stale, "instance disposed"),
		transition(3, delivery.Stale, delivery.Registering, "repair"),
		transition(4, delivery.Registering, delivery.Ready, "delivered"),
	)
	var changed, ended atomic.Bool
	l.connections.describe = func() (connection.Description, error) {
		s := standing(delivery.Ready, "r1").Delivery
		if changed.Load() {
			s.Generation++
		}
		return connection.Description{Running: !ended.Load(), Snapshot: &s}, nil
	}
	l.connections.history = func() ([]connection.Transition, error) {
		if changed.Load() {
			return burst, nil
		}
		return past, nil
	}
	code := make(chan int, 1)
	stdout := &buffer{}
	go func() { code <- watch(t.Context(), l, stdout, "connection", "watch", "acme/search", "-o", "json") }()
	lines := func() int { return strings.Count(stdout.String(), "\n") }
	testkit.Eventually(t, 10*time.Second, func() bool { return lines() == 1 }, "how it stands")
	changed.Store(true)
	testkit.Eventually(t, 10*time.Second, func() bool { return lines() == 4 }, "each change of the burst")
	ended.Store(true)
	require.Zero(t, <-code)

	var events []string
	for text := range strings.SplitSeq(strings.TrimSpace(stdout.String()), "\n") {
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		events = append(events, strings.Join([]string{got["event"].(string), str(got["from"]), str(got["to"])}, " "))
	}
	require.Equal(t, []string{
		"state  ready", "transition ready stale", "transition stale registering", "transition registering ready", "ended ready ",
	}, events)
}

func watch(ctx context.Context, l *line, stdout *buffer, args ...string) int {
	return cli.New(cli.Options{
		Stdout: stdout, Stderr: &buffer{}, Environ: slices.Concat(l.environ, []string{"HOLDFAST_DATA_DIR=" + l.dataDir}), WorkDir: l.workDir,
		PollEvery: time.Millisecond, Connect: l.connect,
	}).Run(ctx, args)
}

func str(v any) string {
	text, _ := v.(string)
	return text
}

func TestWatchEndsWellAtItsTimeoutAndAtCtrlC(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.describe = running(standing(delivery.Ready, "r1").Delivery)
	require.Zero(t, l.run("connection", "watch", "acme/search", "--timeout", "10ms"), l.stderr)

	ctx, interrupt := context.WithCancel(t.Context())
	code := make(chan int, 1)
	stdout := &buffer{}
	go func() { code <- watch(ctx, l, stdout, "connection", "watch", "acme/search", "-o", "json") }()
	testkit.Eventually(t, 10*time.Second, func() bool { return strings.Contains(stdout.String(), `"to":"ready"`) }, "how it stands")
	interrupt()
	require.Zero(t, <-code)
}

func TestToolsOfAServerThatWasNeverReachedAreUnknown(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.describe = running(standing(delivery.Failed, "r1").Delivery)
	h := standing(delivery.Failed, "r1")
	h.Tools = &engine.Tools{CheckedAt: noon}
	l.connections.health = func() (connection.Health, error) { return h, nil }
	require.Zero(t, l.run("connection", "get", "acme/search"), l.stderr)
	require.Regexp(t, `(?m)^tools +-$`, l.stdout.String())
	h.Tools = &engine.Tools{CheckedAt: noon, LastOKAt: &noon}
	require.Zero(t, l.run("connection", "get", "acme/search"), l.stderr)
	require.Contains(t, l.stdout.String(), "0 listed at")
}
