package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/residency"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// touchEvery is how often the use of a session is written at most.
const touchEvery = time.Minute

// maxTouching bounds the touches that are written at once: many sessions may sleep or wake together.
const maxTouching = 16

// leasesTimeout bounds the question for the pauses of a session. No answer keeps the runtime.
const leasesTimeout = 5 * time.Second

// use marks activity: a request whose identity was compared. It fails where the runtime has ended meanwhile.
func (rt *runtime) use() error {
	now := rt.e.Now()
	rt.mu.Lock()
	if rt.closed != nil {
		defer rt.mu.Unlock()
		return rt.closed
	}
	rt.users++
	rt.lastUsed = now
	due := now.Sub(rt.touched) >= touchEvery
	rt.mu.Unlock()
	if due {
		rt.touch("use")
	}
	return nil
}

func (rt *runtime) unuse() {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.users--
}

// reading counts the clients that read a stream.
func (rt *runtime) reading(change int) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.sinks += change
}

// touch tells row and workflow beside the request: whoever only uses a session does not wait for it.
func (rt *runtime) touch(why string) {
	e, now := rt.e, rt.e.Now()
	rt.mu.Lock()
	rt.touched = now
	rt.mu.Unlock()
	e.behind.run(func() {
		select {
		case e.touching <- struct{}{}:
			defer func() { <-e.touching }()
		case <-e.ending.Done():
			return
		}
		ctx, cancel := context.WithTimeout(e.ending, storeTimeout)
		defer cancel()
		if err := e.Sessions.Touch(ctx, rt.row, now, why); err != nil && ctx.Err() == nil {
			e.Log.Log(ctx, e.gravity(rt.id, slog.LevelWarn), "the use of an MCP session was not noted", "why", why, "error", err)
		}
	})
}

// gravity is the level at which something is logged that failed for a session: where that was ended meanwhile it was only too late, and
// nobody has to look.
func (e *Endpoint) gravity(id string, usual slog.Level) slog.Level {
	ctx, cancel := context.WithTimeout(e.ending, storeTimeout)
	defer cancel()
	row, err := e.Sessions.Lookup(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !row.TerminatedAt.IsZero() {
		return slog.LevelDebug
	}
	return usual
}

// arm sets the alarm.
func (rt *runtime) arm(after time.Duration) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	switch {
	case rt.closed != nil:
	case rt.alarm == nil:
		rt.alarm = time.AfterFunc(after, rt.ring)
	default:
		rt.alarm.Reset(after)
	}
}

// ring is the alarm: it decides whether the runtime is kept.
func (rt *runtime) ring() {
	limits := rt.e.Settings.Limits
	used, _ := rt.idleSince()
	state := rt.measure()
	if state.Idle >= limits.Idle {
		paused, err := rt.leases()
		state.Paused, state.Unknown = paused, err != nil
		// A request may have come while the question was under way.
		now := rt.measure()
		state.Idle, state.Running, state.Streams = now.Idle, now.Running, now.Streams
	}
	decision := residency.Decide(limits, state)
	if decision.Verdict == residency.Sleep {
		if !rt.sleep(used) {
			rt.arm(limits.Idle)
		}
		return
	}
	if decision.Verdict != residency.IdleWithinTimeout {
		rt.e.Log.Debug("idle MCP session is kept", "verdict", string(decision.Verdict), "idle", state.Idle, "lease", decision.Lease)
	}
	rt.arm(decision.Lease)
}

func (rt *runtime) leases() (int, error) {
	ctx, cancel := context.WithTimeout(rt.e.ending, leasesTimeout)
	defer cancel()
	paused, err := rt.e.Leases(ctx, rt.id)
	if err != nil {
		rt.e.Log.WarnContext(ctx, "the pauses of an idle MCP session are not known: it is kept", "error", err)
	}
	return paused, err
}

func (rt *runtime) measure() residency.State {
	now := rt.e.Now()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return residency.State{Idle: now.Sub(rt.lastUsed), Running: max(len(rt.calls), rt.users), Streams: rt.sinks}
}

// idleSince tells when the runtime was used last, and whether nothing goes on.
func (rt *runtime) idleSince() (time.Time, bool) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.lastUsed, rt.closed == nil && rt.users == 0 && len(rt.calls) == 0 && rt.sinks == 0
}

// sleep ends the runtime and leaves the session as it is: the next request wakes it, here or elsewhere. It does not where the runtime
// was used after the moment for which that was decided, and reports whether it did.
func (rt *runtime) sleep(used time.Time) bool {
	if !rt.closeIf(errAsleep, func() bool { return rt.lastUsed.Equal(used) }) {
		return false
	}
	rt.touch("sleep")
	return true
}
