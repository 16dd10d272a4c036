package execution

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/internal/domain/text"
	"github.com/holdfast-mcp/holdfast/internal/searchattr"
)

// published is what lists and filters were told last.
type published struct {
	state    string
	deadline time.Time
	// pauses counts those on the card.
	pauses int
}

func (e *execution) toPublish() published {
	return published{state: e.state(), deadline: e.deadline(), pauses: len(e.run.Pauses)}
}

// keepPublished tells of each change, for the life of the run.
func (e *execution) keepPublished(ctx workflow.Context) {
	for await(ctx, func() bool { return e.published != e.toPublish() }) {
		e.publish(ctx)
	}
}

// publish tells lists, filters and the Temporal UI where the execution is. Each change that can be filtered by costs an event.
func (e *execution) publish(ctx workflow.Context) {
	was, now := e.published, e.toPublish()
	e.published = now
	var updates []temporal.SearchAttributeUpdate
	if now.state != was.state {
		updates = append(updates, searchattr.State.ValueSet(now.state), searchattr.StateSince.ValueSet(workflow.Now(ctx)))
	}
	if now.deadline != was.deadline && !now.deadline.IsZero() {
		updates = append(updates, searchattr.Deadline.ValueSet(now.deadline))
	} else if now.deadline != was.deadline {
		updates = append(updates, searchattr.Deadline.ValueUnset())
	}
	if len(updates) > 0 {
		if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
			e.log.Error("search attributes not published", "error", err)
		}
	}
	workflow.SetCurrentDetails(ctx, e.card())
}

// state is the phase, or how it ended.
func (e *execution) state() string {
	if e.run.Outcome != nil {
		return string(e.run.Outcome.Kind)
	}
	return string(e.phase())
}

// deadline is the first at which a pause that waits expires.
func (e *execution) deadline() time.Time {
	var first time.Time
	for _, p := range e.run.Pauses {
		if p.Open() && (first.IsZero() || p.Deadline.Before(first)) {
			first = p.Deadline
		}
	}
	return first
}

const (
	cardTime = "2006-01-02 15:04:05Z"
	// cardWords bounds a person's or a tool's own words on the card.
	cardWords = 200
)

// card is the status card of the Temporal UI, in Markdown.
func (e *execution) card() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** — %s\n\n", e.state(), e.in.Address)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, text.Clip(strings.Join(strings.Fields(value), " "), cardWords))
		}
	}
	if o := e.run.Outcome; o != nil {
		line("why", strings.TrimSuffix(o.Code+": "+o.Message, ": "))
	}
	for _, p := range e.run.Pauses {
		name := fmt.Sprintf("question %d", p.Number)
		line(name, p.Request.Message)
		switch {
		case p.Decision != nil:
			line(name+" decided", fmt.Sprintf("%s by %s", p.Decision.Action, cmp.Or(p.Decision.Name, p.Decision.By)))
			line(name+" reason", p.Decision.Reason)
		case p.Expired:
			line(name+" expired", p.Deadline.UTC().Format(cardTime))
		case p.Dropped:
			line(name+" dropped", "the run ended before anybody answered")
		default:
			line(name+" waits until", p.Deadline.UTC().Format(cardTime))
			line("decide", "holdfast approval approve "+p.ID)
		}
	}
	line("session", e.in.Session)
	line("digest", e.in.Digest)
	return b.String()
}
