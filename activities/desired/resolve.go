package desired

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Store is what this package reads.
type Store interface {
	Effective(ctx context.Context, key store.Key) (store.Effective, error)
	Token(ctx context.Context, credential string) (store.Token, error)
}

// Resolver reads what is wanted of a connection, with its revision. The other activity packages use it, so that all of
// them mean the same by "this revision".
type Resolver struct {
	store Store
	mac   desired.MAC
	now   func() time.Time
}

// NewResolver makes a resolver. All workers must be given the same MAC keyset: it makes the revisions.
func NewResolver(s Store, mac desired.MAC) *Resolver {
	return &Resolver{store: s, mac: mac, now: time.Now}
}

// WithClock makes the resolver judge tokens by another clock, for tests that skip time.
func (r *Resolver) WithClock(now func() time.Time) *Resolver {
	r.now = now
	return r
}

// Resolved is a desired config, secrets included. It never leaves the process.
type Resolved struct {
	store.Effective

	Revision string
	// Token is what is known of the token, where the config has a source for it; the token itself is in the headers.
	Token *TokenView
	// TokenKey names the row of the token in the store, where the config has a source that mints.
	TokenKey string
	// Failure is set when the config breaks a rule of its profile, or does not say where it is to be delivered.
	Failure *health.Failure
}

// ErrNothingWanted means that the store holds no desired config of this connection, or that somebody removed it.
var ErrNothingWanted = errors.New("nothing is desired")

// Resolve reads what is wanted: the account's shared config or the connection's own, with what people have switched off,
// and with the token that is current. It returns [ErrNothingWanted], or the typed error of an unreadable row or store.
func (r *Resolver) Resolve(ctx context.Context, key delivery.Key) (Resolved, error) {
	row, err := r.store.Effective(ctx, key)
	if errors.Is(err, store.ErrNotFound) || (err == nil && row.Removed) {
		return Resolved{}, ErrNothingWanted
	}
	if err != nil {
		return Resolved{}, unreadable(err)
	}
	revision, err := desired.RevisionWith(r.mac, row.Profile, row.Config, row.Metadata, row.TokenSource)
	if err != nil {
		return Resolved{}, unreadable(fmt.Errorf("make revision: %w", err))
	}
	got := Resolved{Effective: row, Revision: revision, Failure: obstacle(row)}
	if got.TokenSource == nil || got.Failure != nil {
		return got, nil
	}
	return got, r.authorize(ctx, &got)
}

// obstacle is what forbids a delivery from the start: a rule that the config breaks, then a directory or an engine that is
// not named.
func obstacle(row store.Effective) *health.Failure {
	config := row.Config
	if row.TokenSource != nil {
		if f := row.TokenSource.Validate(); f != nil {
			return f
		}
		// The rules ask for a token; which one it is does not matter to them.
		config.Headers = withToken(config.Headers, "from-its-source")
	}
	if f := desired.Validate(row.Profile, config, row.Metadata); f != nil {
		return decided(row, f)
	}
	var f health.Failure
	switch {
	case row.Directory == "":
		f = health.DirectoryAmbiguous()
	case row.EngineID == "":
		f = health.EngineUnconfigured()
	default:
		return nil
	}
	return &f
}

// decided tells a config that says off from a server that somebody has switched off.
func decided(row store.Effective, f *health.Failure) *health.Failure {
	intent := row.Intent
	if f.Code != health.CodeDisabled || intent == nil || intent.Kind != store.IntentDisabled {
		return f
	}
	off := health.SwitchedOff(health.Decision{
		Account: intent.Account, Workspace: intent.Workspace, Name: intent.Name, By: intent.By, Reason: intent.Reason,
		At: intent.UpdatedAt,
	})
	return &off
}

// Is reports whether the connection still wants the revision.
func (r *Resolver) Is(ctx context.Context, key delivery.Key, revision string) (Resolved, bool, error) {
	got, err := r.Resolve(ctx, key)
	if errors.Is(err, ErrNothingWanted) {
		return Resolved{}, false, nil
	}
	return got, err == nil && got.Revision == revision, err
}

// unreadable says that the desired config cannot be read. A corrupt row stays corrupt until somebody applies the config
// again; anything else may pass.
func unreadable(err error) error {
	var corrupt *store.CorruptRowError
	isCorrupt := errors.As(err, &corrupt)
	return apperr.Failed(health.DesiredUnreadable(!isCorrupt, err.Error()), err)
}
