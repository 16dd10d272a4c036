package api

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

// sharedItem is a config that all workspaces of an account share.
type sharedItem struct {
	Account     string                       `json:"account"`
	Name        string                       `json:"name"`
	Profile     desired.Profile              `json:"profile"`
	Config      desired.Redacted             `json:"config"`
	TokenSource *desired.RedactedTokenSource `json:"tokenSource,omitempty"`
	Intent      *intentView                  `json:"intent,omitempty"`
	UpdatedAt   *time.Time                   `json:"updatedAt,omitempty"`
}

// sharedList are the shared configs of an account.
type sharedList struct {
	Items []sharedItem `json:"items"`
}

// sharedChange is what a change of a shared config did: stored, and told to the connection of each workspace.
type sharedChange struct {
	Changed    bool        `json:"changed"`
	Account    string      `json:"account"`
	Name       string      `json:"name"`
	Intent     *intentView `json:"intent,omitempty"`
	Workspaces []outcome   `json:"workspaces"`
}

// sharedDesired lists the shared configs of an account. A damaged row is left out: it must not hide the others.
func (a *API) sharedDesired(ctx context.Context, account string) ([]store.AccountDesired, error) {
	return fromStore(ctx, a, func(ctx context.Context) ([]store.AccountDesired, error) {
		rows, err := a.Store.ListAccountDesired(ctx, account)
		var corrupt *store.CorruptRowError
		if errors.As(err, &corrupt) {
			err = nil
		}
		return rows, err
	})
}

func getShared(a *API, c *call) (*reply, error) {
	account := c.path("account")
	rows, err := a.sharedDesired(c.Context(), account)
	if err != nil {
		return nil, err
	}
	intents, err := fromStore(c.Context(), a, func(ctx context.Context) ([]store.Intent, error) {
		return a.Store.Intents(ctx, store.IntentFilter{Account: account})
	})
	if err != nil {
		return nil, err
	}
	list := sharedList{Items: []sharedItem{}}
	for _, row := range rows {
		item := sharedItem{
			Account: row.Account, Name: row.Name, Profile: row.Profile, Config: row.Config.Redacted(),
			TokenSource: row.TokenSource.Redacted(), UpdatedAt: views.Moment(row.UpdatedAt),
		}
		for _, intent := range intents {
			if intent.Account == account && intent.Name == row.Name {
				item.Intent = viewOf(&intent)
			}
		}
		list.Items = append(list.Items, item)
	}
	return ok(list)
}

// sharedName checks the address of a shared config.
func sharedName(c *call) (account, name string, err error) {
	account, name = c.path("account"), c.path("name")
	if err := (delivery.Key{Workspace: account, Name: name}).Validate(); err != nil {
		return "", "", failf(CodeInvalidName, "The account and the name must be printable and at most %d bytes.", delivery.MaxNameBytes)
	}
	return account, name, nil
}

// putShared stores a config for all workspaces of an account. What was removed before is wanted again.
func putShared(a *API, c *call) (*job, error) {
	raw, err := c.object()
	if err != nil {
		return nil, err
	}
	var body configBody
	if err := c.decode(&body, false); err != nil {
		return nil, err
	}
	account, name, err := sharedName(c)
	if err != nil {
		return nil, err
	}
	stored, err := a.shared(c.Context(), account, name)
	if err != nil {
		return nil, err
	}
	want, err := readWanted(raw, body, name, store.Effective{Desired: store.Desired{Profile: stored.Profile}})
	if err != nil {
		return nil, err
	}
	if err := want.acceptable(c.principal); err != nil {
		return nil, err
	}
	who, m := c.principal.ID, c.memory
	return &job{run: func(ctx context.Context, _ string) (*reply, error) {
		changed, err := a.share(ctx, m, want.shared(account, name), store.Intent{Account: account, Name: name, By: who, Reason: "shared config put"})
		if err != nil {
			return nil, err
		}
		return a.tellAccount(ctx, sharedChange{Changed: changed, Account: account, Name: name}, "shared config changed")
	}}, nil
}

// shared is the stored config; empty where there is none, or none that can be read.
func (a *API) shared(ctx context.Context, account, name string) (store.AccountDesired, error) {
	row, err := fromStore(ctx, a, func(ctx context.Context) (store.AccountDesired, error) {
		return a.Store.AccountDesired(ctx, account, name)
	})
	if errors.Is(err, store.ErrNotFound) || unreadable(err) {
		return store.AccountDesired{}, nil
	}
	return row, err
}

// tellAccount tells the connection of each workspace of an account that something else is wanted. Each takes it up by itself, when
// no session uses its client.
func (a *API) tellAccount(ctx context.Context, change sharedChange, trigger string) (*reply, error) {
	targets, err := a.ofAccount(ctx, change.Account, change.Name)
	if err != nil {
		return nil, err
	}
	change.Workspaces = a.fanOut(ctx, targets, func(ctx context.Context, t target) error { return a.ensure(ctx, t, trigger) })
	return ok(change)
}

// deleteShared takes a shared config away from all workspaces of an account.
func deleteShared(a *API, c *call) (*job, error) {
	account, name, err := sharedName(c)
	if err != nil {
		return nil, err
	}
	if err := a.mustBeShared(c, account, name); err != nil {
		return nil, err
	}
	who, m := c.principal.ID, c.memory
	return &job{run: func(ctx context.Context, _ string) (*reply, error) {
		made, err := a.decide(ctx, m, nil, store.Intent{Account: account, Name: name, Kind: store.IntentRemoved, By: who})
		if err != nil {
			return nil, err
		}
		change := sharedChange{Changed: true, Account: account, Name: name, Intent: made.view()}
		if made.superseded {
			return a.tellAccount(ctx, change, "shared config changed")
		}
		_, err = fromStore(ctx, a, func(ctx context.Context) (bool, error) {
			return a.Store.DeleteAccountDesired(ctx, account, name)
		})
		if err != nil {
			return nil, err
		}
		return a.tellAccount(ctx, change, "shared config removed")
	}}, nil
}

// mustBeShared refuses what is about nothing. A request that has decided already is about what was there then.
func (a *API) mustBeShared(c *call, account, name string) error {
	if c.memory.intent != nil {
		return nil
	}
	_, err := fromStore(c.Context(), a, func(ctx context.Context) (store.AccountDesired, error) {
		return a.Store.AccountDesired(ctx, account, name)
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return failf(CodeConnectionNotFound, "The account shares no MCP server of this name: GET /api/v1/accounts/{account}/connections lists those it shares.")
	case unreadable(err):
		return nil
	default:
		return err
	}
}

func postSharedEnable(a *API, c *call) (*job, error) { return a.switchShared(c, store.IntentEnabled) }

func postSharedDisable(a *API, c *call) (*job, error) { return a.switchShared(c, store.IntentDisabled) }

// switchShared switches a shared server on or off in all workspaces of an account.
func (a *API) switchShared(c *call, kind store.IntentKind) (*job, error) {
	reason, err := c.reason()
	if err != nil {
		return nil, err
	}
	account, name, err := sharedName(c)
	if err != nil {
		return nil, err
	}
	if err := a.mustBeShared(c, account, name); err != nil {
		return nil, err
	}
	m := c.memory
	intent := store.Intent{Account: account, Name: name, Kind: kind, By: c.principal.ID, Reason: reason}
	return &job{run: func(ctx context.Context, _ string) (*reply, error) {
		made, err := a.decide(ctx, m, nil, intent)
		if err != nil {
			return nil, err
		}
		change := sharedChange{Changed: true, Account: account, Name: name, Intent: made.view()}
		return a.tellAccount(ctx, change, string(kind))
	}}, nil
}
