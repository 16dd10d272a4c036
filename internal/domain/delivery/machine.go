package delivery

import "time"

// Ignored says why an event changed nothing.
type Ignored string

// The reasons for which an event is ignored.
const (
	IgnoredNothingDesired  Ignored = "nothing_desired"
	IgnoredOtherRevision   Ignored = "other_revision"
	IgnoredOlderGeneration Ignored = "older_generation"
	IgnoredState           Ignored = "not_from_this_state"
	IgnoredNoPush          Ignored = "no_push"
	IgnoredNoReceipt       Ignored = "no_receipt"
	IgnoredEmptyRevision   Ignored = "empty_revision"
)

// Outcome tells what a step did.
type Outcome struct {
	From, To State
	Reason   string
	// Ignored is empty when the event applied. An event may apply and leave the state as it is.
	Ignored Ignored
}

// Changed reports whether the state is another one now.
func (o Outcome) Changed() bool { return o.Ignored == "" && o.From != o.To }

// Apply takes one step. The entry that it returns shares no memory that a later step writes.
//
// The guards, beside those of each event: an event about another revision than the desired one is ignored, and so is
// one about an older generation than the current one.
func Apply(e Entry, ev Event, now time.Time) (Entry, Outcome) {
	s := step{entry: e, now: now, outcome: Outcome{From: e.State, To: e.State}}
	switch ev := ev.(type) {
	case Wanted:
		s.wanted(ev)
	case Unwanted:
		s.unwanted(ev)
	case Started:
		s.started(ev)
	case Deferred:
		s.deferred(ev)
	case Pushed:
		s.pushed(ev)
	case Delivered:
		s.delivered(ev)
	case Verified:
		s.verified(ev)
	case Broken:
		s.broken(ev)
	case Doubted:
		s.doubted(ev)
	}
	s.outcome.To = s.entry.State
	return s.entry, s.outcome
}

// step is one transition under way.
type step struct {
	entry   Entry
	now     time.Time
	outcome Outcome
}

func (s *step) ignore(why Ignored) { s.outcome.Ignored = why }

// guarded applies the guards that all events about a delivery share.
func (s *step) guarded(revision string, generation int64) bool {
	switch {
	case s.entry.DesiredRevision == "":
		s.ignore(IgnoredNothingDesired)
	case revision != s.entry.DesiredRevision:
		s.ignore(IgnoredOtherRevision)
	case generation != 0 && generation != s.entry.Generation:
		s.ignore(IgnoredOlderGeneration)
	default:
		return true
	}
	return false
}

func (s *step) wanted(ev Wanted) {
	e := &s.entry
	if ev.Revision == "" {
		s.ignore(IgnoredEmptyRevision)
		return
	}
	same, first := ev.Revision == e.DesiredRevision, e.DesiredRevision == ""
	e.DesiredRevision, e.Trigger = ev.Revision, ev.Trigger
	if same && e.State == Registering {
		// An attempt for this very revision is under way: who asks joins it.
		s.outcome.Reason = "joins the attempt under way"
		return
	}
	e.UpdatedAt, e.Failure = s.now, nil
	if same && e.Usable() && !ev.Again {
		s.outcome.Reason = "already applied"
		return
	}
	e.State = Pending
	if !same {
		e.AppliedRevision, e.AppliedAt, e.VerifiedAt, e.Receipt, e.Pushed = "", nil, nil, nil, nil
		s.outcome.Reason = "another config is wanted"
		if first {
			s.outcome.Reason = "wanted for the first time"
		}
		return
	}
	s.outcome.Reason = "delivery asked for"
}

func (s *step) unwanted(ev Unwanted) {
	e := &s.entry
	if e.DesiredRevision == "" {
		s.ignore(IgnoredNothingDesired)
		return
	}
	*e = Entry{State: NotDesired, Generation: e.Generation + 1, UpdatedAt: s.now}
	s.outcome.Reason = ev.Reason
}

func (s *step) started(ev Started) {
	if !s.guarded(ev.Revision, 0) {
		return
	}
	if !s.entry.State.MayRegister() {
		s.ignore(IgnoredState)
		return
	}
	// updatedAt stays: it tells when the connection last came to rest.
	s.entry.State, s.entry.LastAttemptAt, s.entry.Failure = Registering, &s.now, nil
	s.outcome.Reason = "registration started"
}

func (s *step) deferred(ev Deferred) {
	if !s.guarded(ev.Revision, 0) {
		return
	}
	if s.entry.State != Registering {
		s.ignore(IgnoredState)
		return
	}
	s.entry.State, s.entry.UpdatedAt = Pending, s.now
	s.outcome.Reason = ev.Reason
}

func (s *step) pushed(ev Pushed) {
	if !s.guarded(ev.Revision, ev.Generation) {
		return
	}
	if s.entry.State != Registering {
		s.ignore(IgnoredState)
		return
	}
	s.entry.Pushed = &Receipt{Revision: ev.Revision, Generation: s.entry.Generation, At: s.now}
	s.entry.Receipt = nil
	s.outcome.Reason = "pushed"
}

// delivered completes a push. From failed as well: a slow server may connect after the attempt was given up.
func (s *step) delivered(ev Delivered) {
	if !s.guarded(ev.Revision, ev.Generation) {
		return
	}
	if s.entry.State != Registering && s.entry.State != Failed {
		s.ignore(IgnoredState)
		return
	}
	if !s.entry.current(s.entry.Pushed) {
		s.ignore(IgnoredNoPush)
		return
	}
	s.entry.Receipt = &Receipt{Revision: ev.Revision, Generation: s.entry.Generation, At: s.now}
	s.outcome.Reason = "delivered"
}

// verified makes the entry ready: from registering after a delivery, and from failed when the connection healed while
// its receipt holds. Never from stale, whose receipt is gone.
func (s *step) verified(ev Verified) {
	if !s.guarded(ev.Revision, ev.Generation) {
		return
	}
	e := &s.entry
	switch e.State {
	case Registering, Failed, Ready, Pending:
	case Stale, NotDesired:
		s.ignore(IgnoredState)
		return
	}
	if !e.Proven() {
		s.ignore(IgnoredNoReceipt)
		return
	}
	e.VerifiedAt = &s.now
	if e.State == Ready {
		s.outcome.Reason = ev.Reason
		return
	}
	e.State, e.AppliedRevision, e.Failure = Ready, ev.Revision, nil
	e.AppliedAt, e.UpdatedAt = &s.now, s.now
	s.outcome.Reason = ev.Reason
}

func (s *step) broken(ev Broken) {
	if !s.guarded(ev.Revision, ev.Generation) {
		return
	}
	e := &s.entry
	failure := ev.Failure
	e.State, e.Failure = Failed, &failure
	e.UpdatedAt = s.now
	if s.outcome.From == Registering {
		e.LastAttemptAt = &s.now
	}
	if e.AppliedRevision != ev.Revision {
		e.AppliedRevision, e.AppliedAt = "", nil
	}
	s.outcome.Reason = string(failure.Code)
}

func (s *step) doubted(ev Doubted) {
	e := &s.entry
	switch {
	case e.DesiredRevision == "":
		s.ignore(IgnoredNothingDesired)
		return
	case ev.Generation != 0 && ev.Generation != e.Generation:
		s.ignore(IgnoredOlderGeneration)
		return
	}
	e.State, e.UpdatedAt = Stale, s.now
	e.Generation++
	e.AppliedRevision, e.AppliedAt, e.VerifiedAt, e.Receipt, e.Pushed = "", nil, nil, nil, nil
	if ev.Trigger != "" {
		e.Trigger = ev.Trigger
	}
	s.outcome.Reason = ev.Reason
}
