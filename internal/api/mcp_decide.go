package api

import (
	"context"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// acceptable refuses a config that breaks a rule, or that the caller may not want. One that is switched off may be stored.
func (w wantedConfig) acceptable(who auth.Principal) error {
	if err := w.trusted(who); err != nil {
		return err
	}
	judged := w
	if w.config.Enabled != nil && !*w.config.Enabled {
		enabled := true
		judged.config.Enabled = &enabled
	}
	if problem := judged.problem(); problem != nil {
		return failf(CodeInvalidPayload, "%s", problem.Message).with("failure", map[string]any{
			"code": problem.Code, "stage": problem.Stage, "recommendedAction": problem.RecommendedAction,
		})
	}
	return nil
}

// enabledBody switches a server on or off.
type enabledBody struct {
	Enabled *bool `json:"enabled"`
}

// postEnabled switches a server on or off in all directories of a workspace.
func postEnabled(a *API, c *call) (*job, error) {
	var body enabledBody
	if err := c.decode(&body, true); err != nil {
		return nil, err
	}
	if body.Enabled == nil {
		return nil, failf(CodeInvalidPayload, "enabled must be true or false.")
	}
	kind := store.IntentDisabled
	if *body.Enabled {
		kind = store.IntentEnabled
	}
	targets, err := a.known(c, c.path("id"), CodeMCPNotFound)
	if err != nil {
		return nil, err
	}
	who, m := c.principal.ID, c.memory
	return &job{run: func(ctx context.Context, _ string) (*reply, error) {
		if _, err := a.switchAll(ctx, m, targets, store.Intent{Kind: kind, By: who}); err != nil {
			return nil, err
		}
		rows := make([]store.Workspace, 0, len(targets))
		for _, t := range targets {
			rows = append(rows, t.workspace)
		}
		list, err := a.mcpsWith(ctx, rows, a.settled(ctx, targets))
		if err != nil {
			return nil, err
		}
		return ok(list)
	}}, nil
}

// known are the connections of a name in all directories of a workspace, where at least one of them is wanted. What somebody
// wants of a name he wants of all of them: choosing one directory of several is refused.
func (a *API) known(c *call, workspace string, missing Code) ([]target, error) {
	if targets, before := c.memory.before(); before {
		return targets, nil
	}
	targets, err := a.everywhere(c.Context(), workspace, c.path("name"))
	if err != nil {
		return nil, err
	}
	if err := c.coversAll(targets); err != nil {
		return nil, err
	}
	for _, t := range targets {
		if t.wanted() {
			return targets, nil
		}
	}
	return nil, fail(missing)
}

// coversAll refuses a request that names one directory of several, where it is about all of them.
func (c *call) coversAll(targets []target) error {
	directory, given := c.directory()
	if given && (len(targets) > 1 || targets[0].key.Directory != directory) {
		return failf(CodeInvalidPayload, "This holds for all directories of a workspace: leave directory out.")
	}
	return nil
}

// switchAll notes what somebody wants of a name in a workspace, and tells the connections. No repair that runs can undo it.
func (a *API) switchAll(ctx context.Context, m memory, targets []target, intent store.Intent) (decision, error) {
	intent.Workspace, intent.Name = targets[0].key.Workspace, targets[0].key.Name
	made, err := a.decide(ctx, m, targets, intent)
	if err != nil {
		return made, err
	}
	outcomes := a.fanOut(ctx, wantedOf(targets), func(ctx context.Context, t target) error {
		return a.ensure(ctx, t, string(intent.Kind))
	})
	for _, o := range outcomes {
		if !o.OK {
			// Stored, and taken up at the latest when the workflow looks next; the caller may send it again.
			return made, &Error{Code: o.Code, Message: o.Message}
		}
	}
	return made, nil
}

func wantedOf(targets []target) []target {
	var wanted []target
	for _, t := range targets {
		if t.wanted() {
			wanted = append(wanted, t)
		}
	}
	return wanted
}

// deleteMCP takes a server out of a workspace: out of what is wanted, out of the engine, and ends its workflows.
func deleteMCP(a *API, c *call) (*job, error) {
	targets, before := c.memory.before()
	if !before {
		var err error
		if targets, err = a.everywhere(c.Context(), c.path("id"), c.path("name")); err == nil {
			err = c.coversAll(targets)
		}
		if err != nil {
			return nil, err
		}
	}
	who, m := c.principal.ID, c.memory
	return &job{run: func(ctx context.Context, updateID string) (*reply, error) {
		if _, err := a.removeAll(ctx, m, targets, store.Intent{By: who}, updateID); err != nil {
			return nil, err
		}
		rows, err := a.workspaces(ctx, targets[0].key.Workspace)
		var ours *Error
		if errors.As(err, &ours) && ours.Code == CodeWorkspaceNotFound {
			return ok(emptyList()) // it was only known by this connection
		}
		if err != nil {
			return nil, err
		}
		list, err := a.mcps(ctx, rows)
		if err != nil {
			return nil, err
		}
		return ok(list)
	}}, nil
}

func emptyList() mcpList {
	return mcpList{Items: []mcpItem{}, EngineSync: engineSync{Status: "ok", Failures: []syncFailure{}}}
}

// removeAll notes first that the name is wanted no more: whatever happens afterwards, nobody delivers it again. Of a name that
// was wanted nowhere it only ends what may be left of it. Where no worker runs nothing is noted: it could not be carried out.
func (a *API) removeAll(ctx context.Context, m memory, targets []target, intent store.Intent, updateID string) (decision, error) {
	intent.Kind, intent.Workspace, intent.Name = store.IntentRemoved, targets[0].key.Workspace, targets[0].key.Name
	made := decision{Intent: intent}
	if err := a.allAwake(ctx, targets); err != nil {
		return made, err
	}
	var err error
	if len(wantedOf(targets)) > 0 {
		made, err = a.decide(ctx, m, targets, intent)
	} else {
		err = a.keepPlan(ctx, m, planOf(targets))
	}
	if err != nil || made.superseded {
		return made, err
	}
	if m.plan != nil {
		if targets, err = a.unchanged(ctx, targets); err != nil {
			return made, err
		}
	}
	for _, o := range a.fanOut(ctx, targets, func(ctx context.Context, t target) error { return a.removeOne(ctx, t, updateID) }) {
		if !o.OK {
			return made, &Error{Code: o.Code, Message: o.Message}
		}
	}
	return made, nil
}

// removeOne forgets what a connection wants of its own, has it taken out of its engine, and forgets what its probes knew.
func (a *API) removeOne(ctx context.Context, t target, updateID string) error {
	if _, err := fromStore(ctx, a, func(ctx context.Context) (bool, error) { return a.Store.DeleteDesired(ctx, t.key) }); err != nil {
		return err
	}
	_, err := fromTemporal(ctx, a, func(ctx context.Context) (connection.Health, error) {
		return a.Connections.Remove(ctx, t.key, updateID, connection.Request{Trigger: "removed"})
	})
	if err != nil && !errors.Is(err, connection.ErrNotFound) { // it never ran, or has ended
		return err
	}
	_, err = fromStore(ctx, a, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, a.Store.DeleteRuntime(ctx, t.key)
	})
	return err
}
