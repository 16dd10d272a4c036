package tokensource

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// DefaultVerifyWithin bounds the verification of a new token when [Params] name no bound.
	DefaultVerifyWithin = 35 * time.Second

	// pollEvery is how often a process looks whether another one has minted.
	pollEvery = 50 * time.Millisecond
	// leaseMargin is what a lease lasts beyond the deadline of what it was taken for, for the store's sake.
	leaseMargin = 5 * time.Second
	// maxRounds is how often an ask may find that the token it got is not new enough for it.
	maxRounds = 4
)

// Store is where the tokens of all credentials are, for all processes.
type Store interface {
	Token(ctx context.Context, credential string) (store.Token, error)
	AcquireTokenLease(ctx context.Context, credential, holder string, now time.Time, ttl time.Duration) (store.TokenLease, error)
	AmendToken(ctx context.Context, lease store.TokenLease, token store.Token) error
	PutToken(ctx context.Context, lease store.TokenLease, token store.Token) error
	ReleaseTokenLease(ctx context.Context, lease store.TokenLease) error
	DropToken(ctx context.Context, credential string, sequence int64) (bool, error)
}

// Params are what a [Minter] works with. Store, Sources and MAC are needed.
type Params struct {
	Store   Store
	Sources *Sources
	// MAC names sources; all processes must be given the same.
	MAC desired.MAC
	// VerifyWithin bounds the verification of a new token; 0 or less means [DefaultVerifyWithin].
	VerifyWithin time.Duration
	// Now is the clock of leases and renewals; nil means the system's.
	Now func() time.Time
	// Holder names this process in leases; empty means a random name.
	Holder string
	// Jitter gives values in [0, 1); nil means random ones.
	Jitter func() float64
}

// Minter keeps a current token for each credential. It is safe for concurrent use.
type Minter struct {
	store        Store
	sources      *Sources
	mac          desired.MAC
	verifyWithin time.Duration
	now          func() time.Time
	holder       string
	jitter       func() float64

	flights  singleflight.Group
	attempts atomic.Int64
	kept     memory
}

// NewMinter makes a minter.
func NewMinter(p Params) *Minter {
	if p.VerifyWithin <= 0 {
		p.VerifyWithin = DefaultVerifyWithin
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Holder == "" {
		p.Holder = rand.Text()
	}
	if p.Jitter == nil {
		p.Jitter = mathrand.Float64 // not a secret: it only spreads renewals
	}
	return &Minter{
		store: p.Store, sources: p.Sources, mac: p.MAC, verifyWithin: p.VerifyWithin,
		now: p.Now, holder: p.Holder, jitter: p.Jitter,
	}
}

// Ask is the wish for a token.
type Ask struct {
	// Credential is that of the config; its sources have a row each, which [Key] names.
	Credential string
	Source     desired.TokenSource
	// Sequence is that of the newest token of this source that is not good enough; 0 takes any that is current.
	Sequence int64
	// Revision names the config that Verify stands for: what one endpoint refuses says nothing of another one.
	Revision string
	// Verify asks the endpoint about a new token before it becomes the current one; nil means that nobody is asked. A failure
	// that is not retryable refuses the token.
	Verify func(ctx context.Context, accessToken string) *health.Failure
}

// wish is an ask and the row that it is about.
type wish struct {
	Ask

	digest string // of the source
	key    string // of the row
}

func (m *Minter) wishFor(ask Ask) (wish, error) {
	digest, err := Digest(m.mac, ask.Source)
	return wish{Ask: ask, digest: digest, key: Key(ask.Credential, digest)}, err
}

// Outcome tells of the current token, and never holds it.
type Outcome struct {
	Sequence  int64
	ExpiresAt time.Time // zero: unknown
	RenewAt   time.Time // zero: never
	// Minted means that the token became current for this ask, or for one that it joined.
	Minted bool
}

// Bound is the longest that [Minter.Ensure] takes, the store's own waits aside: another process's mint and one of its own.
func (m *Minter) Bound() time.Duration {
	return 2 * m.turn()
}

// turn is the longest that one process has the right to mint.
func (m *Minter) turn() time.Duration { return m.mintLease() + m.verifyLease() }

func (m *Minter) mintLease() time.Duration { return m.sources.timeout + leaseMargin }

func (m *Minter) verifyLease() time.Duration { return m.verifyWithin + leaseMargin }

// Ensure makes sure that there is a current token that is newer than the ask's, and good for a while. Where there is, it
// is taken and nothing is minted. Otherwise one caller of all processes mints while the others wait for its token.
//
// Where minting fails, a stored token that is due for renewal and has not expired is what there is, and no failure: an
// outage of the token server takes nothing down before the token's own time is over. Its RenewAt lies behind by then, and
// when to ask again is for the caller to decide. There is no such token for who asks for a newer one than the current one.
//
// A token that its source or its endpoint refuses is an [*Error]; the token that was current then stays so. For a short
// while the failure of an endpoint answers whoever asks the same in this process. The failure's detail "refusedDigest" is the
// [TokenDigest] of the refused token.
func (m *Minter) Ensure(ctx context.Context, ask Ask) (Outcome, error) {
	w, err := m.wishFor(ask)
	if err != nil {
		return Outcome{}, err
	}
	got, err := m.newest(ctx, w)
	if err == nil || ctx.Err() != nil {
		return got, err
	}
	if row, unread := m.row(ctx, w.key); unread == nil && m.lives(row, w) {
		return outcomeOf(row), nil
	}
	return Outcome{}, err
}

// newest takes the current token if it serves, or has another one minted.
func (m *Minter) newest(ctx context.Context, w wish) (Outcome, error) {
	for range maxRounds {
		row, err := m.row(ctx, w.key)
		if err != nil {
			return Outcome{}, err
		}
		if m.serves(row, w) {
			return outcomeOf(row), nil
		}
		got, err := m.join(ctx, w)
		switch {
		case errors.Is(err, store.ErrLeaseLost): // to somebody whose token is there by now, or is being minted
		case err != nil:
			return Outcome{}, err
		case got.fresh || got.Sequence > w.Sequence:
			return got.Outcome, nil
		}
	}
	return Outcome{}, busy()
}

// Drop distrusts the token that a credential has from a source, in every process, unless it is newer than the given
// sequence; 0 stands for any. Of what this process remembers nothing counts any more, a refusal of the endpoint included.
// It reports whether a token was trusted before.
func (m *Minter) Drop(ctx context.Context, credential string, source desired.TokenSource, sequence int64) (bool, error) {
	w, err := m.wishFor(Ask{Credential: credential, Source: source})
	if err != nil {
		return false, err
	}
	m.kept.forget(w.key)
	dropped, err := m.store.DropToken(ctx, w.key, sequence)
	if err != nil {
		return false, fmt.Errorf("distrust the token that is stored: %w", err)
	}
	return dropped, nil
}

// flown is what the callers of one flight share.
type flown struct {
	Outcome

	// fresh means that the source was asked: nothing newer is to be had.
	fresh bool
}

// join mints, or waits for the caller of this process who does.
func (m *Minter) join(ctx context.Context, w wish) (flown, error) {
	flight := m.flights.DoChan(w.key+"\x00"+w.digest+"\x00"+w.Revision, func() (any, error) {
		// The first caller may give up; the others must not lose their token with it, nor anybody a rotated refresh token.
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Bound())
		defer cancel()
		return m.mint(shared, w)
	})
	select {
	case <-ctx.Done():
		return flown{}, ctx.Err()
	case res := <-flight:
		if res.Err != nil {
			return flown{}, res.Err
		}
		return res.Val.(flown), nil //nolint:forcetypeassert // the flight above returns nothing else
	}
}

// row reads what is stored; one that is absent or damaged is as good as none, and is written anew.
func (m *Minter) row(ctx context.Context, key string) (store.Token, error) {
	row, err := m.store.Token(ctx, key)
	var damaged *store.CorruptRowError
	if errors.Is(err, store.ErrNotFound) || errors.As(err, &damaged) {
		return store.Token{Credential: key, Dropped: true}, nil
	}
	if err != nil {
		return store.Token{}, fmt.Errorf("read the token that is stored: %w", err)
	}
	return row, nil
}

// serves reports whether a stored token is what is wished for.
func (m *Minter) serves(row store.Token, w wish) bool {
	return trusted(row, w) && (row.RenewAt.IsZero() || m.now().Before(row.RenewAt))
}

// lives reports whether a stored token is better than none.
func (m *Minter) lives(row store.Token, w wish) bool {
	return trusted(row, w) && (row.ExpiresAt.IsZero() || m.now().Before(row.ExpiresAt))
}

// trusted reports whether a stored token is of the wish's source and newer than what it does not want, whatever its time.
func trusted(row store.Token, w wish) bool {
	return row.AccessToken != "" && !row.Dropped && row.SourceDigest == w.digest && row.Sequence > w.Sequence
}

func outcomeOf(row store.Token) Outcome {
	return Outcome{Sequence: row.Sequence, ExpiresAt: row.ExpiresAt, RenewAt: row.RenewAt}
}

// nextHolder names one attempt: two of one process may be about two sources of a credential.
func (m *Minter) nextHolder() string {
	return m.holder + "/" + strconv.FormatInt(m.attempts.Add(1), 10)
}

// busy is the failure to get a turn in time.
func busy() *Error {
	return &Error{Failure: health.TokenSourceUnreachable("other processes were minting all the time")}
}
