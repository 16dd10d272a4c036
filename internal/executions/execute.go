package executions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// prepared is a call that may be made, or asked for.
type prepared struct {
	tool      catalog.Tool
	arguments json.RawMessage // canonical
	policy    Policy
	verdict   policy.Verdict
}

func (p prepared) digest() string {
	return policy.Digest(p.tool.Address, p.arguments, p.policy.Version)
}

// Execute implements [Engine].
func (s *Service) Execute(ctx context.Context, who Caller, call Call) (Report, error) {
	call.AutoApprove = call.AutoApprove && who.Operator
	p, err := s.prepare(ctx, who, call)
	if err != nil {
		return Report{}, err
	}
	switch {
	case p.verdict.Effect == policy.Ask:
		return s.gated(ctx, who, call, p)
	case p.tool.Harmless():
		return s.direct(ctx, who, call, p)
	default:
		return s.write(ctx, who, call, p)
	}
}

// prepare refuses what cannot succeed before anybody is asked.
func (s *Service) prepare(ctx context.Context, who Caller, call Call) (prepared, error) {
	tool, err := s.catalog.Lookup(ctx, call.Address)
	if errors.Is(err, catalog.ErrNoTool) {
		return prepared{}, &UnknownToolError{Address: call.Address, Suggestions: s.suggestions(ctx, who, call.Address)}
	}
	if err != nil {
		return prepared{}, &UnavailableError{What: "upstream", Err: err}
	}
	p := prepared{tool: tool, policy: s.policy(ctx)}
	p.verdict = p.policy.Judge(who.Identity.Account, tool)
	if p.verdict.Effect == policy.Deny {
		line := s.line(who, "call", p)
		line.Outcome, line.Reason = string(StatusDenied), p.verdict.Reason
		s.audit.add(line)
		return prepared{}, &DeniedError{Address: tool.Address, Rule: p.verdict.Reason}
	}
	if utf8.RuneCountInString(call.Request) > maxRequestName {
		return prepared{}, &ArgumentsError{Address: tool.Address, Problem: fmt.Sprintf("the call's name has more than %d characters", maxRequestName)}
	}
	p.arguments, err = canonical(call.Arguments)
	if err == nil {
		err = s.catalog.Validate(tool, p.arguments)
	}
	if err != nil {
		return prepared{}, &ArgumentsError{Address: tool.Address, Problem: err.Error()}
	}
	return p, nil
}

// Judge finds what applies to a tool for an account.
func (p Policy) Judge(account string, tool catalog.Tool) policy.Verdict {
	return policy.Decide(p.Rules, p.Defaults, policy.Call{Address: tool.Address, Account: account, Annotations: tool.Annotations})
}

// suggestions names no tool that the caller may not call.
func (s *Service) suggestions(ctx context.Context, who Caller, address string) []string {
	var out []string
	now := s.policy(ctx)
	for _, each := range s.catalog.Suggest(address) {
		tool, err := s.catalog.Lookup(ctx, each)
		if err == nil && now.Judge(who.Identity.Account, tool).Effect != policy.Deny && len(out) < maxSuggestions {
			out = append(out, each)
		}
	}
	return out
}

var errNoObject = errors.New("they are not a JSON object")

func canonical(arguments json.RawMessage) (json.RawMessage, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		return json.RawMessage("{}"), nil
	}
	out, err := policy.Canonical(arguments)
	if err != nil {
		return nil, err
	}
	if out[0] != '{' {
		return nil, errNoObject
	}
	return out, nil
}

// line is the part that all lines of the audit share.
func (s *Service) line(who Caller, action string, p prepared) store.Audit {
	return store.Audit{
		At: s.now(), Identity: who.Identity, Principal: who.Principal, Name: who.Name, Via: who.Via, Action: action,
		Session: who.Session, Address: p.tool.Address, Policy: p.policy.Version,
	}
}

// about is the line of something that is done to an execution.
func (s *Service) about(who Caller, action string, row store.Execution) store.Audit {
	line := s.line(who, action, prepared{})
	line.Execution, line.Address, line.Digest, line.Policy = row.Key, row.Address, row.Digest, row.Policy
	return line
}

// called tells of a call that was made without an execution.
func (s *Service) called(who Caller, p prepared, began time.Time, report Report) {
	line := s.line(who, "call", p)
	line.At, line.Latency, line.Digest = began, s.now().Sub(began), p.digest()
	line.Outcome = string(report.Outcome.Kind)
	if report.Outcome.ToolError {
		line.Outcome = "error"
	}
	s.audit.add(line)
}
