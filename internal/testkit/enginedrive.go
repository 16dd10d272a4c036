package testkit

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// turnsInSession is after how many turns a drive begins a new session: a turn takes longer the more came before it.
const turnsInSession = 20

const longestEvenPause = 500 * time.Millisecond

// DriveOptions say how an engine is kept busy.
type DriveOptions struct {
	// Every is the time from one prompt to the next, where turns are shorter than that.
	Every time.Duration
	// Pause is what is left between two turns at least.
	Pause time.Duration
	// Even makes a pause as long as the turn before it took, up to 500 ms: where the machine is slow, everybody is.
	Even bool
}

// Drive keeps an engine busy with turn after turn.
type Drive struct {
	user    *EngineUser
	options DriveOptions
	cancel  context.CancelFunc
	done    chan struct{}

	mu     sync.Mutex
	report DriveReport
}

// DriveReport is what became of a drive's tool calls.
type DriveReport struct {
	Turns    []Turn
	Calls    int
	Failures []string // texts of calls that failed, and of turns that came to nothing
}

// Drive begins to drive the engine until [Drive.Stop], or the test, ends it.
func (u *EngineUser) Drive(options DriveOptions) *Drive {
	u.tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(u.tb.Context()))
	d := &Drive{user: u, options: options, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		d.run(ctx)
	}()
	u.tb.Cleanup(func() { cancel(); <-d.done })
	return d
}

// Stop lets the turn under way end, and returns the report.
func (d *Drive) Stop() DriveReport {
	d.cancel()
	<-d.done
	return d.Report()
}

// Report is the report so far.
func (d *Drive) Report() DriveReport {
	d.mu.Lock()
	defer d.mu.Unlock()
	report := d.report
	report.Turns = append([]Turn(nil), report.Turns...)
	report.Failures = append([]string(nil), report.Failures...)
	return report
}

func (d *Drive) run(ctx context.Context) {
	// A turn is not cut short: what became of its calls would be unknown.
	turns := context.WithoutCancel(ctx)
	session := ""
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		var err error
		if n%turnsInSession == 0 {
			session, err = d.user.Session(turns)
		}
		var turn Turn
		if err == nil {
			turn, err = d.user.Turn(turns, session, fmt.Sprintf("turn %d", n))
		}
		d.note(turn, err)
		d.rest(ctx, began)
	}
}

func (d *Drive) note(turn Turn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &d.report
	r.Turns = append(r.Turns, turn)
	r.Calls += len(turn.Calls)
	for _, call := range turn.Calls {
		if !call.OK() {
			r.Failures = append(r.Failures, call.Tool+": "+call.Status+": "+call.Text)
		}
	}
	switch {
	case err != nil:
		r.Failures = append(r.Failures, err.Error())
	case len(turn.Calls) == 0:
		r.Failures = append(r.Failures, "the turn made no call: the tool was not offered")
	}
}

func (d *Drive) rest(ctx context.Context, began time.Time) {
	pause := max(time.Until(began.Add(d.options.Every)), d.options.Pause)
	if d.options.Even {
		pause = max(pause, min(time.Since(began), longestEvenPause))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
