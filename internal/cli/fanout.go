package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	// atOnce is how many connections a command works on at the same time.
	atOnce = 16
	// waitAtOnce is how many it waits for: a wait is a call that rests in the server.
	waitAtOnce = 64

	ensureTimeout = 15 * time.Second
)

// What a command did to a connection.
const (
	changeWritten = "changed"
	changeNone    = "unchanged"
)

// applied is one connection that a change concerns.
type applied struct {
	view

	Change   string `json:"change"`
	Revision string `json:"revision,omitempty"`
	// Account is whose config it is, where that is shared.
	Account string `json:"account,omitempty"`
	// Intent is what somebody wants of it, whatever its config says: enabled, disabled or removed.
	Intent store.IntentKind `json:"intent,omitempty"`
	Error  string           `json:"error,omitempty"`

	key     delivery.Key
	hint    string // the revision to signal; empty: look in the store
	removed bool
	verdict error
}

// fanOut says how a change is carried to the workflows.
type fanOut struct {
	trigger string // where the request has none
	wait    waitFlags
	request *requestFlags
	// only is the connection that the JSON answer is about; nil: it is a list of all.
	only *delivery.Key
}

// carryThrough tells the workflows of what was written, each by its own signal, waits where that is wanted, and prints a line for
// each connection.
func (s *session) carryThrough(ctx context.Context, changed touched, f fanOut) error {
	f.request.id() // one id for all of them, made before they part
	if f.request.trigger == "" {
		f.request.trigger = f.trigger
	}
	f.trigger = f.request.trigger // told by the signal and by the wait alike
	remote, err := s.connect(ctx)
	if err != nil {
		return err
	}
	done, err := s.standAfter(ctx, changed)
	if err != nil {
		return err
	}
	if err := s.start(ctx, remote, done, f.trigger); err != nil {
		return fmt.Errorf("what is wanted is stored, but not every workflow was told: %w; run the same command again", err)
	}
	if err := s.tellLeft(ctx, remote, changed, f.trigger); err != nil {
		return fmt.Errorf("what is wanted is stored, but not every workflow was told: %w; next: holdfast fleet reconcile", err)
	}
	s.app.warnOfMissing(done)
	group := errgroup.Group{}
	group.SetLimit(waitAtOnce)
	for _, one := range done {
		if one.removed || one.verdict != nil {
			continue
		}
		group.Go(func() error {
			s.follow(ctx, remote, one, f.wait, *f.request)
			return nil
		})
	}
	_ = group.Wait() // none returns an error: each keeps its own
	return s.app.printApplied(done, f.only)
}

// standAfter reads what each connection should be, now that all is written. What cannot be read is told with its connection.
func (s *session) standAfter(ctx context.Context, changed touched) ([]*applied, error) {
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	keyset, err := s.keys()
	if err != nil {
		return nil, err
	}
	done := make([]*applied, 0, len(changed.list))
	for _, a := range changed.list {
		one := &applied{view: newView(a.key), key: a.key, Change: changeNone}
		if a.changed {
			one.Change = changeWritten
		}
		done = append(done, one)
		want, err := st.Effective(ctx, a.key)
		if err == nil && !want.Removed {
			one.Revision, err = desired.RevisionWith(keyset.MAC(), want.Profile, want.Config, want.Metadata, want.TokenSource)
		}
		if isCorrupt(err) || errors.Is(err, store.ErrNotFound) {
			one.fail(err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("apply %s: %w", short(a.key), err)
		}
		one.Engine, one.removed = want.EngineID, want.Removed
		if want.Shared {
			one.Account = want.Account
		}
		if want.Intent != nil {
			one.Intent = want.Intent.Kind
			s.app.sayIntent(a.key, want)
		}
		if !a.moved {
			one.hint = one.Revision
		}
	}
	return done, nil
}

func (a *applied) fail(err error) { a.verdict, a.Error = err, err.Error() }

// sayIntent tells why a connection is not delivered although its config was applied, and what to do about it.
func (a *App) sayIntent(key delivery.Key, want store.Effective) {
	intent := want.Intent
	if intent.Kind == store.IntentEnabled {
		return
	}
	next := "holdfast connection enable " + short(key)
	if intent.Account != "" {
		next = "holdfast account enable " + intent.Account + "/" + key.Name
	}
	what := "switched off"
	if intent.Kind == store.IntentRemoved {
		what = "removed"
	}
	a.say("holdfast: %s is %s%s; next: %s", short(key), what, whoAndWhy(*intent), next)
}

func whoAndWhy(intent store.Intent) string {
	text := ""
	if intent.Account != "" {
		text += " for the whole account " + intent.Account
	}
	if intent.By != "" {
		text += " by " + intent.By
	}
	text += " at " + clock(&intent.UpdatedAt)
	if intent.Reason != "" {
		text += " (" + intent.Reason + ")"
	}
	return text
}

// warnOfMissing says which directories are not on this machine: an engine takes any, and a mistyped one looks fine there.
func (a *App) warnOfMissing(done []*applied) {
	for _, one := range done {
		if _, err := os.Stat(one.key.Directory); errors.Is(err, os.ErrNotExist) {
			a.say("holdfast: %s: there is no directory %s on this machine; right only where the engine runs elsewhere",
				short(one.key), one.key.Directory)
		}
	}
}

// start makes sure that every connection and every engine has its workflow. One that was removed is told where it runs, and not
// started.
func (s *session) start(ctx context.Context, remote *Remote, done []*applied, trigger string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	engines := map[string]bool{}
	for _, one := range done {
		if one.verdict != nil {
			continue
		}
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
			defer cancel()
			changed := connection.DesiredChanged{Revision: one.hint, Trigger: trigger}
			if one.removed {
				return tellRunning(ctx, remote, one.key, changed)
			}
			return remote.Connections.Ensure(ctx, one.key, one.Engine, changed)
		})
		if one.removed || one.Engine == "" || engines[one.Engine] {
			continue
		}
		engines[one.Engine] = true
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
			defer cancel()
			return remote.Engines.Ensure(ctx, one.Engine)
		})
	}
	return group.Wait()
}

// tellLeft tells the connections of an account that their workspace has left: each lets go of its client once that is idle, and
// is ended by the fleet.
func (s *session) tellLeft(ctx context.Context, remote *Remote, changed touched, trigger string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, key := range changed.left {
		if slices.ContainsFunc(changed.list, func(a *affected) bool { return a.key == key }) {
			continue
		}
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
			defer cancel()
			return tellRunning(ctx, remote, key, connection.DesiredChanged{Trigger: trigger})
		})
	}
	return group.Wait()
}

// tellRunning signals a workflow where it runs.
func tellRunning(ctx context.Context, remote *Remote, key delivery.Key, changed connection.DesiredChanged) error {
	d, err := remote.Connections.Describe(ctx, key)
	if errors.Is(err, connection.ErrNotFound) || (err == nil && !d.Running) {
		return nil
	}
	if err != nil {
		return err
	}
	return remote.Connections.Ensure(ctx, key, "", changed)
}
