package main

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// connectionRoutes are the routes by which an engine may be asked about one connection.
var connectionRoutes = []simulator.Route{
	simulator.RouteStatus, simulator.RouteConfig, simulator.RouteSessionStatus, simulator.RouteRegister,
	simulator.RouteConnect, simulator.RouteDisconnect, simulator.RouteResources,
}

// calls count an engine's requests for one directory by route.
type calls map[simulator.Route]int

// member is one connection of the fleet.
type member struct {
	key        delivery.Key
	engine     *simulator.Engine
	generation int64
	// seen is the last snapshot that was ready.
	seen     connection.Snapshot
	repaired time.Duration

	before calls
	looks  []seenCalls
}

// seenCalls are the counts as they were at a time.
type seenCalls struct {
	at    time.Time
	total int
	calls calls
}

// count reads the engine's counters.
func (m *member) count() (calls, int) {
	counts, total := make(calls, len(connectionRoutes)), 0
	for _, route := range connectionRoutes {
		n := m.engine.Calls(route, m.key.Directory)
		counts[route] = n
		total += n
	}
	return counts, total
}

// begin forgets what was counted.
func (m *member) begin() {
	m.before, _ = m.count()
	m.looks = nil
}

// look keeps the counts when they have changed, and reports whether a push was among them.
func (m *member) look() bool {
	counts, total := m.count()
	if n := len(m.looks); n == 0 || m.looks[n-1].total != total {
		m.looks = append(m.looks, seenCalls{at: time.Now(), total: total, calls: counts})
	}
	return counts[simulator.RouteRegister] > m.before[simulator.RouteRegister]
}

// callsUntilVerified are the requests from the beginning until the connection was verified.
func (m *member) callsUntilVerified() calls {
	made := make(calls, len(connectionRoutes))
	for _, look := range m.looks {
		if look.at.After(*m.seen.VerifiedAt) {
			break
		}
		for route, n := range look.calls {
			made[route] = n - m.before[route]
		}
	}
	return made
}
