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
	Credential string
	Source     desired.TokenSource
	// Sequence is that of the newest token that is not good enough; 0 takes any that is current.
	Sequence int64
	// Verify asks the endpoint about a new token before it becomes the current one; nil means that nobody is asked.
	Verify func(ctx context.Context, accessToken string) *health.Failure
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
// A token that its source or its endpoint refuses is an [*Error]; the token that was current then stays so.
func (m *Minter) Ensure(ctx context.Context, ask Ask) (Outcome, error) {
	digest, err := Digest(m.mac, ask.Source)
	if err != nil {
		return Outcome{}, err
	}
	for range maxRounds {
		row, err := m.row(ctx, ask.Credential)
		if err != nil {
			return Outcome{}, err
		}
		if m.serves(row, ask, digest) {
			return outcomeOf(row), nil
		}
		got, err := m.join(ctx, ask, digest)
		switch {
		case errors.Is(err, store.ErrLeaseLost): // to somebody whose token is there by now, or is being minted
		case err != nil:
			return Outcome{}, err
		case got.fresh || got.Sequence > ask.Sequence:
			return got.Outcome, nil
		}
	}
	return Outcome{}, busy()
}

// Drop distrusts the token of a credential in every process, unless it is newer than the given sequence; 0 stands for any.
// It reports whether the token was trusted before.
func (m *Minter) Drop(ctx context.Context, credential string, sequence int64) (bool, error) {
	m.kept.forget(credential)
	dropped, err := m.store.DropToken(ctx, credential, sequence)
	if err != nil {
		return false, fmt.Errorf("drop token: %w", err)
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
func (m *Minter) join(ctx context.Context, ask Ask, digest string) (flown, error) {
	flight := m.flights.DoChan(ask.Credential+"\x00"+digest, func() (any, error) {
		// The first caller may give up; the others must not lose their token with it, nor anybody a rotated refresh token.
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Bound())
		defer cancel()
		return m.mint(shared, ask, digest)
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
func (m *Minter) row(ctx context.Context, credential string) (store.Token, error) {
	row, err := m.store.Token(ctx, credential)
	var damaged *store.CorruptRowError
	if errors.Is(err, store.ErrNotFound) || errors.As(err, &damaged) {
		return store.Token{Credential: credential, Dropped: true}, nil
	}
	if err != nil {
		return store.Token{}, fmt.Errorf("read token: %w", err)
	}
	return row, nil
}

// serves reports whether a stored token is what an ask wants.
func (m *Minter) serves(row store.Token, ask Ask, digest string) bool {
	return row.AccessToken != "" && !row.Dropped && row.SourceDigest == digest && row.Sequence > ask.Sequence &&
		(row.RenewAt.IsZero() || m.now().Before(row.RenewAt))
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
