package api

import (
	"context"
	"errors"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
)

// caller is on whose behalf something is asked of executions. An owner may see and decide what others of the organisation have asked
// for.
func (a *API) caller(c *call) executions.Caller {
	p := c.principal
	return executions.Caller{
		Identity: p.Identity, Principal: p.ID, Name: p.Name, Mode: approval.ModeModel, Resource: "default", Client: "API: " + p.Name,
		Origin: a.names.Base(c.Request), Via: string(approval.ViaAPI), Operator: p.Role.Allows(auth.RoleOwner),
	}
}

// scope is whose rows a list shows. One of the two is set.
type scope struct {
	identity     *approval.Identity
	organisation string
}

const (
	scopeOwn          = "own"
	scopeOrganisation = "organisation"
)

var scopeParam = param{
	name: "scope", about: "whose: own, or the whole organisation's, which needs an owner and is then the default",
	enum: []string{scopeOwn, scopeOrganisation},
}

// scope reads whose rows are asked for.
func (c *call) scope() (scope, error) {
	owner := c.principal.Role.Allows(auth.RoleOwner)
	asked := c.query.Get(scopeParam.name)
	switch {
	case asked == "" && owner, asked == scopeOrganisation && owner:
		return scope{organisation: c.principal.Identity.Organisation}, nil
	case asked == "", asked == scopeOwn:
		identity := c.principal.Identity
		return scope{identity: &identity}, nil
	case asked == scopeOrganisation:
		return scope{}, failf(CodeForbidden, "What others have asked for is shown to an owner only.")
	default:
		return scope{}, failf(CodeInvalidPayload, "scope must be own or organisation.")
	}
}

// sees reports whether rows of an identity are within the scope.
func (s scope) sees(who approval.Identity) bool {
	if s.identity != nil {
		return who == *s.identity
	}
	return who.Organisation == s.organisation
}

// mayReach reports whether a caller may see what is an identity's: their own, and an owner what is their organisation's.
func (c *call) mayReach(who approval.Identity) bool {
	own := c.principal.Identity
	return who == own || c.principal.Role.Allows(auth.RoleOwner) && who.Organisation == own.Organisation
}

// upstreamCodes are the codes of calls that got no answer.
var upstreamCodes = map[string]Code{
	string(CodeUpstreamUnreachable): CodeUpstreamUnreachable, string(CodeUpstreamTimeout): CodeUpstreamTimeout,
	string(CodeUpstreamRefused): CodeUpstreamRefused, string(CodeUpstreamUnauthorized): CodeUpstreamUnauthorized,
	string(CodeUpstreamProtocol): CodeUpstreamProtocol,
}

// executionFault turns what executions and the catalog say into an answer. What is somebody else's is not there.
func executionFault(err error) error {
	var (
		ours      *Error
		notFound  *executions.NotFoundError
		forbidden *executions.ForbiddenError
		denied    *executions.DeniedError
		unknown   *executions.UnknownToolError
		arguments *executions.ArgumentsError
		upstream  *catalog.CallError
		down      *executions.UnavailableError
		late      *executions.UnansweredError
	)
	switch {
	case err == nil, errors.As(err, &ours):
		return err
	case errors.As(err, &notFound), errors.As(err, &forbidden):
		return fail(CodeExecutionNotFound).because(err)
	case errors.As(err, &denied):
		return failf(CodeToolDenied, "%s is blocked by %s; nothing was done.", denied.Address, denied.Rule).because(err)
	case errors.As(err, &unknown):
		return noTool(unknown.Suggestions).because(err)
	case errors.As(err, &arguments) && arguments.Taken:
		return failf(CodeInvalidArguments, "Another call was made under this name, and this one was not: use a new name.").because(err)
	case errors.As(err, &arguments):
		return failf(CodeInvalidArguments, "The arguments do not fit the tool's schema; nothing was done: %s.",
			strings.TrimSuffix(arguments.Problem, ".")).because(err)
	case errors.Is(err, approval.ErrBadDecision):
		return failf(CodeInvalidPayload, "This cannot be decided: %v.", err).because(err)
	case errors.As(err, &upstream):
		return upstreamFault(upstream).because(err)
	case errors.As(err, &late):
		return failf(CodeNoWorker, "Nobody has answered: no worker runs, or Temporal is away. The decision may still come to count, until its "+
			"deadline: GET /api/v1/approvals/%s tells.", late.ID).because(err)
	case errors.As(err, &down):
		return unavailable(down.What).because(err)
	case errors.Is(err, catalog.ErrNotListed):
		return unavailable("upstream").because(err)
	default:
		return fail(CodeInternal).because(err)
	}
}

// unavailable names what cannot be reached.
func unavailable(what string) *Error {
	switch what {
	case "temporal":
		return fail(CodeTemporalUnavailable)
	case "store":
		return fail(CodeStoreUnavailable)
	default:
		return fail(CodeUpstreamUnreachable)
	}
}

func upstreamFault(err *catalog.CallError) *Error {
	code, known := upstreamCodes[err.Code]
	if !known {
		code = CodeUpstreamProtocol
	}
	return fail(code).with("address", err.Address).with("sent", err.Sent)
}

func noTool(suggestions []string) *Error {
	err := fail(CodeToolNotFound)
	if len(suggestions) > 0 {
		err = err.with("suggestions", suggestions)
	}
	return err
}

// fromEngine asks executions for what the store knows: a caller is told in time when it does not answer.
func fromEngine[T any](ctx context.Context, a *API, call func(context.Context) (T, error)) (T, error) {
	var (
		value T
		err   error
	)
	gone := a.stored.during(ctx, func(ctx context.Context) { value, err = call(ctx) })
	if gone && err != nil {
		return value, fail(CodeStoreUnavailable).because(err)
	}
	return value, executionFault(err)
}

// fromRuns asks executions for what needs Temporal: a caller is told in time when it does not answer.
func fromRuns[T any](ctx context.Context, a *API, call func(context.Context) (T, error)) (T, error) {
	return fromTemporal(ctx, a, func(ctx context.Context) (T, error) {
		value, err := call(ctx)
		if ctx.Err() != nil {
			return value, err // given up: what the call says of it counts for nothing
		}
		return value, executionFault(err)
	})
}

var (
	aboutEngine    = []Code{CodeTemporalUnavailable, CodeStopping, CodeBusy, CodeNoWorker}
	aboutExecution = append([]Code{CodeExecutionNotFound}, aboutEngine...)
	aboutDeciding  = append([]Code{CodeAlreadyDecided, CodeExecutionExpired, CodeExecutionSettled}, aboutExecution...)
	aboutUpstream  = []Code{
		CodeUpstreamUnreachable, CodeUpstreamTimeout, CodeUpstreamRefused, CodeUpstreamUnauthorized, CodeUpstreamProtocol,
	}
	aboutCalling = joined([]Code{CodeToolNotFound, CodeToolDenied, CodeInvalidArguments}, aboutUpstream, aboutEngine)
)
