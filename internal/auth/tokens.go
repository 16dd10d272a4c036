package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// touchEvery is how often the last use of a token is written at most.
	touchEvery = time.Minute
	// touchTimeout bounds such a write.
	touchTimeout = 5 * time.Second
)

// MaxNameBytes bounds a token's name.
const MaxNameBytes = 100

// MaxAccountBytes bounds the account that a token is for.
const MaxAccountBytes = 200

// Errors of this package. Whatever is wrong with a token that was shown, the answer is the same: a stranger learns nothing.
var (
	// ErrUnauthorized says that nothing was shown that lets anybody in.
	ErrUnauthorized = errors.New("no valid token: send Authorization: Bearer with one made by holdfast token create")
	// ErrNoToken says that there is no such token to revoke.
	ErrNoToken = errors.New("no such token; holdfast token list shows those there are")
)

// Store is where tokens are kept.
type Store interface {
	PutAPIToken(ctx context.Context, token store.APIToken) error
	APITokens(ctx context.Context) ([]store.APIToken, error)
	APITokenByID(ctx context.Context, id string) (store.APIToken, error)
	RevokeAPIToken(ctx context.Context, id string, at time.Time) (bool, error)
	TouchAPIToken(ctx context.Context, id string, at time.Time) error
}

// Tokens makes, checks and revokes tokens. It is safe for concurrent use, and no check is answered from memory: a token that
// was revoked by another process is refused at once.
type Tokens struct {
	store Store
	now   func() time.Time

	mu      sync.Mutex
	touched map[string]time.Time
	writing sync.WaitGroup
}

// NewTokens makes it; now is the clock, nil the system's.
func NewTokens(s Store, now func() time.Time) *Tokens {
	if now == nil {
		now = time.Now
	}
	return &Tokens{store: s, now: now, touched: map[string]time.Time{}}
}

// Close waits until the last uses are written, for [touchTimeout] at most. Nothing may be authenticated after it.
func (t *Tokens) Close() { t.writing.Wait() }

// Request says what token is wanted.
type Request struct {
	Name string
	Role Role
	// ExpiresIn is how long it may be used; 0: until it is revoked.
	ExpiresIn time.Duration
	// By is who asks for it.
	By string
	// Account is whose sessions and executions its bearer's are, at most [MaxAccountBytes]; empty: an account of its own.
	Account string
}

// RequestError says what is wrong with a [Request].
type RequestError struct{ Problem string }

func (e *RequestError) Error() string { return "make token: " + e.Problem }

func (r Request) check() error {
	switch {
	case strings.TrimSpace(r.Name) == "":
		return &RequestError{"give it a name that says who uses it"}
	case len(r.Name) > MaxNameBytes || strings.ContainsFunc(r.Name, unicode.IsControl):
		return &RequestError{fmt.Sprintf("its name must be printable and at most %d bytes", MaxNameBytes)}
	case len(r.Account) > MaxAccountBytes || strings.ContainsFunc(r.Account, unicode.IsControl) || strings.TrimSpace(r.Account) != r.Account:
		return &RequestError{fmt.Sprintf("its account must be printable, without spaces around it and at most %d bytes", MaxAccountBytes)}
	case !r.Role.Allows(RoleViewer):
		return &RequestError{fmt.Sprintf("give one of the roles %v", Roles())}
	case r.ExpiresIn < 0:
		return &RequestError{"it must not expire in the past"}
	default:
		return nil
	}
}

// Create makes a token and returns its secret, which cannot be had again. A request that cannot be met is a *[RequestError].
func (t *Tokens) Create(ctx context.Context, r Request) (Secret, store.APIToken, error) {
	if err := r.check(); err != nil {
		return Secret{}, store.APIToken{}, err
	}
	secret, now := newSecret(), t.now()
	row := store.APIToken{
		ID: secret.id, Name: r.Name, Role: string(r.Role), Hash: secret.hash(), CreatedAt: now, CreatedBy: r.By,
		Account: r.Account,
	}
	if r.ExpiresIn > 0 {
		row.ExpiresAt = now.Add(r.ExpiresIn)
	}
	if err := t.store.PutAPIToken(ctx, row); err != nil {
		return Secret{}, store.APIToken{}, fmt.Errorf("make token: %w", err)
	}
	return secret, row, nil
}

// List shows every token, the newest first.
func (t *Tokens) List(ctx context.Context) ([]store.APIToken, error) {
	rows, err := t.readable(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, func(a, b store.APIToken) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return rows, nil
}

// Revoke ends a token for good. Revoking it again is harmless; [ErrNoToken] where there never was one.
func (t *Tokens) Revoke(ctx context.Context, id string) error {
	revoked, err := t.store.RevokeAPIToken(ctx, id, t.now())
	if err != nil {
		return fmt.Errorf("revoke token: %w", err)
	}
	if revoked {
		return nil
	}
	var corrupt *store.CorruptRowError
	_, err = t.store.APITokenByID(ctx, id)
	switch {
	case err == nil, errors.As(err, &corrupt): // revoked before
		return nil
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("revoke token: %w", ErrNoToken)
	default:
		return fmt.Errorf("revoke token: %w", err)
	}
}

// RevokeBy ends every live token that somebody made.
func (t *Tokens) RevokeBy(ctx context.Context, by string) error {
	rows, err := t.readable(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.CreatedBy != by || !Live(row, t.now()) {
			continue
		}
		if _, err := t.store.RevokeAPIToken(ctx, row.ID, t.now()); err != nil {
			return fmt.Errorf("revoke tokens: %w", err)
		}
	}
	return nil
}

// AnyLive reports whether there is a token that may be used now.
func (t *Tokens) AnyLive(ctx context.Context) (bool, error) {
	rows, err := t.readable(ctx)
	return slices.ContainsFunc(rows, func(row store.APIToken) bool { return Live(row, t.now()) }), err
}

// readable lists the tokens whose rows are whole: a damaged one lets nobody in, and must not hide the others.
func (t *Tokens) readable(ctx context.Context) ([]store.APIToken, error) {
	rows, err := t.store.APITokens(ctx)
	var corrupt *store.CorruptRowError
	if err != nil && !errors.As(err, &corrupt) {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return rows, nil
}

// Live reports whether a token may be used at a time.
func Live(row store.APIToken, now time.Time) bool {
	return row.RevokedAt.IsZero() && (row.ExpiresAt.IsZero() || now.Before(row.ExpiresAt)) && Role(row.Role).rank() > 0
}

// Authenticate tells who shows a token. Everything that is wrong with it is [ErrUnauthorized]; any other error means that the
// store could not say.
func (t *Tokens) Authenticate(ctx context.Context, shown string) (Principal, error) {
	secret, ok := parseSecret(shown)
	if !ok {
		return Principal{}, ErrUnauthorized
	}
	row, err := t.store.APITokenByID(ctx, secret.id)
	var corrupt *store.CorruptRowError
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.As(err, &corrupt) {
		return Principal{}, fmt.Errorf("look up token: %w", err)
	}
	now := t.now()
	// A row that is not there, or damaged, has no hash and is compared all the same.
	if !secret.matches(row.Hash) || err != nil || !Live(row, now) {
		return Principal{}, ErrUnauthorized
	}
	t.touch(ctx, row, now)
	return principal(row), nil
}

// principal is whose a token is.
func principal(row store.APIToken) Principal {
	id := "token:" + row.ID
	return Principal{
		ID: id, Name: row.Name, Role: Role(row.Role),
		Identity: approval.Identity{Account: cmp.Or(row.Account, id), Organisation: DefaultOrganisation},
	}
}

// touch notes the use beside the request: a store that cannot be written to must not keep out who may read.
func (t *Tokens) touch(ctx context.Context, row store.APIToken, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(row.LastUsedAt) < touchEvery || now.Sub(t.touched[row.ID]) < touchEvery {
		return
	}
	t.touched[row.ID] = now
	t.writing.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), touchTimeout)
		defer cancel()
		_ = t.store.TouchAPIToken(ctx, row.ID, now)
	})
}
