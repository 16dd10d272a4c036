package residency_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/residency"
)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func limits() residency.Limits {
	return residency.Limits{Idle: ms(300_000), Paused: ms(540_000), Running: ms(2_100_000)}
}

func TestDecideFollowsTheTruthTable(t *testing.T) {
	t.Parallel()
	short := residency.Limits{Idle: ms(3_000), Paused: ms(6_000), Running: ms(2_100_000)}
	for _, tc := range []struct {
		name   string
		limits residency.Limits
		state  residency.State
		want   residency.Decision
	}{
		{"case 13: used lately", limits(), residency.State{Idle: ms(299_999)}, residency.Decision{Verdict: residency.IdleWithinTimeout, Lease: ms(1)}},
		{"case 13: used lately, with pauses", limits(), residency.State{Idle: ms(299_999), Paused: 3}, residency.Decision{Verdict: residency.IdleWithinTimeout, Lease: ms(1)}},
		{"case 14: idle, nothing goes on", limits(), residency.State{Idle: ms(300_000)}, residency.Decision{Verdict: residency.Sleep}},
		{"case 15: a pause keeps it for a step", limits(), residency.State{Idle: ms(300_000), Paused: 1}, residency.Decision{Verdict: residency.ExtendPaused, Lease: ms(240_000)}},
		{"case 16: no longer than its limit", short, residency.State{Idle: ms(3_000), Paused: 1}, residency.Decision{Verdict: residency.ExtendPaused, Lease: ms(3_000)}},
		{"a pause, just before its limit", limits(), residency.State{Idle: ms(540_000) - 1, Paused: 1}, residency.Decision{Verdict: residency.ExtendPaused, Lease: ms(1)}},
		{"case 17: a pause past its limit", limits(), residency.State{Idle: ms(540_000), Paused: 1}, residency.Decision{Verdict: residency.Sleep}},
		{"case 17: neither request nor stream saves it then", limits(), residency.State{Idle: ms(540_000), Paused: 1, Running: 1, Streams: 1}, residency.Decision{Verdict: residency.Sleep}},
		{"case 18: a request keeps it for a step", limits(), residency.State{Idle: ms(300_000), Running: 1}, residency.Decision{Verdict: residency.ExtendRunning, Lease: ms(240_000)}},
		{"case 18: and so does a stream", limits(), residency.State{Idle: ms(300_000), Streams: 1}, residency.Decision{Verdict: residency.ExtendRunning, Lease: ms(240_000)}},
		{"a request, shortly before its limit", limits(), residency.State{Idle: ms(2_099_000), Running: 1}, residency.Decision{Verdict: residency.ExtendRunning, Lease: ms(1_000)}},
		{"case 19: a request past its limit", limits(), residency.State{Idle: ms(2_100_000), Running: 1}, residency.Decision{Verdict: residency.Sleep}},
		{"case 19: a stream past its limit", limits(), residency.State{Idle: ms(2_100_000), Streams: 1}, residency.Decision{Verdict: residency.Sleep}},
		{"case 20: last activity unknown", limits(), residency.State{}, residency.Decision{Verdict: residency.IdleWithinTimeout, Lease: ms(300_000)}},
		{"a clock that went back", limits(), residency.State{Idle: -ms(5)}, residency.Decision{Verdict: residency.IdleWithinTimeout, Lease: ms(300_000)}},
		{"nobody can tell of pauses", limits(), residency.State{Idle: ms(5_000_000), Unknown: true}, residency.Decision{Verdict: residency.ExtendUnknown, Lease: ms(30_000)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, residency.Decide(tc.limits, tc.state))
		})
	}
}

func TestDefaultLimitsAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	require.Equal(t, limits(), residency.Default())
}

func TestDecideAlwaysSaysWhenToAskAgainOrSleeps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		idle := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "T"))
		l := residency.Limits{
			Idle:    idle,
			Paused:  idle + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "P")),
			Running: idle + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "R")),
		}
		s := residency.State{
			Idle: time.Duration(rapid.Int64Range(-1, int64(3*time.Hour)).Draw(t, "idle")), Paused: rapid.IntRange(0, 3).Draw(t, "paused"),
			Unknown: rapid.Bool().Draw(t, "unknown"), Running: rapid.IntRange(0, 3).Draw(t, "running"), Streams: rapid.IntRange(0, 3).Draw(t, "streams"),
		}
		got := residency.Decide(l, s)
		require.Equal(t, got.Verdict == residency.Sleep, got.Lease == 0)
		require.GreaterOrEqual(t, got.Lease, time.Duration(0))
		if s.Idle >= l.Idle {
			require.NotEqual(t, residency.IdleWithinTimeout, got.Verdict)
			require.LessOrEqual(t, got.Lease, residency.Step)
		} else {
			require.Equal(t, residency.IdleWithinTimeout, got.Verdict)
		}
		if s.Unknown {
			require.NotEqual(t, residency.Sleep, got.Verdict, "who cannot tell must not destroy")
		}
	})
}

func TestAnIdleRuntimeSleepsInTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := limits()
		s := residency.State{
			Paused: rapid.IntRange(0, 2).Draw(t, "paused"), Running: rapid.IntRange(0, 2).Draw(t, "running"), Streams: rapid.IntRange(0, 2).Draw(t, "streams"),
		}
		for range 100 {
			d := residency.Decide(l, s)
			if d.Verdict == residency.Sleep {
				require.LessOrEqual(t, s.Idle, l.Running)
				return
			}
			s.Idle += d.Lease
		}
		t.Fatal("it never sleeps")
	})
}
