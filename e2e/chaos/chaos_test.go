// Package chaos_test kills every process of Holdfast, and Temporal, with signal 9 at random instants while people approve and decline
// calls that MCP clients make: no call runs twice, none is lost, and whoever asks again gets the one outcome.
package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTwentyCallsOutliveKillsOfEverything(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	got := run(t, scenario{
		seed: seed, executions: 20, kills: 8, arrive: 4 * time.Second, think: 12 * time.Second, late: 6 * time.Minute,
	})
	t.Log("\n" + table(got))
	got.require(t)
}

// ending is one client's.
type ending struct {
	told told
	err  error
}

// run lets a scenario happen.
func run(t *testing.T, s scenario) report {
	t.Helper()
	t.Logf("seed %d", s.seed)
	r := newRig(t, s)
	plans := s.plans()
	ctx, cancel := context.WithTimeout(t.Context(), s.late)
	defer cancel()
	shared := &http.Transport{MaxIdleConnsPerHost: 10}
	defer shared.CloseIdleConnections()
	gateways := func(token string, part uint64) *anyGateway {
		return &anyGateway{urls: r.urls, token: token, base: shared, random: s.random(part)}
	}
	people := &approvers{
		plans: map[string]planned{}, api: &http.Client{Transport: gateways(r.token, 1<<20)}, token: r.token,
		pages: func() *http.Client { return newBrowser(gateways("", 1<<21)) },
	}
	for _, p := range plans {
		people.plans[p.name] = p
	}
	began := time.Now()
	deciding, stopDeciding := context.WithCancel(ctx)
	var decided sync.WaitGroup
	decided.Go(func() { people.decideAll(deciding) })
	raging, calm := context.WithCancel(ctx)
	endings := make([]ending, len(plans))
	var calling sync.WaitGroup
	for i, p := range plans {
		calling.Go(func() {
			if !wait(ctx, p.arrives) {
				return
			}
			c := &client{planned: p, http: &http.Client{Transport: gateways(r.token, 1<<22+uint64(i))}}
			endings[i].told, endings[i].err = c.outcome(ctx)
		})
	}
	go func() {
		defer calm()
		calling.Wait()
	}()
	m := &mayhem{rig: r, scenario: s, random: s.random(1 << 23), began: began}
	m.rage(raging)
	calling.Wait()
	took := time.Since(began)
	stopDeciding()
	decided.Wait()
	require.Empty(t, people.faults)
	return r.report(m, plans, endings, took)
}

func (r *rig) report(m *mayhem, plans []planned, endings []ending, took time.Duration) report {
	out := report{scenario: m.scenario, took: took, kills: m.kills}
	for i, p := range plans {
		out.calls = append(out.calls, r.witness(p, endings[i]))
	}
	return out
}

func (e ending) String() string {
	return fmt.Sprintf("%s %s (%d calls, %d resumes, %d failures, %d sessions) %v",
		e.told.Status, e.told.Reason, e.told.calls, e.told.resumes, e.told.failures, e.told.sessions, e.err)
}
