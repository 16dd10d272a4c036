package connection

import (
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// Workflow keeps one connection delivered for as long as it is wanted. It never fails on a domain error; it ends when
// the connection is removed.
func Workflow(ctx workflow.Context, in *State) error {
	c := newConnection(ctx, restore(in))
	if err := c.register(ctx); err != nil {
		return err
	}
	return c.run(ctx)
}

// connection is a run of the workflow: the state, and what only this run knows.
type connection struct {
	*State

	log log.Logger

	// asked and served count the requests of this run: a request is served when the loop comes to rest after it.
	asked, served int
	// absorbed is the number of requests whose intents the loop has taken up.
	absorbed int
	// disagreements counts attempts in a row that found another revision in the store.
	disagreements int
	refresh       *Refresh
	rolling       bool
	removed       bool

	published published
}

func newConnection(ctx workflow.Context, state *State) *connection {
	return &connection{
		State: state,
		log: log.With(workflow.GetLogger(ctx),
			"workspace_id", state.Key.Workspace, "connection_name", state.Key.Name),
	}
}

// run is the life of a connection: take up what was asked, deliver, rest until something is to be decided.
func (c *connection) run(ctx workflow.Context) error {
	// What was sent with the start counts from the first step: it says why the connection is wanted.
	c.drain(ctx)
	for ctx.Err() == nil {
		switch next := c.next(ctx); next {
		case stepRemove:
			return c.remove(ctx)
		case stepLoad:
			c.load(ctx)
		case stepRefresh:
			c.dropForRefresh(ctx)
		case stepRepair:
			c.repair(ctx)
		case stepLook:
			c.look(ctx)
		case stepRollover:
			return c.rollover(ctx)
		case stepRest:
			c.rest(ctx)
		}
	}
	return ctx.Err()
}

// step is what the loop does next.
type step int

const (
	// stepRest waits until something is to be decided.
	stepRest step = iota
	// stepLoad reads what is wanted.
	stepLoad
	// stepRefresh drops the entry, by order.
	stepRefresh
	// stepRepair delivers what is wanted and verifies it.
	stepRepair
	// stepLook looks at engine and endpoint once.
	stepLook
	// stepRemove disconnects and ends.
	stepRemove
	// stepRollover goes on as a new run.
	stepRollover
)

// next takes up what was asked and decides. The order matters: what is wanted comes before what is delivered, and
// distrust comes before a look.
func (c *connection) next(ctx workflow.Context) step {
	c.takeUpDoubts(ctx)
	c.absorbed = c.asked
	in := &c.Intents
	switch {
	case in.Remove:
		return stepRemove
	case in.Load:
		return stepLoad
	case in.Refresh:
		return stepRefresh
	case c.dueForRepair():
		return stepRepair
	case in.Look && c.Entry.DesiredRevision != "":
		return stepLook
	case c.rolloverDue(ctx):
		return stepRollover
	default:
		in.Look = false
		return stepRest
	}
}

// dueForRepair reports whether a delivery is to be tried now.
func (c *connection) dueForRepair() bool {
	if c.Desired == nil || c.Desired.Failure != nil || c.LoadFailure != nil {
		c.Intents.Repair = false
		return false
	}
	switch c.Entry.State {
	case delivery.Stale:
		return true
	case delivery.Pending:
		return c.WaitingFor != WaitingEngineIdle || c.Intents.Repair
	case delivery.Failed:
		return c.Intents.Repair
	case delivery.NotDesired, delivery.Registering, delivery.Ready:
		c.Intents.Repair = false
		return false
	default:
		return false
	}
}

// takeUpDoubts applies forced stale and engine events in the order of their weight.
func (c *connection) takeUpDoubts(ctx workflow.Context) {
	in := &c.Intents
	if in.Stale != nil {
		reason := in.Stale.Reason
		if reason == "" {
			reason = "marked stale"
		}
		c.doubt(ctx, 0, reason, SignalMarkStale)
		if c.hasSource() {
			c.token().Distrusted = true
			c.Token.newEpisode()
		}
		in.Stale = nil
	}
	for _, ev := range in.Events {
		switch {
		case ev.Generation == 0:
			in.Look = true
		case c.Entry.State == delivery.Registering:
		default:
			c.doubt(ctx, ev.Generation, ev.Reason, SignalEngineEvent)
		}
	}
	in.Events = nil
}

// apply takes one step of the ledger and records a change of state.
func (c *connection) apply(ctx workflow.Context, ev delivery.Event) delivery.Outcome {
	now := workflow.Now(ctx)
	entry, out := delivery.Apply(c.Entry, ev, now)
	c.Entry = entry
	if out.Ignored != "" {
		c.log.Debug("event ignored", "why", string(out.Ignored), "state", string(out.From))
		return out
	}
	if out.Changed() {
		c.record(out, triggerOf(ev), now)
	}
	return out
}

// triggerOf is what asked for an event; most happen by themselves.
func triggerOf(ev delivery.Event) string {
	switch ev := ev.(type) {
	case delivery.Wanted:
		return ev.Trigger
	case delivery.Doubted:
		return ev.Trigger
	default:
		return ""
	}
}

func (c *connection) record(out delivery.Outcome, trigger string, now time.Time) {
	c.Sequence++
	t := Transition{
		Sequence: c.Sequence, From: out.From, To: out.To, At: now, Reason: out.Reason,
		Trigger: trigger, Generation: c.Entry.Generation,
	}
	if out.To == delivery.Failed && c.Entry.Failure != nil {
		t.Code, t.Reason = c.Entry.Failure.Code, c.Entry.Failure.Message
	}
	c.Transitions = append(c.Transitions, t)
	if extra := len(c.Transitions) - transitionsKept; extra > 0 {
		c.Transitions = append([]Transition(nil), c.Transitions[extra:]...)
	}
	if out.From == delivery.Ready {
		c.leaveReady(now)
	}
	if out.To == delivery.Ready {
		c.ReadySince, c.NextAttemptAt = &now, nil
		c.Token.newEpisode()
	}
	c.log.Info("state changed", "from", string(out.From), "to", string(out.To), "reason", t.Reason)
}

// leaveReady forgets earlier failures when the connection was well for long enough.
func (c *connection) leaveReady(now time.Time) {
	if c.ReadySince != nil && now.Sub(*c.ReadySince) >= healthyReset {
		c.Attempts = 0
	}
	c.ReadySince, c.Degraded = nil, nil
}

// doubt marks the connection stale.
func (c *connection) doubt(ctx workflow.Context, generation int64, reason, trigger string) {
	out := c.apply(ctx, delivery.Doubted{Generation: generation, Reason: reason, Trigger: trigger})
	if out.Ignored == "" {
		c.WaitingFor, c.Degraded, c.NextAttemptAt = "", nil, nil
		// What cannot be delivered is not left stale: reading it again says why.
		c.Intents.Load = c.Intents.Load || c.LoadFailure != nil || (c.Desired != nil && c.Desired.Failure != nil)
	}
}

// fail marks the connection failed and sets the time of the next attempt where one helps.
func (c *connection) fail(ctx workflow.Context, f health.Failure) {
	if c.apply(ctx, delivery.Broken{Revision: c.Entry.DesiredRevision, Failure: f}).Ignored != "" {
		return
	}
	c.WaitingFor, c.Degraded = "", nil
	c.Attempts++
	if c.anotherTokenMayHelp(f) {
		c.Intents.Repair = true
	}
}

// saw notes what a look or a delivery showed of the engine and the endpoint.
func (c *connection) saw(ctx workflow.Context, status string, tools *engine.Tools) {
	now := workflow.Now(ctx)
	c.CheckedAt = &now
	if status != "" {
		c.EngineStatus = status
	}
	if tools != nil {
		c.Tools = tools
	}
}
