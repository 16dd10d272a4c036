package mcpprobe

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// maxPresent is how many tool names are told when none is expected.
const maxPresent = 100

// canaryVerdict is what an answer says about the canary's session.
type canaryVerdict int

const (
	// canaryKnown: the endpoint answered in this session.
	canaryKnown canaryVerdict = iota
	// canaryUnasked: the endpoint could not be asked, or answered about something else than the session.
	canaryUnasked
	// canaryRefused: the endpoint refused the session, if it accepts a new one.
	canaryRefused
	// canarySuspect: a server's fault, which may be the session's or everybody's.
	canarySuspect
)

func judge(s *step, err error) canaryVerdict {
	switch {
	case err == nil:
		return canaryKnown
	case s.status == http.StatusUnauthorized, s.status == http.StatusForbidden, throttled(s.status):
		return canaryUnasked
	case s.lost, s.status >= 400 && s.status < 500:
		return canaryRefused
	case s.status >= 500:
		return canarySuspect
	case statusOK(s.status) && rpcError(s) != nil:
		return canaryRefused
	default:
		return canaryUnasked
	}
}

// throttled statuses ask for patience, not for a change.
func throttled(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// judgeTools fills in the result of a list, or of the failure to get one.
func (p *prober) judgeTools(names []string, err error) {
	if err != nil {
		s := p.last()
		if s.err == nil {
			// A good answer to the request, but not to the probe: a version nobody speaks, a cursor that repeats.
			s.err = err
		}
		p.judgeFailure(s, err)
		return
	}
	p.result.ToolCount = len(names)
	p.result.Present, p.result.Missing = split(p.target.Expected, names)
	switch {
	case len(p.result.Missing) > 0:
		p.fail(health.ToolsMissing(false, p.result.Missing, "the endpoint does not list every expected tool"))
	case len(p.target.Expected) > 0:
	case len(names) == 0:
		p.fail(health.ToolsMissing(false, nil, "the endpoint lists no tool"))
	default:
		for _, name := range names[:min(len(names), maxPresent)] {
			p.result.Present = append(p.result.Present, p.scrub.clean(name))
		}
	}
}

func (p *prober) judgeFailure(s *step, err error) {
	status := s.status
	switch {
	case status == http.StatusUnauthorized:
		p.fail(health.InvalidToken(health.StageTransportAuth, health.AliasAuthInvalid,
			"the endpoint refused the credentials (http 401)"))
	case status == http.StatusForbidden:
		p.fail(health.WrongResource(health.AliasResourceForbidden, "the endpoint forbids access (http 403)"))
	case s.lost || speaksOfLostSession(rpcText(s)):
		p.fail(health.SessionLost(fmt.Sprintf("the endpoint lost the session at %s", s.name)))
	case status != 0 && !statusOK(status) && s.name != StepInitializedNotice:
		answer := health.Answer{HTTPStatus: status, To: s.name, First: s.name == StepInitialize}
		p.fail(health.EndpointAnswered(answer, p.result.Expected))
	case s.fault != nil && !answered(s.fault):
		p.unreachable(s)
		return
	case s.name == StepInitialize && rpcError(s) == nil:
		p.fail(health.NotMCP(p.result.Expected, p.malformedText(s, err)))
	default:
		p.fail(health.ToolsMissing(false, p.result.Expected, p.malformedText(s, err)))
	}
	p.result.Missing = append(p.result.Missing, p.target.Expected...)
	if s.requestID != "" {
		p.result.Failure.RequestID = p.scrub.clean(s.requestID)
	}
}

func (p *prober) fail(failure health.Failure) { p.result.Failure = &failure }

func (p *prober) unreachable(s *step) {
	chain := httpclient.Chain(s.fault)
	for i := range chain {
		chain[i].Message = p.scrub.clean(chain[i].Message)
	}
	failure := health.ProbeUnreachable(chain[len(chain)-1].Message, jsonForm(chain))
	p.result.Failure = &failure
	p.result.Unreachable = true
	p.result.Checked = false
}

// jsonForm is the chain as it looks after a round trip through JSON, which is what details hold.
func jsonForm(chain []httpclient.Link) any {
	encoded, err := json.Marshal(chain)
	if err != nil {
		return nil
	}
	var form any
	if json.Unmarshal(encoded, &form) != nil {
		return nil
	}
	return form
}

// answered tells whether a fault is about what the endpoint answered, not about reaching it.
func answered(fault error) bool {
	var refusal *jsonrpc.Error
	for _, about := range []error{errTooLarge, errTooMany, errForeign, errNotJSONRPC, errWrongAnswer} {
		if errors.Is(fault, about) {
			return true
		}
	}
	return errors.As(fault, &refusal)
}

// malformedText tells in our own words what is wrong with a good status's answer.
func (p *prober) malformedText(s *step, err error) string {
	if refusal := rpcError(s); refusal != nil {
		return fmt.Sprintf("the endpoint answered json-rpc error %d to %s", refusal.Code, s.name)
	}
	for _, own := range []error{
		errNoTools, errCursorLoop, errManyPages, errNoAnswer, errTooLarge, errTooMany, errForeign, errWrongAnswer,
	} {
		if errors.Is(err, own) || errors.Is(s.fault, own) {
			return own.Error()
		}
	}
	return fmt.Sprintf("the endpoint's answer to %s is not usable mcp: check that the url is that of an mcp endpoint",
		s.name)
}

func (p *prober) stepError(s *step) string {
	switch {
	case s.good():
		return ""
	case s.status != 0 && !statusOK(s.status):
		return fmt.Sprintf("http %d", s.status)
	case s.fault != nil && !answered(s.fault):
		chain := httpclient.Chain(s.fault)
		return p.scrub.clean(chain[len(chain)-1].Message)
	default:
		return p.malformedText(s, s.err)
	}
}

// rpcError is the JSON-RPC error with which the endpoint answered, or nil.
func rpcError(s *step) *jsonrpc.Error {
	var refusal *jsonrpc.Error
	if errors.As(s.fault, &refusal) || errors.As(s.err, &refusal) {
		return refusal
	}
	return nil
}

func rpcText(s *step) string {
	if refusal := rpcError(s); refusal != nil {
		return refusal.Message
	}
	return ""
}
