package mcpprobe

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// Probe asks the endpoint whether it works, within [Bound] of the target's request timeout. It never fails: whatever
// happens is in the result.
func Probe(ctx context.Context, t Target) Result {
	p := newProber(t)
	if p.endpoint == nil {
		return p.unusable("the endpoint has no usable url: it must be http or https, without user info")
	}
	if !t.validHeaders() {
		return p.unusable("a configured header is not a valid http header")
	}
	p.wire = newWire(t, p.endpoint)
	p.client = p.wire.client()
	overall := overallRequests * p.wire.timeout
	ctx, cancel := context.WithTimeoutCause(ctx, overall, &deadlineError{after: overall})
	defer cancel()
	if t.Canary != nil && t.Canary.ID != "" {
		p.useCanary(ctx, t.Canary)
	} else {
		p.conclude(p.open(ctx), nil)
	}
	return p.finish()
}

// prober is one probe.
type prober struct {
	target   Target
	endpoint *url.URL
	scrub    *scrubber
	wire     *wire
	client   *http.Client

	steps  []*step
	result Result
}

func newProber(t Target) *prober {
	endpoint := t.endpoint()
	p := &prober{target: t, endpoint: endpoint, scrub: newScrubber(t, endpoint)}
	p.result = Result{
		Checked:  true,
		Expected: append([]string{}, t.Expected...),
		Present:  []string{},
		Missing:  []string{},
		Trace:    Trace{Endpoint: p.scrub.address(endpoint), StartedAt: time.Now().UTC(), Steps: []Step{}},
	}
	return p
}

func (p *prober) begin(ctx context.Context, name string) (context.Context, *step) {
	ctx, s := begin(ctx, name, p.wire.timeout)
	p.steps = append(p.steps, s)
	return ctx, s
}

func (p *prober) last() *step {
	if len(p.steps) == 0 {
		return &step{}
	}
	return p.steps[len(p.steps)-1]
}

// useCanary asks in the session of an earlier probe first. A refusal alone does not mean that the session is
// forgotten, since a proxy in front of a restarting endpoint refuses everything: a new session must succeed. Whatever
// stays unknown keeps the canary for the next probe. A list that lacks what is expected is not believed at once either:
// there are endpoints that answer an expired session with nothing, as if that were all.
func (p *prober) useCanary(ctx context.Context, canary *Session) {
	names, err := p.resume(ctx, canary)
	asked := p.last()
	verdict := judge(asked, err)
	if verdict == canaryKnown && p.lacks(names) {
		verdict = canarySuspect
	}
	if verdict == canaryKnown || verdict == canaryUnasked {
		p.settle(ctx, canary, names, err)
		return
	}
	f := p.open(ctx)
	if f.err != nil {
		p.conclude(f, canary)
		return
	}
	if verdict == canarySuspect {
		again, err := p.resume(ctx, canary)
		asked = p.last()
		switch judge(asked, err) {
		case canaryKnown:
			if p.lacks(again) && !p.lacks(f.names) {
				break
			}
			f.close(false, nil)
			p.settle(ctx, canary, again, nil)
			return
		case canaryUnasked:
			p.conclude(f, canary)
			return
		case canaryRefused, canarySuspect:
		}
	}
	p.result.Forgotten = asked.status
	p.conclude(f, nil)
}

// lacks reports whether a list has not what is expected of it.
func (p *prober) lacks(names []string) bool {
	_, missing := split(p.target.Expected, names)
	return len(missing) > 0 || len(names) == 0
}

// conclude takes the outcome of a new session and closes it. A canary is given when its fate is still unknown, and is
// then kept instead.
func (p *prober) conclude(f *fresh, canary *Session) {
	p.judgeTools(f.names, f.err)
	keep := p.target.KeepSession && f.err == nil && canary == nil
	p.result.Session = f.close(keep, p.result.Trace.Server)
	if canary != nil {
		p.result.Session = canary
	}
}

// settle takes the outcome of the canary's session, and ends it if it lives and is not to be kept.
func (p *prober) settle(ctx context.Context, canary *Session, names []string, err error) {
	p.result.Session = canary
	p.result.Trace.ProtocolVersion = canary.ProtocolVersion
	if canary.ServerName != "" || canary.ServerVersion != "" {
		p.result.Trace.Server = &ServerInfo{Name: canary.ServerName, Version: canary.ServerVersion}
	}
	p.judgeTools(names, err)
	if err == nil && !p.target.KeepSession {
		p.result.Session = nil
		p.dismiss(ctx, canary)
	}
}

// unusable is the result for a target to which nothing can be sent.
func (p *prober) unusable(reason string) Result {
	failure := health.ToolsMissing(false, p.result.Expected, reason)
	p.result.Failure = &failure
	p.result.Missing = append(p.result.Missing, p.target.Expected...)
	return p.finish()
}

func (p *prober) finish() Result {
	if p.wire != nil {
		p.wire.base.CloseIdleConnections()
	}
	p.result.Trace.LatencyMillis = time.Since(p.result.Trace.StartedAt).Milliseconds()
	p.result.Trace.Steps = p.trace()
	return p.result
}

// trace shows the steps; the pages of one list are one step.
func (p *prober) trace() []Step {
	shown := []Step{}
	for _, s := range p.steps {
		next := Step{
			Step: s.name, OK: s.good(), HTTPStatus: s.status,
			LatencyMillis: s.latency.Milliseconds(), Error: p.stepError(s),
		}
		if s.further {
			next.LatencyMillis += shown[len(shown)-1].LatencyMillis
			shown[len(shown)-1] = next
			continue
		}
		shown = append(shown, next)
	}
	return shown
}
