package execution

import (
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// metricExecutions counts executions that ended, by their outcome.
const metricExecutions = "holdfast_executions"

// execution is a run of the workflow.
type execution struct {
	in        Input
	run       approval.Run
	startedAt time.Time
	log       log.Logger

	// canceled is set when somebody has called the execution off.
	canceled *Cancel
	// calling is set while the upstream is called: only then may a tool ask.
	calling bool

	// seq is the number of the last event, records what is still to be written down and hooks what the session is still to be told, both
	// in order.
	seq     int64
	records []tool.RecordRequest
	hooks   []hook
	// written counts the records that are written down.
	written int
	// ended are the numbers of the pauses that have ended while what followed from that is not known.
	ended []int

	published published
}

// hook is one signal to the session.
type hook struct {
	signal string
	input  session.Hook
}

func newExecution(ctx workflow.Context, in Input) *execution {
	if in.Window <= 0 {
		in.Window = defaultWindow
	}
	if in.CallTimeout <= 0 {
		in.CallTimeout = defaultTimeout
	}
	return &execution{
		in: in, run: approval.Run{Key: in.Key}, startedAt: workflow.Now(ctx),
		log: log.With(workflow.GetLogger(ctx), "execution", in.Key, "address", in.Address),
	}
}

// open asks a person: the pause, its timer and its record are made together.
func (e *execution) open(ctx workflow.Context, question approval.Request) (approval.Pause, error) {
	now := workflow.Now(ctx)
	pause, err := e.run.Open(question, now, now.Add(e.in.Window))
	if err != nil {
		return approval.Pause{}, err
	}
	e.watch(ctx, pause)
	events := append(e.settleEnded(now), e.event(tool.EventPaused, pause.Number, now))
	e.records = append(e.records, tool.RecordRequest{Paused: &pause, Events: events})
	e.tell(session.SignalPaused, session.Hook{PauseID: pause.ID, Deadline: pause.Deadline})
	return pause, nil
}

// watch lets a pause expire at its deadline. The timer is gone as soon as the pause waits no more.
func (e *execution) watch(ctx workflow.Context, pause approval.Pause) {
	timerCtx, stop := workflow.WithCancel(ctx)
	over := workflow.NewTimerWithOptions(timerCtx, e.in.Window, workflow.TimerOptions{
		Summary: "decision on " + pause.ID + " is due",
	})
	workflow.GoNamed(ctx, "watch "+pause.ID, func(ctx workflow.Context) {
		defer stop()
		if !await(ctx, func() bool { return over.IsReady() || !e.waits(pause.ID) }) {
			return
		}
		if expired, ok := e.run.Expire(pause.ID, workflow.Now(ctx)); ok {
			e.end(ctx, expired)
		}
	})
}

func (e *execution) waits(id string) bool {
	pause, err := e.run.Pause(id)
	return err == nil && pause.Open()
}

// end writes down that a pause was decided, or has expired.
func (e *execution) end(ctx workflow.Context, pause approval.Pause) {
	now := workflow.Now(ctx)
	events := []tool.Event{e.event(tool.EventDecided, pause.Number, now)}
	if pause.Decision != nil {
		events = append(events, e.event(tool.EventResuming, pause.Number, now))
		e.tell(session.SignalResuming, session.Hook{PauseID: pause.ID, Deadline: pause.Deadline})
	}
	e.records = append(e.records, tool.RecordRequest{Decided: &pause, Events: events})
	e.ended = append(e.ended, pause.Number)
}

// settleEnded tells that what followed from the pauses that have ended is known.
func (e *execution) settleEnded(now time.Time) []tool.Event {
	events := make([]tool.Event, 0, len(e.ended)+1)
	for _, n := range e.ended {
		events = append(events, e.event(tool.EventSettled, n, now))
		pause := e.run.Pauses[n-1]
		e.tell(session.SignalSettled, session.Hook{PauseID: pause.ID, Deadline: pause.Deadline})
	}
	e.ended = nil
	return events
}

// finish ends the execution.
func (e *execution) finish(ctx workflow.Context, outcome approval.Outcome) {
	now := workflow.Now(ctx)
	outcome.At = now
	dropped, settled := e.run.Settle(outcome)
	if !settled {
		return
	}
	workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"outcome": string(outcome.Kind)}).Counter(metricExecutions).Inc(1)
	for _, pause := range dropped {
		e.ended = append(e.ended, pause.Number)
	}
	events := append(e.settleEnded(now), e.event(tool.EventOutcome, 0, now))
	e.records = append(e.records, tool.RecordRequest{Outcome: &outcome, Dropped: dropped, Events: events})
}

func (e *execution) event(kind string, pause int, at time.Time) tool.Event {
	e.seq++
	return tool.Event{Seq: e.seq, Kind: kind, Pause: pause, At: at}
}

func (e *execution) tell(signal string, input session.Hook) {
	if e.in.Session != "" {
		e.hooks = append(e.hooks, hook{signal, input})
	}
}

func (e *execution) snapshot() Snapshot {
	return Snapshot{
		Key: e.in.Key, Address: e.in.Address, Phase: e.phase(), Pauses: append([]approval.Pause{}, e.run.Pauses...),
		Outcome: e.run.Outcome, Digest: e.in.Digest, StartedAt: e.startedAt,
	}
}

func (e *execution) phase() Phase {
	switch {
	case e.run.Outcome != nil:
		return PhaseSettled
	case e.run.Waiting():
		return PhaseWaiting
	default:
		return PhaseCalling
	}
}

// await waits until a condition holds, and reports false when the run is ended from outside.
func await(ctx workflow.Context, condition func() bool) bool {
	return workflow.Await(ctx, condition) == nil
}

func (h hook) send(ctx workflow.Context, sessionID string) error {
	return workflow.SignalExternalWorkflow(ctx, session.ID(sessionID), "", h.signal, h.input).Get(ctx, nil)
}
