package connection

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/searchattr"
)

// published is what other readers were told last: it is told again only when it changed.
type published struct {
	state  delivery.State
	code   string
	engine string
	memo   string
}

// publish tells lists, filters and the Temporal UI how the connection stands.
func (c *connection) publish(ctx workflow.Context) {
	snapshot := c.snapshot()
	raw, err := json.Marshal(snapshot)
	if err != nil {
		c.log.Error("snapshot not published", "error", err)
		return
	}
	code := ""
	if snapshot.Failure != nil && (snapshot.State == delivery.Failed || snapshot.State == delivery.Stale) {
		code = string(snapshot.Failure.Code)
	}
	c.publishAttributes(ctx, snapshot.State, code)
	if string(raw) != c.published.memo {
		c.published.memo = string(raw)
		if err := workflow.UpsertMemo(ctx, map[string]any{MemoSnapshot: snapshot}); err != nil {
			c.log.Error("memo not published", "error", err)
		}
	}
	workflow.SetCurrentDetails(ctx, c.card(snapshot))
}

func (c *connection) publishAttributes(ctx workflow.Context, state delivery.State, code string) {
	if c.published.state == "" {
		c.published.state, c.published.code, c.published.engine = c.attributesNow(ctx)
	}
	moved := c.published.state != "" && c.EngineID != "" && c.published.engine != c.EngineID
	if c.published.state == state && c.published.code == code && !moved {
		return
	}
	updates := []temporal.SearchAttributeUpdate{
		searchattr.State.ValueSet(string(state)), searchattr.StateSince.ValueSet(workflow.Now(ctx)),
	}
	if code == "" {
		updates = append(updates, searchattr.FailureCode.ValueUnset())
	} else {
		updates = append(updates, searchattr.FailureCode.ValueSet(code))
	}
	if c.published.state == "" {
		updates = append(updates, searchattr.Workspace.ValueSet(c.Key.Workspace), searchattr.Name.ValueSet(c.Key.Name))
		moved = c.EngineID != ""
	}
	if moved {
		updates = append(updates, searchattr.Engine.ValueSet(c.EngineID))
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		c.log.Error("search attributes not published", "error", err)
		return
	}
	c.published.state, c.published.code, c.published.engine = state, code, c.EngineID
}

// attributesNow reads what an earlier run or the start published, so that a new run does not say it again.
func (c *connection) attributesNow(ctx workflow.Context) (state delivery.State, code, engineID string) {
	now := workflow.GetTypedSearchAttributes(ctx)
	was, _ := now.GetKeyword(searchattr.State)
	code, _ = now.GetKeyword(searchattr.FailureCode)
	engineID, _ = now.GetKeyword(searchattr.Engine)
	return delivery.State(was), code, engineID
}

const cardTime = "2006-01-02 15:04:05Z"

// card is the status card of the Temporal UI, in Markdown. What a person needs first stands first: the UI cuts it off. Everything on it is redacted already.
func (c *connection) card(s Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** — %s/%s\n\n", s.State, c.Key.Workspace, c.Key.Name)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, value)
		}
	}
	line("why", s.Reason)
	if s.Failure != nil {
		line("failure", string(s.Failure.Code)+": "+s.Failure.Message)
		line("cause", s.Failure.Cause())
		line("next step", s.Failure.RecommendedAction)
	}
	if s.Degraded != nil {
		line("degraded", s.Degraded.Failure.Message)
	}
	line("waiting for", string(s.WaitingFor))
	if s.NextAttemptAt != nil {
		line("next attempt", s.NextAttemptAt.UTC().Format(cardTime))
	}
	if s.Attempts > 0 {
		line("failures in a row", strconv.Itoa(s.Attempts))
	}
	if s.StateSince != nil {
		line("since", s.StateSince.UTC().Format(cardTime))
	}
	if c.Tools != nil {
		line("tools", fmt.Sprintf("%d listed, %d missing", c.Tools.Count, len(c.Tools.Missing)))
	}
	line("engine", c.EngineID)
	// A new run has no static details: the card is then the only place that names the directory.
	line("directory", c.Key.Directory)
	return b.String()
}
