package approval

import (
	"errors"
	"time"
)

// MaxPauses is how many questions one execution may ask.
const MaxPauses = 50

var (
	// ErrNoPause means that an execution has no pause of that id.
	ErrNoPause = errors.New("no such pause")
	// ErrSettled means that the execution has ended: nothing is asked any more.
	ErrSettled = errors.New("the execution has ended")
	// ErrTooManyPauses means that an execution has asked [MaxPauses] times.
	ErrTooManyPauses = errors.New("the execution has asked too often")
)

// Run is the protocol of one execution. Its rules: a pause ends once, in one of three ways (decided, expired, dropped), and stays as it
// ended; the execution ends once, and with it every pause that waits.
type Run struct {
	Key     string
	Pauses  []Pause // by number, which is the index and 1
	Outcome *Outcome
}

// Open asks a question that waits until the deadline.
func (r *Run) Open(question Request, now, deadline time.Time) (Pause, error) {
	if r.Outcome != nil {
		return Pause{}, ErrSettled
	}
	if len(r.Pauses) >= MaxPauses {
		return Pause{}, ErrTooManyPauses
	}
	n := len(r.Pauses) + 1
	p := Pause{ID: PauseID(r.Key, n), Number: n, Request: question, CreatedAt: now, Deadline: deadline}
	r.Pauses = append(r.Pauses, p)
	return p, nil
}

// Pause finds a pause by its id.
func (r *Run) Pause(id string) (Pause, error) {
	p, err := r.find(id)
	if err != nil {
		return Pause{}, err
	}
	return *p, nil
}

func (r *Run) find(id string) (*Pause, error) {
	key, n, err := ParseID(id)
	if err != nil || key != r.Key || n < 1 || n > len(r.Pauses) {
		return nil, ErrNoPause
	}
	return &r.Pauses[n-1], nil
}

// Decide makes a wish the decision on a pause, at the time that it bears, where the pause waits and its deadline is ahead. The answer is
// the pause with what counts.
func (r *Run) Decide(id string, wish Decision) (Pause, Verdict, error) {
	p, err := r.find(id)
	if err != nil {
		return Pause{}, "", err
	}
	if !r.expire(p, wish.At) && p.Open() {
		decision := p.tidy(wish)
		p.Decision = &decision
		return *p, VerdictDecided, nil
	}
	verdict, _ := p.Judge(wish)
	return *p, verdict, nil
}

// Expire ends a pause that waits beyond its deadline, and reports whether it did.
func (r *Run) Expire(id string, now time.Time) (Pause, bool) {
	p, err := r.find(id)
	if err != nil {
		return Pause{}, false
	}
	expired := r.expire(p, now)
	return *p, expired
}

func (r *Run) expire(p *Pause, now time.Time) bool {
	if !p.Open() || now.Before(p.Deadline) {
		return false
	}
	p.Expired = true
	return true
}

// Settle ends the execution, drops the pauses that wait, and gives those. An execution that has ended stays as it did.
func (r *Run) Settle(o Outcome) (dropped []Pause, settled bool) {
	if r.Outcome != nil {
		return nil, false
	}
	r.Outcome = &o
	for i := range r.Pauses {
		if p := &r.Pauses[i]; p.Open() {
			p.Dropped = true
			dropped = append(dropped, *p)
		}
	}
	return dropped, true
}

// Waiting reports whether any pause waits.
func (r *Run) Waiting() bool {
	for _, p := range r.Pauses {
		if p.Open() {
			return true
		}
	}
	return false
}

// Ended is how an execution ends whose gate has ended so; ok is false where the gate waits, or was opened by an accept.
func (p Pause) Ended() (kind OutcomeKind, ok bool) {
	switch {
	case p.Expired:
		return OutcomeExpired, true
	case p.Dropped:
		return OutcomeCancelled, true
	case p.Decision == nil || p.Decision.Action == ActionAccept:
		return "", false
	case p.Decision.Action == ActionDecline:
		return OutcomeDeclined, true
	default:
		return OutcomeCancelled, true
	}
}
