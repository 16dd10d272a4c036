package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// The sources of tools, by what may be done with a call whose answer was lost.
const (
	ledger = "ledger" // honours idempotency keys: the call is made again
	mail   = "mail"   // does not, and its tool is destructive: the call is not made again
	notes  = "notes"  // its tool is idempotent, and asks by rule: the call is made again
)

func sources() []string { return []string{ledger, mail, notes} }

// scenario is how much happens.
type scenario struct {
	seed       uint64
	executions int
	kills      int           // at most: there are none any more once all clients have their outcomes
	arrive     time.Duration // within which clients come
	think      time.Duration // that an approver takes at most
	late       time.Duration // after which it has failed, on a very busy machine too
}

// planned is one call that a client makes, and what a person says to it.
type planned struct {
	name    string // in its arguments: what happened upstream is counted by it
	source  string
	mode    approval.Mode
	modern  bool // the client speaks the stateless protocol
	accept  bool
	byPage  bool          // the decision is made on the page, else by the API
	arrives time.Duration // after the start
	thinks  time.Duration // from when the approver sees the question
	random  *rand.Rand    // the client's own
}

func (p planned) tool() string {
	if p.source == notes {
		return "save"
	}
	return "put"
}

func (p planned) address() string { return p.source + "." + p.tool() }

func (p planned) action() approval.Action {
	if p.accept {
		return approval.ActionAccept
	}
	return approval.ActionDecline
}

// plans makes a third of the calls on each source, a quarter of them declined, and everything else at random.
func (s scenario) plans() []planned {
	random := s.random(0)
	out := make([]planned, s.executions)
	for i := range out {
		out[i] = planned{
			name: fmt.Sprintf("call-%03d", i), source: sources()[i%len(sources())], accept: i%4 != 3,
			mode: pick(random, approval.ModeModel, approval.ModeBrowser), modern: random.IntN(2) == 0, byPage: random.IntN(2) == 0,
			arrives: between(random, 0, s.arrive), thinks: between(random, 0, s.think), random: s.random(uint64(i) + 1),
		}
	}
	return out
}

// random gives a source of random numbers of its own to each part of a scenario.
func (s scenario) random(part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, part))
}

func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)+1))
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }
