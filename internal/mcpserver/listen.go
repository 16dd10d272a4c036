package mcpserver

import (
	"context"
	"errors"
	"time"
)

// listen serves the standing stream: answers that nobody has read come first, then what the server has to say. A position of -1
// begins now.
func (l *listener) listen(after int64) error {
	waiting, err := l.undelivered()
	if err != nil {
		return err
	}
	l.begin()
	if l.comment("keepalive") != nil {
		return nil
	}
	l.adopt()
	own := newSink()
	l.rt.standing.attach(own, endSuperseded)
	defer l.rt.standing.detach(own)
	if l.rt.ended() {
		return nil // between, it was put to sleep: the client comes again
	}
	if err := l.position(&after); err != nil {
		return err
	}
	if len(waiting) > 0 && l.deliver() != nil || l.prime(after) != nil {
		return nil
	}
	look := time.NewTicker(l.e.Settings.Timing.Sweep)
	defer look.Stop()
	for {
		why := l.follow(own, &after, look.C)
		switch {
		case why == endReplay, why == endNone && l.look(&after):
			if l.deliver() != nil || l.prime(after) != nil {
				return nil
			}
		case why != endNone:
			return nil
		}
		if l.closed() {
			return nil
		}
	}
}

// adopt takes over what replicas that have gone left of this session: its client may have lost the ids by which it could ask.
func (l *listener) adopt() {
	ctx, cancel := context.WithTimeout(l.q.Context(), storeTimeout)
	defer cancel()
	running, err := l.e.Store.RunningStreams(ctx, l.row.ID)
	if err != nil {
		return // the client comes again
	}
	for _, row := range running {
		if row.Until.Before(l.e.Now()) {
			l.e.takeOver(l.q, l.row, row)
		}
	}
}

// position replays what came after a position, or finds the one at which the client begins.
func (l *listener) position(after *int64) error {
	if *after >= 0 {
		return l.catchUp(standingStream, after)
	}
	*after = 0
	for {
		events, err := l.events(standingStream, *after)
		if err != nil {
			return err
		}
		if len(events) > 0 {
			*after = events[len(events)-1].Seq
		}
		if len(events) < page {
			return nil
		}
	}
}

// prime tells a client its position, by which it goes on after a cut.
func (l *listener) prime(at int64) error {
	if l.protocol < protocolPolling {
		return nil
	}
	if err := l.frame(frame{stream: standingStream, seq: at, priming: true}); err != nil {
		return err
	}
	return l.control.Flush()
}

// look finds what other replicas have written meanwhile. It reports whether answers wait that nobody can still be writing to their POST.
func (l *listener) look(after *int64) bool {
	if l.catchUp(standingStream, after) != nil {
		return false
	}
	waiting, err := l.undelivered()
	if err != nil {
		return false
	}
	old := l.e.Now().Add(-2 * l.e.Settings.Timing.Grace)
	for _, each := range waiting {
		if each.DoneAt.Before(old) {
			return true
		}
	}
	return false
}

// closed reports whether the client has gone, its token is not valid any more, or the session has ended at another replica.
func (l *listener) closed() bool {
	if l.q.Context().Err() != nil || l.e.revoked(l.q) {
		return true
	}
	_, err := l.e.lookup(l.q.Context(), l.row.ID)
	return errors.Is(err, errTerminated) || errors.Is(err, errNoSession)
}

func (rt *runtime) ended() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.closed != nil
}
