package connection

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/text"
)

// register installs every handler before the first blocking call, so that nothing sent with the start is lost.
//
// A handler only writes down what is asked; the loop does the work. So no two handlers ever interleave in it.
func (c *connection) register(ctx workflow.Context) error {
	for _, install := range []func(workflow.Context) error{c.registerQueries, c.registerUpdates} {
		if err := install(ctx); err != nil {
			return err
		}
	}
	receive(ctx, SignalMarkStale, c.onMarkStale)
	receive(ctx, SignalDesiredChanged, c.onDesiredChanged)
	receive(ctx, SignalEngineEvent, c.onEngineEvent)
	receive(ctx, SignalForceContinueAsNew, c.onForceContinueAsNew)
	return nil
}

// receive takes signals as they come, for the life of the run. It waits without receiving: a signal that was handed to a receiver which
// has not run yet is in no channel any more, and a run that ends in that moment would lose it.
func receive[T any](ctx workflow.Context, name string, take func(T)) {
	workflow.GoNamed(ctx, "receive "+name, func(ctx workflow.Context) {
		channel := workflow.GetSignalChannel(ctx, name)
		for workflow.Await(ctx, func() bool { return channel.Len() > 0 }) == nil {
			drain(ctx, name, take)
		}
	})
}

func (c *connection) onMarkStale(in MarkStale) {
	in.Reason = text.Clip(in.Reason, mostWords)
	c.Intents.Stale = &in
}

func (c *connection) onDesiredChanged(in DesiredChanged) {
	known := in.Revision != "" && in.Revision == c.Entry.DesiredRevision && c.LoadFailure == nil
	if known && !c.Intents.Remove {
		return
	}
	c.Intents.Load, c.Intents.Trigger = true, text.Clip(in.Trigger, mostWords)
}

func (c *connection) onEngineEvent(in EngineEvent) {
	if in.Generation != 0 && in.Generation != c.Entry.Generation {
		return
	}
	if c.Entry.State == delivery.Registering && !c.Entry.Proven() {
		// It was seen before the delivery under way was read back, so it may be about an entry that this delivery has
		// replaced: worth a look after it, not a second delivery over a client that is well.
		in.Generation = 0
	}
	in.Reason = text.Clip(in.Reason, mostWords)
	c.Intents.Events = append(c.Intents.Events, in)
}

func (c *connection) onForceContinueAsNew(struct{}) { c.Intents.Rollover = true }

func (c *connection) registerUpdates(ctx workflow.Context) error {
	admit := workflow.UpdateHandlerOptions{Validator: c.admit}
	admit.Description = "look at engine and endpoint and repair: one full cycle"
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateProbe, c.onProbe, admit); err != nil {
		return err
	}
	admit.Description = "deliver what the store holds now"
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateReconcile, c.onReconcile, admit); err != nil {
		return err
	}
	admit.Description = "drop the engine's entry and deliver it anew"
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateRefresh, c.onRefresh, admit); err != nil {
		return err
	}
	admit.Description = "disconnect and end"
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateRemove, c.onRemove, admit)
}

// admit refuses requests while the run is being replaced. The refusal leaves no trace; the caller sends again.
func (c *connection) admit(workflow.Context, Request) error {
	if c.rolling || c.removed {
		return temporal.NewApplicationError("the run is being replaced; send the request again", ErrTypeRollingOver)
	}
	return nil
}

func (c *connection) onProbe(ctx workflow.Context, in Request) (Health, error) {
	return c.serve(ctx, UpdateProbe, func() {
		c.Intents.Look = true
		// The store is read first: somebody who asks now means what is wanted now.
		c.Intents.Load, c.Intents.Trigger = true, trigger(in, UpdateProbe)
	})
}

func (c *connection) onReconcile(ctx workflow.Context, in Request) (Health, error) {
	return c.serve(ctx, UpdateReconcile, func() {
		c.Intents.Load, c.Intents.Trigger = true, trigger(in, UpdateReconcile)
		c.Intents.Look, c.Intents.Repair = true, true
		c.Token.newEpisode()
	})
}

func (c *connection) onRefresh(ctx workflow.Context, in Request) (RefreshResult, error) {
	h, err := c.serve(ctx, UpdateRefresh, func() {
		c.refresh = &Refresh{Trigger: trigger(in, "engine-refresh"), StartedAt: workflow.Now(ctx), Steps: []RefreshStep{}}
		c.Intents.Load, c.Intents.Refresh = true, true
		c.Intents.Trigger = c.refresh.Trigger
		c.Token.newEpisode()
	})
	if err != nil {
		return RefreshResult{}, err
	}
	return RefreshResult{Refresh: c.refreshed(ctx), Health: h}, nil
}

func (c *connection) onRemove(ctx workflow.Context, _ Request) (Health, error) {
	return c.serve(ctx, UpdateRemove, func() {
		// What was asked for before is done with. What is signaled from here on is a wish for a new life: see remove.
		c.Intents = Intents{Remove: true}
	})
}

// serve writes a request down and waits until the loop has done it, or until the answer is due. A request that was
// answered before is answered with what is known now and a note of the earlier answer; it is not done again.
func (c *connection) serve(ctx workflow.Context, kind string, ask func()) (Health, error) {
	key := workflow.GetCurrentUpdateInfo(ctx).ID
	if earlier := c.answered(key, kind, workflow.Now(ctx)); earlier != nil {
		h := c.health()
		h.Earlier = earlier
		return h, nil
	}
	if !c.Intents.Remove {
		// Who asks while the connection is being removed is told what became of it, and does not bring it back.
		ask()
	}
	c.asked++
	mine := c.asked
	done, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout:      UpdateWait,
		TimerOptions: workflow.TimerOptions{Summary: "answer " + kind + " with what is known"},
	}, func() bool { return c.served >= mine || c.removed })
	if err != nil {
		return Health{}, err
	}
	h := c.health()
	if done {
		c.remember(Answered{
			Key: key, Kind: kind, FinishedAt: workflow.Now(ctx), Revision: c.Entry.DesiredRevision,
			Phase: string(h.Phase), Code: codeOf(h),
		})
	}
	return h, nil
}

func trigger(in Request, otherwise string) string {
	if in.Trigger != "" {
		return text.Clip(in.Trigger, mostWords)
	}
	return otherwise
}

// mostWords bounds, in characters, what callers say of their reasons: it is kept with each of many transitions.
const mostWords = 200

func (c *connection) registerQueries(ctx workflow.Context) error {
	describe := func(text string) workflow.QueryHandlerOptions { return workflow.QueryHandlerOptions{Description: text} }
	if err := workflow.SetQueryHandlerWithOptions(ctx, QuerySnapshot, func(in SnapshotRequest) (Snapshot, error) {
		if in.Revision != nil {
			return c.snapshotOf(*in.Revision), nil
		}
		return c.snapshot(), nil
	}, describe("delivery state; with {\"revision\": …} as seen by who wants that revision")); err != nil {
		return err
	}
	if err := workflow.SetQueryHandlerWithOptions(ctx, QueryHealth, func() (Health, error) { return c.health(), nil },
		describe("health with its first failure and what to do")); err != nil {
		return err
	}
	if err := workflow.SetQueryHandlerWithOptions(ctx, QueryTransitions, func() ([]Transition, error) {
		return append([]Transition{}, c.Transitions...), nil
	}, describe("the last changes of state, oldest first")); err != nil {
		return err
	}
	return workflow.SetQueryHandlerWithOptions(ctx, QueryProjection, func() (Projection, error) {
		return c.projection(), nil
	}, describe("the connection as model execution may use it: ready and verified, or nothing"))
}

func (c *connection) projection() Projection {
	if !c.Entry.Usable() || c.removed {
		return Projection{}
	}
	p := Projection{Usable: true, Name: c.Key.Name, Revision: c.Entry.AppliedRevision}
	if c.Tools != nil {
		p.Tools = c.Tools.Present
	}
	return p
}

func (c *connection) settled() bool {
	return c.Entry.State != delivery.Registering && c.Entry.State != delivery.Stale
}
