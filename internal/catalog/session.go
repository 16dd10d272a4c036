package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// lane is what a session is used for.
type lane int

const (
	// laneShared is for calls that may be made again: when one of them breaks the session, the others can be repeated.
	laneShared lane = iota
	// laneAlone is for one call at a time that may not be made again, so that nobody else's answer makes its outcome unknown.
	laneAlone
	// laneAsk is for one call at a time whose tool may ask its caller, so that its questions can only be this call's.
	laneAsk
	// laneListen hears that tools have changed.
	laneListen
)

const (
	connectLimit  = 15 * time.Second
	childStop     = 3 * time.Second
	clientName    = "holdfast"
	clientVersion = "1"
)

var errNobody = errors.New("nobody could be asked")

// session is one MCP session with a source.
type session struct {
	client *mcp.ClientSession
	lane   lane
	wire   *wire        // nil: a child process
	calls  atomic.Int64 // that went past the client

	current   atomic.Pointer[attempt] // of laneAlone and laneAsk: the call under way
	questions atomic.Int64            // that nobody was asked
	inFlight  atomic.Int64
	uses      atomic.Int64
	lastUse   atomic.Int64 // nanoseconds
	listed    atomic.Bool  // its client has seen the tools
	ended     chan struct{}
	closing   sync.Once
	ending    sync.WaitGroup // streams whose answers are read already
}

// openError is why a source could not be reached, or did not tell its tools. No tool was called.
type openError struct {
	status int // of HTTP; 0: no answer
	err    error
}

func (e *openError) Error() string { return e.err.Error() }

func (e *openError) Unwrap() error { return e.err }

// dialer opens sessions with one source.
type dialer struct {
	source    definition
	transport *http.Transport // nil: a child process
	log       *slog.Logger
	changed   func() // the tools have changed
	life      func() context.Context

	version atomic.Pointer[string] // of the protocol, as it was agreed on last
}

// dial opens a session. The context bounds the opening, not the session.
func (d *dialer) dial(ctx context.Context, lane lane) (*session, error) {
	ctx, cancel := context.WithTimeout(apart{ctx}, min(connectLimit, max(d.source.timeout, time.Second)))
	defer cancel()
	s := &session{lane: lane, ended: make(chan struct{})}
	client := mcp.NewClient(implementation(), d.options(s))
	var options *mcp.ClientSessionOptions
	if known := d.version.Load(); known != nil { // it need not be found out again
		options = &mcp.ClientSessionOptions{ProtocolVersion: *known}
	}
	a := &attempt{done: ctx.Done()}
	connected, err := client.Connect(withAttempt(ctx, a), d.way(s), options)
	a.end()
	if err != nil {
		d.version.Store(nil)
		return nil, &openError{status: a.httpStatus(), err: err}
	}
	if result := connected.InitializeResult(); result != nil {
		d.version.Store(&result.ProtocolVersion)
	}
	s.client = connected
	s.touch()
	go func() {
		defer close(s.ended)
		_ = connected.Wait()
	}()
	return s, nil
}

func (d *dialer) options(s *session) *mcp.ClientOptions {
	options := &mcp.ClientOptions{
		Logger:             slog.New(slog.DiscardHandler), // it quotes what servers answer
		Capabilities:       capabilities(),
		ElicitationHandler: s.elicit,
	}
	if s.lane == laneListen || d.source.local() && s.lane == laneShared {
		options.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { d.changed() }
	}
	return options
}

func implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: clientName, Version: clientVersion}
}

func capabilities() *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
		Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
	}}
}

// way is the transport of one session.
func (d *dialer) way(s *session) mcp.Transport {
	if d.source.local() {
		command := exec.CommandContext(d.life(), d.source.command, d.source.args...)
		command.Env = append(environment(), d.source.env...)
		command.Dir = d.source.dir
		command.Stderr = complaints(d.log, d.source.name)
		command.WaitDelay = childStop // a grandchild may keep the error stream open
		return childTransport{&mcp.CommandTransport{Command: command, TerminateDuration: childStop}}
	}
	s.wire = &wire{url: d.source.url.String(), base: d.transport, header: d.source.header}
	return &mcp.StreamableClientTransport{
		Endpoint:   s.wire.url,
		HTTPClient: s.wire.client(),
		// Servers may put questions on the standing stream; nothing else comes there that a call needs.
		DisableStandaloneSSE: s.lane != laneAsk && s.lane != laneListen,
		MaxEventSize:         maxResultEvents,
	}
}

// alive reports whether the session can be used, as far as is known.
func (s *session) alive() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

func (s *session) touch() { s.lastUse.Store(time.Now().UnixNano()) }

func (s *session) idleSince() time.Time { return time.Unix(0, s.lastUse.Load()) }

// stateful reports whether the source keeps something for this session that it could lose.
func (s *session) stateful() bool { return s.client.ID() != "" }

// close ends the session. It may take as long as the source takes to answer, at most some seconds.
func (s *session) close() {
	s.closing.Do(func() {
		_ = s.client.Close()
		s.ending.Wait()
	})
}

// elicit answers a question of the source.
func (s *session) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	a := attemptOf(ctx) // of a protocol in which a tool's answer is what it asks
	if a == nil {
		a = s.current.Load()
	}
	if a == nil || a.over() || a.ask == nil {
		s.questions.Add(1)
		if a != nil {
			a.markUnanswered()
		}
		return &mcp.ElicitResult{Action: string(approval.ActionCancel)}, nil
	}
	question, err := questionOf(r.Params)
	if err != nil {
		return nil, err
	}
	a.asking.Lock()
	defer a.asking.Unlock()
	decision, err := a.ask(question)
	if err != nil {
		return nil, errNobody
	}
	result := &mcp.ElicitResult{Action: string(decision.Action)}
	if decision.Action == approval.ActionAccept && question.Kind != approval.KindURL {
		result.Content = map[string]any{}
		if len(decision.Content) > 0 {
			if err := json.Unmarshal(decision.Content, &result.Content); err != nil {
				return nil, errors.New("the answer is no object")
			}
		}
	}
	return result, nil
}

// ofWeb holds for what a person can be sent to: in another scheme a link could do something right where it is shown.
func ofWeb(page string) bool {
	parsed, err := url.Parse(page)
	return err == nil && parsed.Host != "" && (parsed.Scheme == "https" || parsed.Scheme == "http")
}

func questionOf(params *mcp.ElicitParams) (approval.Request, error) {
	question := approval.Request{Kind: approval.KindForm, Message: params.Message}
	if params.Mode == "url" {
		if !ofWeb(params.URL) {
			return question, errors.New("a person can only be sent to a page of http or https")
		}
		question.Kind, question.URL, question.Elicitation = approval.KindURL, params.URL, params.ElicitationID
		return question, nil
	}
	if params.RequestedSchema != nil {
		schema, err := json.Marshal(params.RequestedSchema)
		if err != nil {
			return question, fmt.Errorf("read what is asked: %w", err)
		}
		question.Schema = schema
	}
	return question, nil
}
