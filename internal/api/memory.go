package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// memory is what was done for a request before, by whichever gateway. The zero value is that of a request that nobody can repeat.
type memory struct {
	id     string
	plan   []byte
	intent *store.Intent
}

func memoryOf(row store.Request) memory {
	if row.Key == "" {
		return memory{}
	}
	return memory{id: row.ID, plan: row.Plan, intent: row.Intent}
}

// planned reads what was found when the request was carried out first, and reports whether it was.
func (m memory) planned(into any) bool { return m.plan != nil && json.Unmarshal(m.plan, into) == nil }

// keepPlan notes what was found, before anything is changed without an intent.
func (a *API) keepPlan(ctx context.Context, m memory, plan any) error {
	if m.id == "" || m.plan != nil {
		return nil
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	_, err = fromStore(ctx, a, func(ctx context.Context) ([]byte, error) { return a.Store.PlanRequest(ctx, m.id, raw) })
	return err
}

// decision is an intent that a request has written, now or when it was carried out before.
type decision struct {
	store.Intent

	// superseded says that somebody has decided otherwise since: theirs is the last word.
	superseded bool
}

func (d decision) view() *intentView {
	v := viewOf(&d.Intent)
	v.Superseded = d.superseded
	return v
}

// decide writes an intent, and notes what it is about. One that was written for the same request before is not written again.
func (a *API) decide(ctx context.Context, m memory, about []target, intent store.Intent) (decision, error) {
	if m.id == "" {
		written, err := fromStore(ctx, a, func(ctx context.Context) (store.Intent, error) { return a.Store.PutIntent(ctx, intent) })
		return decision{Intent: written}, err
	}
	plan, err := json.Marshal(planOf(about))
	if err != nil {
		return decision{}, err
	}
	written, err := fromStore(ctx, a, func(ctx context.Context) (store.Intent, error) {
		return a.Store.PutIntentFor(ctx, m.id, plan, intent)
	})
	if err != nil || m.intent == nil {
		return decision{Intent: written}, err
	}
	now, err := a.intent(ctx, written.Account, written.Workspace, written.Name)
	return decision{written, now == nil || now.Revision != written.Revision}, err
}

// plan is what an operation found when it was carried out first: afterwards some of it may be gone.
type plan struct {
	Directories []store.Workspace `json:"directories,omitempty"`
	Targets     []plannedTarget   `json:"targets"`
}

type plannedTarget struct {
	Workspace store.Workspace `json:"workspace"`
	Name      string          `json:"name"`
	Wanted    bool            `json:"wanted"`
	UpdatedAt time.Time       `json:"updatedAt"`
}

func planOf(targets []target) plan {
	var p plan
	for _, t := range targets {
		p.Targets = append(p.Targets, plannedTarget{t.workspace, t.key.Name, t.wanted(), t.effective.UpdatedAt})
	}
	return p
}

func (p plan) targets() []target {
	var targets []target
	for _, each := range p.Targets {
		t := target{
			workspace: each.Workspace, known: each.Wanted,
			key: delivery.Key{Workspace: each.Workspace.ID, Name: each.Name, Directory: each.Workspace.Directory},
		}
		t.effective.UpdatedAt = each.UpdatedAt
		targets = append(targets, t)
	}
	return targets
}

// before are the targets of a request that has changed something already.
func (m memory) before() ([]target, bool) {
	var p plan
	if !m.planned(&p) {
		return nil, false
	}
	return p.targets(), len(p.Targets) > 0
}

// unchanged leaves out what somebody has wanted otherwise since the plan was made.
func (a *API) unchanged(ctx context.Context, targets []target) ([]target, error) {
	var same []target
	for _, t := range targets {
		now, err := a.look(ctx, t.workspace, t.key.Name)
		if err != nil {
			return nil, err
		}
		if !now.wanted() || now.effective.UpdatedAt.Equal(t.effective.UpdatedAt) {
			same = append(same, t)
		}
	}
	return same, nil
}
