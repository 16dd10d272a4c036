package cli

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
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
		found.fail("temporal", "start it, or say where it is: TEMPORAL_ADDRESS, TEMPORAL_API_KEY, TEMPORAL_TLS_*", "%v", err)
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
		found.warn("workers", "check that the credentials may read task queues", "%v", err)
		return
	}
	n := 0
	for _, poller := range described.GetPollers() {
		if time.Since(poller.GetLastAccessTime().AsTime()) < pollerSeen {
			n++
		}
	}
	if n == 0 {
		found.warn("workers", "start one: holdfast-worker, or holdfast dev; its temporal.task_queue must be the same",
			"none takes work from the task queue %s: nothing is repaired", queue)
		return
	}
	found.ok("workers", "%d %s work from the task queue %s", n, pick(n, "takes", "take"), queue)
}
