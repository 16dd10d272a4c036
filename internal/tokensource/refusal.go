package tokensource

import (
	"fmt"
	"maps"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

const (
	// refusalLasts is how long the endpoint's refusal of one token answers those who ask the same: connections that share a
	// credential notice the same trouble within seconds of each other, and one mint tells for all of them.
	refusalLasts = 10 * time.Second
)

// refusal is a failure of the endpoint that says of a new token that it is no good.
type refusal struct {
	situation

	key    string
	token  string // empty: whatever the source gives
	reason *Error
	until  time.Time
}

// situation is what has to be the same for a refusal to count. When somebody distrusts the current token, or another one
// becomes current, things have changed.
type situation struct {
	digest   string
	revision string
	asked    int64
	sequence int64
	dropped  bool
}

// refusal is the one that would answer this attempt.
func (a *attempt) refusal(token string) refusal {
	return refusal{key: a.key, token: token, situation: situation{
		digest: a.digest, revision: a.Revision, asked: a.Sequence, sequence: a.row.Sequence, dropped: a.row.Dropped,
	}}
}

// refuse remembers a refusal, and makes the failure that tells of it.
func (a *attempt) refuse(got Minted, failure health.Failure) error {
	digest, err := TokenDigest(a.mac, got.AccessToken)
	if err != nil {
		return fmt.Errorf("tell which token was refused: %w", err)
	}
	details := make(map[string]any, len(failure.Details)+1)
	maps.Copy(details, failure.Details)
	details[health.DetailRefusedDigest] = digest
	failure.Details = details
	is := a.refusal(got.AccessToken)
	is.reason, is.until = &Error{Failure: failure}, a.now().Add(refusalLasts)
	a.kept.refuse(is)
	return is.reason
}

// refuse remembers a refusal in place of the token.
func (m *memory) refuse(r refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.candidates, r.key)
	if m.refusals == nil {
		m.refusals = make(map[string]refusal)
	}
	m.refusals[r.key] = r
}

// refused is the endpoint's answer where it was given already, nil where it has to be asked.
func (m *memory) refused(like refusal, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.refusals[like.key]
	if !ok {
		return nil
	}
	if !now.Before(r.until) {
		delete(m.refusals, like.key)
		return nil
	}
	if r.situation != like.situation || like.token != "" && like.token != r.token {
		return nil
	}
	return r.reason
}
