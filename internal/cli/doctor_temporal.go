package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	pollersTimeout = 10 * time.Second
	// pollerSeen is how long ago a living worker has asked for work at most: a poll lasts a minute.
	pollerSeen = 2 * time.Minute
)

// examineTemporal reports whether the namespace can be used.
func (s *session) examineTemporal(ctx context.Context, found *findings) bool {
	remote, err := s.connectWith(ctx, s.keyset)
	if err != nil {
		found.fail("temporal", "", "%v", err)
		return false
	}
	levels := map[temporalclient.Level]level{
		temporalclient.LevelOK: levelOK, temporalclient.LevelWarning: levelWarn, temporalclient.LevelError: levelFail,
	}
	usable := true
	for _, one := range temporalclient.Inspect(ctx, remote.Services, remote.Namespace, s.settings.Temporal.NamespaceRetention) {
		if one.Subject == "server" {
			one.Message += ", at " + remote.Address
		}
		found.add(finding{Level: levels[one.Level], Subject: subjectOf(one.Subject), Message: one.Message, Action: one.Action})
		usable = usable && one.Level != temporalclient.LevelError
	}
	if usable {
		s.examineWorkers(ctx, remote, found)
	}
	return usable && s.keyset != nil
}

func subjectOf(temporal string) string {
	switch temporal {
	case "server":
		return "temporal"
	case "search_attributes":
		return "search attributes"
	default:
		return temporal
	}
}

// examineWorkers asks who takes work from our queue.
func (s *session) examineWorkers(ctx context.Context, remote *Remote, found *findings) {
	ctx, cancel := context.WithTimeout(ctx, pollersTimeout)
	defer cancel()
	queue := s.settings.Temporal.TaskQueue
	described, err := remote.Services.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: remote.Namespace, TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
		TaskQueue: &taskqueuepb.TaskQueue{Name: queue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
	})
	if err != nil {
		found.add(finding{Level: levelWarn, Subject: "workers", Message: err.Error()})
		return
	}
	n := 0
	for _, poller := range described.GetPollers() {
		if time.Since(poller.GetLastAccessTime().AsTime()) < pollerSeen {
			n++
		}
	}
	if n == 0 {
		found.add(finding{
			Level: levelWarn, Subject: "workers", Message: "none takes work from the task queue " + queue + ": nothing is repaired",
			Action: "start one: holdfast-worker, or holdfast dev",
		})
		return
	}
	found.ok("workers", "%d take work from the task queue %s", n, queue)
}

const namedAtMost = 5

// firstOf names some, in order.
func firstOf(names []string) string {
	slices.Sort(names)
	text := strings.Join(names[:min(namedAtMost, len(names))], ", ")
	if more := len(names) - namedAtMost; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// examineWorkflows compares what is wanted with what runs.
func (s *session) examineWorkflows(ctx context.Context, found *findings) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	wanted, err := wantedKeys(ctx, s.opened)
	if err != nil {
		found.fail("workflows", "", "%v", err)
		return
	}
	rows, err := s.remote.Connections.List(ctx, connection.Filter{})
	if err != nil {
		found.fail("workflows", "", "%v", explainRemote(err, s.remote.Namespace))
		return
	}
	running := runningIDs(rows)
	total := 0
	var missing []string
	for _, keys := range wanted {
		for _, key := range keys {
			total++
			if !running[connection.ID(key)] {
				missing = append(missing, short(key))
			}
		}
	}
	if len(missing) > 0 {
		found.fail("workflows", "run holdfast setup: it starts them", "%d of %d connections have none running: %s",
			len(missing), total, firstOf(missing))
	} else if total > 0 {
		found.ok("workflows", "each of %d connections has one running", total)
	}
	states, failed := summary(rows)
	switch {
	case failed > 0:
		found.add(finding{
			Level: levelWarn, Subject: "connections", Message: states, Action: "see: holdfast connection list --state failed",
		})
	case states != "":
		found.ok("connections", "%s", states)
	}
}
