package tokensource_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

var monday = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

func TestATokenIsRenewedAMarginBeforeItsExpiry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lifetime, configured, before time.Duration
	}{
		"a quarter of a short lifetime": {lifetime: time.Hour, before: 15 * time.Minute},
		"a day of a long one":           {lifetime: 7 * 24 * time.Hour, before: 24 * time.Hour},
		"the two meet at four days":     {lifetime: 4 * 24 * time.Hour, before: 24 * time.Hour},
		"what is configured":            {lifetime: time.Hour, configured: time.Minute, before: time.Minute},
		"at most half of the lifetime":  {lifetime: time.Hour, configured: 24 * time.Hour, before: 30 * time.Minute},
		"a lifetime of seconds":         {lifetime: 20 * time.Second, before: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expires := monday.Add(tc.lifetime)
			require.Equal(t, expires.Add(-tc.before), tokensource.RenewAt(monday, expires, tc.configured, 0))
		})
	}
}

func TestATokenOfUnknownExpiryIsNotRenewed(t *testing.T) {
	t.Parallel()
	require.Zero(t, tokensource.RenewAt(monday, time.Time{}, time.Hour, 0.5))
}

func TestATokenThatHasExpiredIsRenewedNow(t *testing.T) {
	t.Parallel()
	require.Equal(t, monday, tokensource.RenewAt(monday, monday.Add(-time.Hour), 0, 0.9))
	require.Equal(t, monday, tokensource.RenewAt(monday, monday, time.Minute, 0))
}

func TestARenewalLiesBetweenNowAndTheExpiry(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lifetime := time.Duration(rapid.Int64Range(-3600, 400*24*3600).Draw(t, "lifetime")) * time.Second
		configured := time.Duration(rapid.Int64Range(0, int64(40*24*time.Hour)).Draw(t, "configured"))
		jitter := rapid.Float64Range(0, 1).Draw(t, "jitter")
		expires := monday.Add(lifetime)
		at := tokensource.RenewAt(monday, expires, configured, jitter)
		require.False(t, at.Before(monday), "before now")
		if lifetime <= 0 {
			return
		}
		require.True(t, at.Before(expires), "not before the expiry")
		plain := tokensource.RenewAt(monday, expires, configured, 0)
		require.False(t, at.After(plain), "jitter made it later")
		require.GreaterOrEqual(t, at.Sub(monday), lifetime*2/5, "renewed in the first two fifths of its life")
		margin := expires.Sub(plain)
		require.LessOrEqual(t, plain.Sub(at), margin/10)
		if configured == 0 {
			require.LessOrEqual(t, margin, 24*time.Hour)
			require.LessOrEqual(t, margin, lifetime/4)
		}
	})
}
