package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	refreshEvery  = 15 * time.Minute // ± 10 %
	refreshLimit  = time.Minute
	retryFirst    = 2 * time.Second // after a failure; doubled up to retryLast
	retryLast     = 5 * time.Minute
	refreshPause  = time.Second // between two refreshes that the source itself causes
	restEvery     = time.Minute
	listenAtLeast = time.Minute // a stream that ends sooner is opened again only with the next refresh
)

// The states of a source.
const (
	StateUnknown = "unknown" // it was not reached yet
	StateUp      = "up"
	StateDown    = "down" // it could not be reached or listed; its tools are those known from before
)

// Status is how a source is.
type Status struct {
	Name      string
	Transport string // http or stdio
	State     string
	Code      string    // why it is down, as of a [CallError]; else empty
	Tools     int       // how many are offered
	Protocol  string    // as agreed on; empty: never reached
	Since     time.Time // of the state
	CheckedAt time.Time // zero: never
}

// source is one source: its sessions, and the tools that it was last seen with.
type source struct {
	definition definition
	pool       *pool
	log        *slog.Logger
	publish    func()        // what is known has changed
	kick       chan struct{} // the source says that its tools have changed
	first      chan struct{} // closed after the first attempt to list
	firstOnce  sync.Once
	listed     atomic.Bool // the tools are known, from now or before; never while they are not in the snapshot

	refreshing singleflight.Group
	pages      map[string]json.RawMessage // only used while refreshing

	mu     sync.Mutex
	tools  []Tool
	status Status
}

func newSource(d definition, life func() context.Context, log *slog.Logger, publish func()) *source {
	s := &source{
		definition: d, log: log, publish: publish,
		kick: make(chan struct{}, 1), first: make(chan struct{}), pages: map[string]json.RawMessage{},
		status: Status{Name: d.name, Transport: d.transport(), State: StateUnknown, Since: time.Now()},
	}
	dialer := &dialer{source: d, life: life, log: log, changed: s.poke}
	if !d.local() {
		dialer.transport = newTransport()
	}
	s.pool = newPool(dialer)
	return s
}

// poke asks for a refresh.
func (s *source) poke() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (s *source) known() ([]Tool, Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, s.status
}

// run keeps the source's tools up to date until the context ends.
func (s *source) run(ctx context.Context) {
	listener := &listener{source: s}
	defer listener.close()
	wait := retryFirst
	for ctx.Err() == nil {
		next := refreshEvery
		if err := s.refresh(ctx); err != nil {
			next, wait = wait, min(2*wait, retryLast)
		} else {
			wait = retryFirst
			listener.ensure(ctx)
		}
		spread := time.Duration((rand.Float64()*0.2 - 0.1) * float64(next)) //nolint:gosec // only so that not all come at once
		s.idle(ctx, time.Now().Add(next+spread))
	}
}

// idle waits until the time has come, or the source says that its tools have changed.
func (s *source) idle(ctx context.Context, until time.Time) {
	rest := time.NewTicker(restEvery)
	defer rest.Stop()
	due := time.NewTimer(time.Until(until))
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			return
		case now := <-rest.C:
			s.pool.rest(now)
		case <-s.kick:
			pause := time.NewTimer(refreshPause)
			defer pause.Stop()
			select {
			case <-ctx.Done():
			case <-pause.C:
			}
			return
		}
	}
}

// refresh lists the tools again; callers at the same time share one listing.
func (s *source) refresh(ctx context.Context) error {
	done := s.refreshing.DoChan("", func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshLimit)
		defer cancel()
		stop := context.AfterFunc(s.pool.dialer.life(), cancel)
		defer stop()
		raw, err := s.list(limited)
		s.settle(limited, raw, err)
		return nil, err
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *source) list(ctx context.Context) ([]json.RawMessage, error) {
	var lost *session
	for {
		session, err := s.pool.get(ctx, laneShared, lost)
		if err != nil {
			return nil, err
		}
		again := lost == nil && session.uses.Load() > 0
		if lost != nil || !again {
			s.pages = map[string]json.RawMessage{}
		}
		tools, err := list(ctx, session, s.pages)
		s.pool.put(session, err == nil)
		if err == nil || !again || ctx.Err() != nil {
			return tools, err
		}
		lost = session // whatever it was: a failed check never blames the source before a new session has failed too
	}
}

func (s *source) settle(ctx context.Context, raw []json.RawMessage, err error) {
	defer s.firstOnce.Do(func() { close(s.first) })
	var tools []Tool
	if err == nil {
		tools = parseTools(s.definition.name, raw, s.log)
	}
	s.mu.Lock()
	before := s.status.State
	now := time.Now()
	s.status.CheckedAt = now
	if version := s.pool.dialer.version.Load(); version != nil {
		s.status.Protocol = *version
	}
	if err != nil {
		s.status.State, s.status.Code = StateDown, classify(ctx, "", err, &attempt{}).Code
	} else {
		s.status.State, s.status.Code = StateUp, ""
		s.tools, s.status.Tools = tools, len(tools)
	}
	changed := before != s.status.State
	if changed {
		s.status.Since = now
	}
	status := s.status
	s.mu.Unlock()
	s.publish()
	if err == nil {
		s.listed.Store(true)
	}
	if changed {
		s.tell(status, err)
	}
}

func (s *source) tell(status Status, err error) {
	if status.State == StateUp {
		s.log.Info("source is up", "source", status.Name, "tools", status.Tools, "protocol", status.Protocol)
		return
	}
	var opening *openError
	http := 0
	if errors.As(err, &opening) {
		http = opening.status
	}
	s.log.Warn("source is down, its tools are kept", "source", status.Name, "code", status.Code, "http", http,
		"cause", s.definition.cause(err), "tools", status.Tools)
}

// listener keeps the session on which a source tells that its tools have changed. It is one of its own: standing streams break, and must
// not take calls with them. A child process tells it on the session of its calls.
type listener struct {
	source  *source
	session *session

	watching sync.WaitGroup
}

func (l *listener) ensure(ctx context.Context) {
	if l.source.definition.local() || l.session != nil && l.session.alive() {
		return
	}
	shared := l.source.pool.shared.Load()
	if shared == nil {
		return
	}
	result := shared.client.InitializeResult()
	if result == nil || result.Capabilities == nil || result.Capabilities.Tools == nil || !result.Capabilities.Tools.ListChanged {
		return
	}
	session, err := l.source.pool.dialer.dial(ctx, laneListen)
	if err != nil {
		return // the tools are listed every now and then all the same
	}
	l.session = session
	l.watching.Go(func() {
		<-session.ended
		if time.Since(session.idleSince()) >= listenAtLeast {
			l.source.poke()
		}
	})
}

func (l *listener) close() {
	if l.session != nil {
		l.session.close()
	}
	l.watching.Wait()
}

// close ends the source's sessions.
func (s *source) close() {
	s.pool.close()
	if transport := s.pool.dialer.transport; transport != nil {
		transport.CloseIdleConnections()
	}
}
