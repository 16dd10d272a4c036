package chaos_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// The processes that are killed.
const (
	victimWorker   = "worker"
	victimGateway  = "gateway"
	victimTemporal = "temporal"
)

const (
	killLeast, killMost     = 600 * time.Millisecond, 2400 * time.Millisecond
	reviveLeast, reviveMost = 100 * time.Millisecond, 900 * time.Millisecond
	// aimFor is how long a worker is spared until a kill hits something, or not too much.
	aimFor   = 3 * time.Second
	aimEvery = 10 * time.Millisecond
)

// kill is one of them, with what it hit by the store.
type kill struct {
	victim  string
	at      time.Duration
	claimed []string // keys of executions whose call the worker had claimed and not done
	waiting int      // pauses that nobody had decided on
}

func (k kill) hit() bool { return len(k.claimed) > 0 || k.waiting > 0 }

// mayhem kills processes at random instants and starts them again.
type mayhem struct {
	*rig

	scenario scenario
	random   *rand.Rand
	began    time.Time
	since    time.Time // when the worker before this one was killed
	kills    []kill
}

// rage goes on until the context ends, which it does when all clients have their outcomes.
func (m *mayhem) rage(ctx context.Context) {
	m.t.Helper()
	for n := range m.scenario.kills {
		if !wait(ctx, between(m.random, killLeast, killMost)) {
			break
		}
		m.supervise()
		m.kill(ctx, m.victim(n))
		down := between(m.random, reviveLeast, reviveMost)
		wait(ctx, down)
		m.supervise()
	}
	for wait(ctx, killLeast) {
		m.supervise()
	}
}

// victim is each in turn at first, so that no run is without one of them.
func (m *mayhem) victim(n int) string {
	first := []string{victimWorker, victimGateway, victimTemporal}
	if n < len(first) {
		return first[(n+int(m.scenario.seed%3))%len(first)]
	}
	return pick(m.random, victimWorker, victimWorker, victimGateway, victimGateway, victimTemporal)
}

func (m *mayhem) kill(ctx context.Context, victim string) {
	m.t.Helper()
	switch victim {
	case victimWorker:
		if m.random.IntN(4) > 0 {
			m.aim(ctx)
		}
		m.spare(ctx)
		m.worker.process.Kill()
	case victimGateway:
		pick(m.random, m.gateways...).process.Kill()
	default:
		m.killTemporal()
	}
	k := kill{victim: victim, at: time.Since(m.began), claimed: m.claimed()}
	if victim == victimWorker {
		m.since = time.Now()
	}
	waiting, err := m.Store.CountOpenPauses(m.t.Context(), m.owner)
	require.NoError(m.t, err)
	k.waiting = waiting
	m.kills = append(m.kills, k)
	m.t.Logf("%5.1f s: %s killed; claimed %d, waiting %d", k.at.Seconds(), victim, len(k.claimed), k.waiting)
}

// aim waits a while for a call that is claimed: by chance alone few kills hit one.
func (m *mayhem) aim(ctx context.Context) {
	m.t.Helper()
	m.await(ctx, func() bool { return len(m.claimed()) > 0 })
}

// spare waits a while where more calls would be lost than the few that may be: those that are not made again have no outcome then.
func (m *mayhem) spare(ctx context.Context) {
	m.t.Helper()
	lost := 0
	for _, k := range m.kills {
		if k.victim == victimWorker {
			lost += m.unrepeatable(k.claimed)
		}
	}
	m.await(ctx, func() bool { return lost+m.unrepeatable(m.claimed()) <= m.scenario.executions/10 })
}

// await polls what holds only for moments, for aimFor at most.
func (m *mayhem) await(ctx context.Context, holds func() bool) {
	m.t.Helper()
	for until := time.Now().Add(aimFor); !holds() && time.Now().Before(until); {
		if !wait(ctx, aimEvery) {
			return
		}
	}
}

// claimed are the executions whose call is claimed and not done, those of earlier workers left out.
func (m *mayhem) claimed() []string {
	m.t.Helper()
	rows, err := m.Store.Executions(m.t.Context(), store.ExecutionFilter{
		Identity: &m.owner, Status: []string{store.StatusRunning}, Limit: store.MaxLimit,
	})
	require.NoError(m.t, err)
	var keys []string
	for _, row := range rows {
		call, err := m.Store.Call(m.t.Context(), row.Key, 1)
		if err == nil && call.DoneAt.IsZero() && call.ClaimedAt.After(m.since) {
			keys = append(keys, row.Key)
		}
	}
	return keys
}

// unrepeatable counts those that are not made again.
func (m *mayhem) unrepeatable(keys []string) int {
	m.t.Helper()
	count := 0
	for _, key := range keys {
		row, err := m.Store.Execution(m.t.Context(), key)
		require.NoError(m.t, err)
		if strings.HasPrefix(row.Address, mail+".") {
			count++
		}
	}
	return count
}

// supervise starts what does not run, as whoever runs Holdfast does. A process that could not start without Temporal has ended by itself.
func (m *mayhem) supervise() {
	m.t.Helper()
	select {
	case <-m.temporal.Exited():
		m.startTemporal()
	default:
	}
	for _, p := range append([]*program{m.worker}, m.gateways...) {
		if !p.process.Running() {
			p.start()
		}
	}
}
