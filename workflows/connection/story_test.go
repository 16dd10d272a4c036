package connection_test

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// story schedules what happens to a connection in twenty minutes, leaving out what happened before a time.
func story(w *world, from time.Duration) {
	at := func(when time.Duration, do func()) {
		if when > from {
			w.at(when-from, do)
		}
	}
	missed := health.EndpointUnreachable("connection refused", nil)
	at(time.Minute, func() { w.once(engine.InspectResult{Decision: engine.DecisionEntryGone, Status: "missing"}) })
	at(3*time.Minute, func() {
		w.env.SignalWorkflow(connection.SignalMarkStale, connection.MarkStale{Reason: "by hand"})
	})
	at(5*time.Minute, func() {
		w.once(engine.InspectResult{Decision: engine.DecisionEndpointMissed, Status: "connected", Failure: &missed})
	})
	at(7*time.Minute, func() {
		w.once(engine.InspectResult{Decision: engine.DecisionEndpointFailed, Status: "connected", Failure: &missed})
	})
	at(9*time.Minute, func() {
		w.once(engine.InspectResult{Decision: engine.DecisionEndpointHealthy, Status: "connected"})
	})
	at(11*time.Minute, func() {
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{Trigger: "apply"})
	})
	at(13*time.Minute, func() { w.once(engine.InspectResult{Decision: engine.DecisionEntryStatus, Status: "disabled"}) })
	at(16*time.Minute, func() { w.once(engine.InspectResult{Decision: engine.DecisionEntryStatus, Status: "disabled"}) })
}

// account is all that readers are told, without times: an activity of the test environment takes real time.
func (w *world) account() string {
	w.t.Helper()
	raw, err := json.Marshal(map[string]any{"health": w.health(), "transitions": w.transitions()})
	require.NoError(w.t, err)
	var told any
	require.NoError(w.t, json.Unmarshal(raw, &told))
	raw, err = json.Marshal(withoutTimes(told))
	require.NoError(w.t, err)
	return string(raw)
}

func withoutTimes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = withoutTimes(value)
			if name == "at" || strings.HasSuffix(strings.ToLower(name), "since") || strings.HasSuffix(name, "At") {
				v[name] = value != nil
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutTimes(v[i])
		}
	}
	return v
}
