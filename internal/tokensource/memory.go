package tokensource

import (
	"sync"
	"time"
)

// keepCandidate is how long a token may wait to be verified.
const keepCandidate = 10 * time.Minute

// candidate is a token that was minted and is not current: its endpoint did not answer, or the store did not. It has no
// access token where its source's answer was of no use but for the refresh token in it.
type candidate struct {
	Minted

	key    string
	digest string
	// sequence and dropped are those of the current token when it was minted: once another is current, or the current one
	// is distrusted, it is an old token as well.
	sequence int64
	dropped  bool
	// sent is the refresh token that it was exchanged for, if any.
	sent string
	// cheap means that the source is read again rather than remembered.
	cheap bool
	until time.Time
}

// silence is a wish of a token server to be left alone.
type silence struct {
	digest string
	reason *Error
	until  time.Time
}

// memory is what a process remembers between attempts, by the key of the row. Losing it costs one mint.
type memory struct {
	mu         sync.Mutex
	candidates map[string]candidate
	silences   map[string]silence
	refusals   map[string]refusal
}

// put keeps a candidate for the next attempt.
func (m *memory) put(c candidate) {
	if c.cheap {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.candidates == nil {
		m.candidates = make(map[string]candidate)
	}
	if was, ok := m.candidates[c.key]; ok && was.AccessToken == c.AccessToken {
		c.until = was.until
	}
	m.candidates[c.key] = c
}

// candidate returns the token that waits for the same place as like. Another process may have exchanged its refresh token
// meanwhile: keeping the one of this candidate would then lose the newer one.
func (m *memory) candidate(like candidate, now time.Time) (candidate, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.candidates[like.key]
	if !ok {
		return candidate{}, false
	}
	same := c.digest == like.digest && c.sequence == like.sequence && c.dropped == like.dropped &&
		(like.sent == c.sent || like.sent == c.RefreshToken)
	if !same || !now.Before(c.until) {
		delete(m.candidates, like.key)
		return candidate{}, false
	}
	return c, true
}

// forget drops the candidate of a row, and what its endpoint said of one.
func (m *memory) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.candidates, key)
	delete(m.refusals, key)
}

// hush remembers a wish to be left alone.
func (m *memory) hush(key, digest string, reason *Error, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.silences == nil {
		m.silences = make(map[string]silence)
	}
	m.silences[key] = silence{digest: digest, reason: reason, until: now.Add(reason.RetryAfter)}
}

// quiet is the answer of a source that wants to be left alone, nil when it may be asked.
func (m *memory) quiet(key, digest string, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.silences[key]
	if !ok || s.digest != digest || !now.Before(s.until) {
		delete(m.silences, key)
		return nil
	}
	return &Error{Failure: s.reason.Failure, RetryAfter: s.until.Sub(now)}
}
