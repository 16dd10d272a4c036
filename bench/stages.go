package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	activities "github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// stages are the parts of Holdfast's repairs, as Temporal's history dates them.
type stages struct {
	disposals []time.Time

	// heard is from the disposal to the signal, taken from there to the end of the workflow's task, started until the
	// registration began, registered until it answered.
	heard, taken, started, registered sample

	last      time.Time
	expect    stage
	registers map[int64]bool
}

type stage int

const (
	expectSignal stage = iota
	expectTask
	expectStart
	expectAnswer
)

// readStages reads every run of a connection, the oldest first.
func (w *world) readStages(ctx context.Context, id string, disposals []time.Time) (*stages, error) {
	s := &stages{disposals: disposals}
	runs, err := w.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowId = '%s'", id),
	})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	for _, run := range slices.Backward(runs.GetExecutions()) {
		// What was under way when a run ended is no repair: runs end at rest.
		s.expect, s.registers = expectSignal, map[int64]bool{}
		events := w.temporal.GetWorkflowHistory(ctx, id, run.GetExecution().GetRunId(), false,
			enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return nil, fmt.Errorf("read history: %w", err)
			}
			s.take(event)
		}
	}
	return s, nil
}

func (s *stages) take(event *historypb.HistoryEvent) {
	at := event.GetEventTime().AsTime()
	if a := event.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == activities.RegisterName {
		s.registers[event.GetEventId()] = true
	}
	switch s.expect {
	case expectSignal:
		if event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == connection.SignalEngineEvent {
			s.signalled(at)
		}
	case expectTask:
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			s.next(&s.taken, at, expectStart)
		}
	case expectStart:
		if s.registers[event.GetActivityTaskStartedEventAttributes().GetScheduledEventId()] {
			s.next(&s.started, at, expectAnswer)
		}
	case expectAnswer:
		if s.registers[event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()] {
			s.next(&s.registered, at, expectSignal)
		}
	}
}

// signalled belongs to the last disposal before it.
func (s *stages) signalled(at time.Time) {
	for i := len(s.disposals) - 1; i >= 0; i-- {
		if s.disposals[i].Before(at) {
			s.last = s.disposals[i]
			s.next(&s.heard, at, expectTask)
			return
		}
	}
}

func (s *stages) next(of *sample, at time.Time, expect stage) {
	*of = append(*of, at.Sub(s.last))
	s.last, s.expect = at, expect
}

func (s *stages) report(f *Figure) {
	for _, part := range []struct {
		what string
		took sample
	}{
		{"disposed until the connection is told", s.heard},
		{"told until its workflow has decided", s.taken},
		{"decided until the registration begins", s.started},
		{"registration: look, push, see it connected, answer", s.registered},
	} {
		if len(part.took) > 0 {
			f.add("  of Holdfast's repair, by Temporal's history: "+part.what+", p50", part.took.at(0.5), "ms")
		}
	}
}
