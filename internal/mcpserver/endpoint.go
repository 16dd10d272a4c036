package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/residency"
	"github.com/holdfast-mcp/holdfast/internal/origin"
)

// Authenticator tells who sends a request. Its error is one of *[auth.UnauthorizedError], *[auth.ForbiddenError] and
// *[auth.UnavailableError].
type Authenticator interface {
	Authenticate(ctx context.Context, r *http.Request) (auth.Principal, error)
}

// Params are what an endpoint is made of.
type Params struct {
	Host          Host
	Authenticator Authenticator
	// Challenge is the WWW-Authenticate header for an error of the authenticator; see [auth.Metadata].
	Challenge func(r *http.Request, err error) string
	Sessions  Sessions
	Store     Log
	// Leases counts the pauses for which a session has to stay resident. It is asked only when a runtime is idle; an error keeps it.
	Leases   func(ctx context.Context, sessionID string) (int, error)
	Settings Settings
	Log      *slog.Logger
	Now      func() time.Time // nil: the system's clock
	// ReplicaID names this replica in rows. A part of its own is added for each process.
	ReplicaID string
}

// Settings are what whoever runs the gateway may change. The zero value of a field takes its default.
type Settings struct {
	Limits residency.Limits
	Names  origin.Policy
	// MaxResident bounds the runtimes that are held at once; by default 4,096. When it is reached, the longest idle ones sleep.
	MaxResident int
	// MaxBody bounds a POST, in bytes; by default 4 MiB.
	MaxBody int64
	Timing  Timing
}

// Timing are the periods of the transport. Tests shorten them; nobody else has a reason to.
type Timing struct {
	Quick     time.Duration // within which an answer is plain JSON; 250 ms
	KeepAlive time.Duration // between two comments on a held stream; 15 s
	MaxAge    time.Duration // of a GET stream; 30 min
	Poll      time.Duration // between two looks at what other replicas wrote; 100 ms
	Sweep     time.Duration // between two renewals of the leases of streams; 5 s
	Lease     time.Duration // of a stream, after which another replica takes its requests over; 15 s
	Grace     time.Duration // for which an answer stays replayable although its POST was written whole; 2 min
	Drain     time.Duration // for which held requests are waited for at the end; 30 s
}

func (s Settings) withDefaults() Settings {
	if s.Limits == (residency.Limits{}) {
		s.Limits = residency.Default()
	}
	s.MaxResident = orDefault(s.MaxResident, 4096)
	s.MaxBody = orDefault(s.MaxBody, 4<<20)
	t := &s.Timing
	t.Quick = orDefault(t.Quick, 250*time.Millisecond)
	t.KeepAlive = orDefault(t.KeepAlive, 15*time.Second)
	t.MaxAge = orDefault(t.MaxAge, 30*time.Minute)
	t.Poll = orDefault(t.Poll, 100*time.Millisecond)
	t.Sweep = orDefault(t.Sweep, 5*time.Second)
	t.Lease = orDefault(t.Lease, 15*time.Second)
	t.Grace = orDefault(t.Grace, 2*time.Minute)
	t.Drain = orDefault(t.Drain, 30*time.Second)
	return s
}

func orDefault[T int | int64 | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// Endpoint serves MCP. It is safe for concurrent use.
type Endpoint struct {
	Params

	owner     string // of the streams that this process works on
	residents residents
	modern    http.Handler
	servers   modernServers
	keeper    keeper

	draining chan struct{} // closed when no request is admitted any more
	drain    sync.Once
	ending   context.Context //nolint:containedctx // it is the endpoint's own life, which no request's may outlast
	end      context.CancelFunc
	held     gauge // requests that are being answered
	behind   behind
	touching chan struct{} // bounds the touches that are under way
}

// New makes an endpoint; [Endpoint.Close] ends it.
func New(p Params) (*Endpoint, error) {
	if p.Host == nil || p.Authenticator == nil || p.Sessions == nil || p.Store == nil || p.Leases == nil || p.Log == nil {
		return nil, errors.New("make MCP endpoint: host, authenticator, sessions, store, leases and log are needed")
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Challenge == nil {
		p.Challenge = func(_ *http.Request, err error) string { return auth.Challenge(err, "", nil) }
	}
	p.Settings = p.Settings.withDefaults()
	ending, end := context.WithCancel(context.Background())
	e := &Endpoint{
		Params: p, owner: p.ReplicaID + "-" + newToken(), draining: make(chan struct{}), ending: ending, end: end,
		touching: make(chan struct{}, maxTouching),
	}
	e.residents.entries = map[string]*resident{}
	e.modern = e.newModern()
	e.keeper.wake = make(chan struct{}, 1)
	e.behind.run(e.keep)
	return e, nil
}

// Handler serves the paths of [Paths].
func (e *Endpoint) Handler() http.Handler { return e.guard(http.HandlerFunc(e.serve)) }

// Paths are where the endpoint is served. Both are one resource.
func Paths() []string { return []string{"/mcp", "/mcp/agent"} }

// Drain admits no more requests, ends the streams of listeners, lets held calls know (see [Draining]) and waits until they are
// answered, for 30 s at most. What is not answered then is left to other replicas.
func (e *Endpoint) Drain() {
	e.drain.Do(func() { close(e.draining) })
	timeout := time.NewTimer(e.Settings.Timing.Drain)
	defer timeout.Stop()
	select {
	case <-e.held.zero():
	case <-timeout.C:
	}
}

// Close ends everything that goes on. Streams whose requests are not answered are free for other replicas at once.
func (e *Endpoint) Close() {
	e.drain.Do(func() { close(e.draining) })
	for _, rt := range e.residents.all() {
		rt.close(errStopping)
	}
	e.end()
	if !e.behind.wait(closeTimeout) {
		e.Log.Warn("MCP requests go on although the gateway has stopped")
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := e.Store.ReleaseStreams(ctx, e.owner, ""); err != nil {
		e.Log.WarnContext(ctx, "streams of MCP sessions were not released: others take them over when their leases end", "error", err)
	}
}

// closeTimeout bounds how long handlers that were cancelled are waited for.
const closeTimeout = 5 * time.Second

type drainingKey struct{}

// Draining is closed when the gateway stops: a call that is held should answer now that it is pending. It is nil, and so never
// closed, for the context of anything else than a call.
func Draining(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(drainingKey{}).(chan struct{})
	return c
}

// Resident counts the sessions that this replica holds in memory.
func (e *Endpoint) Resident() int { return len(e.residents.all()) }

// SleepAll puts all sessions to sleep that nothing goes on in.
func (e *Endpoint) SleepAll() {
	for _, rt := range e.residents.all() {
		if used, free := rt.idleSince(); free {
			rt.sleep(used)
		}
	}
}

// withCaller is what a handler's context says of its request.
func (e *Endpoint) withCaller(ctx context.Context, who auth.Principal) context.Context {
	return context.WithValue(auth.With(ctx, who), drainingKey{}, e.draining)
}

func (e *Endpoint) stopping() bool {
	select {
	case <-e.draining:
		return true
	default:
		return false
	}
}
