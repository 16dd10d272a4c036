package tokensource

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

const (
	// maxMargin bounds the margin that is taken where none is configured.
	maxMargin = 24 * time.Hour
	// marginShare is the part of a lifetime that is taken as margin where none is configured: a quarter.
	marginShare = 4
	// jitterShare is the part of the margin by which a renewal may come early: a tenth.
	jitterShare = 10
	// farthest is an expiry beyond which a hint is taken for nonsense.
	farthest = 100 * 365 * 24 * time.Hour
)

// RenewAt is when a token should be replaced: the margin before its expiry, and up to a tenth of the margin earlier, so
// that tokens that were minted together are not renewed together. jitter is in [0, 1).
//
// The margin is the configured one, else the smaller of 24 hours and a quarter of the lifetime that is left. It is at most
// half of that lifetime: a longer one would have each new token replaced at once. The result is never before now, and zero,
// which is never, when the expiry is unknown.
func RenewAt(now, expires time.Time, configured time.Duration, jitter float64) time.Time {
	if expires.IsZero() {
		return time.Time{}
	}
	lifetime := expires.Sub(now)
	if lifetime <= 0 {
		return now
	}
	margin := configured
	if margin <= 0 {
		margin = min(maxMargin, lifetime/marginShare)
	}
	margin = min(margin, lifetime/2)
	early := time.Duration(float64(margin/jitterShare) * min(max(jitter, 0), 1))
	return expires.Add(-margin - early)
}

// expiryHint is the exp of a token with the shape of a JWT, zero where it has none that lies ahead. Nothing is verified:
// whether the token is good is for its endpoint to say.
func expiryHint(token string, now time.Time) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}
	}
	var told struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(claims, &told) != nil || told.Exp <= 0 || told.Exp > float64(now.Add(farthest).Unix()) {
		return time.Time{}
	}
	expires := time.Unix(int64(told.Exp), 0).UTC()
	if !expires.After(now) {
		return time.Time{}
	}
	return expires
}
