package connection

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// renewAgain is how soon a renewal is looked for again that gave nothing new.
const renewAgain = time.Minute

// Token is what a connection remembers of the tokens of its config's source. It never holds a token.
type Token struct {
	// Current counts the token that is to be delivered; Delivered is the one that the engine was given.
	Current   int64      `json:"current,omitempty"`
	Delivered int64      `json:"delivered,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	RenewAt   *time.Time `json:"renewAt,omitempty"`
	// DeliveredExpiresAt is when calls begin to fail that use what the engine was given.
	DeliveredExpiresAt *time.Time `json:"deliveredExpiresAt,omitempty"`

	// Refused is the newest token that the endpoint refused: it is not used again.
	Refused int64 `json:"refused,omitempty"`
	// Distrusted means that somebody marked the connection stale: what was minted is dropped everywhere.
	Distrusted bool `json:"distrusted,omitempty"`
	// Minted means that this unhealthy episode has had its one mint.
	Minted bool `json:"minted,omitempty"`
	// Refusal is what the endpoint said of a token that was minted and never delivered for that reason.
	Refusal *health.Failure `json:"refusal,omitempty"`

	// RefusedDigest names the token that the endpoint refused before it was delivered, without telling it.
	RefusedDigest string     `json:"refusedDigest,omitempty"`
	RefusedUntil  *time.Time `json:"refusedUntil,omitempty"`

	// Failure is why the last renewal failed, while the delivered token still works.
	Failure  *health.Failure `json:"failure,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
	RetryAt  *time.Time      `json:"retryAt,omitempty"`
}

// newEpisode lets a token be minted again, because a person asks or all is well.
func (t *Token) newEpisode() {
	if t != nil {
		t.Minted, t.Refusal = false, nil
	}
}

// hasSource reports whether the token has to be minted or read.
func (c *connection) hasSource() bool { return c.Desired != nil && c.Desired.Token != nil }

// token is what is remembered of tokens; it exists from the first use on.
func (c *connection) token() *Token {
	if c.Token == nil {
		c.Token = &Token{}
	}
	return c.Token
}

// mint makes sure that there is a token to deliver which is newer than the given one, unless the source has nothing newer.
//
// It may take minutes, so it is given up as soon as something else is asked for: what a worker mints meanwhile is there the
// next time.
func (c *connection) mint(
	ctx workflow.Context, newerThan int64, interrupted func() bool,
) (endpoint.MintResult, error) {
	t := c.token()
	before := c.WaitingFor
	c.WaitingFor = WaitingToken
	mintCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	minting := workflow.ExecuteActivity(mintOptions(mintCtx, "have a token for "+c.Key.Name),
		endpoint.MintName, endpoint.MintRequest{
			Key: c.Key, Revision: c.Entry.DesiredRevision, Sequence: newerThan, Force: t.Distrusted,
		})
	await(ctx, func() bool { return minting.IsReady() || interrupted() })
	c.WaitingFor = before
	if !minting.IsReady() {
		return endpoint.MintResult{}, errInterrupted
	}
	var res endpoint.MintResult
	err := minting.Get(ctx, &res)
	if err != nil || res.DesiredChanged {
		until := workflow.Now(ctx).Add(maxBackoff)
		t.RefusedDigest, t.RefusedUntil = refusedDigest(err), &until
		return res, err
	}
	t.RefusedDigest, t.RefusedUntil = "", nil
	t.Current, t.ExpiresAt, t.RenewAt = res.Sequence, res.ExpiresAt, res.RenewAt
	t.Distrusted, t.Failure, t.RetryAt, t.Attempts = false, nil, nil, 0
	return res, nil
}

// errInterrupted says that something else was asked for while a token was being minted.
var errInterrupted = errors.New("something else was asked for")

// refusedDigest reads which token the endpoint refused, where that is why there is none.
func refusedDigest(err error) string {
	f, _ := apperr.FailureOf(err)
	digest, _ := f.Details[health.DetailRefusedDigest].(string)
	return digest
}

// mintForRepair has a token before anything is pushed. It reports whether the repair may go on.
func (c *connection) mintForRepair(ctx workflow.Context) bool {
	if !c.hasSource() {
		return true
	}
	if t := c.token(); t.Minted && t.Refusal != nil {
		c.fail(ctx, *t.Refusal)
		return false
	}
	newerThan := c.token().Refused
	if c.token().Distrusted {
		newerThan = max(newerThan, c.token().Current)
	}
	res, err := c.mint(ctx, newerThan, c.urgent)
	switch {
	case errors.Is(err, errInterrupted):
		c.apply(ctx, delivery.Deferred{Revision: c.Entry.DesiredRevision, Reason: err.Error()})
		c.WaitingFor = ""
		return false
	case temporal.IsCanceledError(err):
		return false
	case err != nil:
		f := failureOf(err, health.StageTokenMint)
		if aboutTheToken(f) {
			// The endpoint refused what was minted: that was this episode's one.
			c.token().Minted, c.token().Refusal = true, &f
		}
		c.fail(ctx, f)
		return false
	case res.DesiredChanged:
		c.desiredChanged(ctx)
		return false
	}
	if res.Minted {
		c.token().Minted = true
	}
	return true
}

// renew has the next token minted while the connection is ready and stays so: the delivered one still works.
func (c *connection) renew(ctx workflow.Context) {
	t := c.token()
	res, err := c.mint(ctx, t.Delivered, c.woken)
	switch {
	case errors.Is(err, errInterrupted), temporal.IsCanceledError(err):
	case err != nil:
		f := failureOf(err, health.StageTokenMint)
		t.Failure = &f
		t.Attempts++
		wait := backoff(workflow.GetInfo(ctx).WorkflowExecution.ID, t.Attempts)
		if !f.Retryable {
			wait = maxBackoff
		}
		at := workflow.Now(ctx).Add(wait)
		t.RetryAt = &at
		c.log.Warn("token not renewed", "code", string(f.Code), "attempts", t.Attempts)
	case res.DesiredChanged:
		c.Intents.Load = true
	case res.Sequence == t.Delivered:
		// Somebody changed it back, or the source insists on it. Asking again at once would be a loop.
		at := workflow.Now(ctx).Add(renewAgain)
		t.RetryAt = &at
	}
}

// tokenDelivered notes which token the engine was given. It may be a newer one than was known here.
func (c *connection) tokenDelivered(res engine.RegisterResult) {
	if !c.hasSource() {
		return
	}
	t := c.token()
	if res.Token != 0 && res.Token != t.Current {
		t.Current, t.ExpiresAt, t.RenewAt = res.Token, res.TokenExpiresAt, nil
	}
	t.Delivered, t.DeliveredExpiresAt = t.Current, t.ExpiresAt
}

// tokenProven reports whether the engine has the token that is to be delivered.
func (c *connection) tokenProven() bool {
	return !c.hasSource() || c.token().Current == c.token().Delivered
}

// tokenExpires reports whether what the engine was given is about to be of no use, or is already.
func (c *connection) tokenExpires(now time.Time) bool {
	if !c.hasSource() {
		return false
	}
	at := c.token().DeliveredExpiresAt
	return at != nil && !now.Add(engine.ForceBefore).Before(*at)
}

// anotherTokenMayHelp notes that the endpoint refused the token, and reports whether another one is to be minted: once in
// each unhealthy episode, and only where the refusal is about the token.
func (c *connection) anotherTokenMayHelp(f health.Failure) bool {
	if !c.hasSource() || !aboutTheToken(f) {
		return false
	}
	t := c.token()
	if t.Minted || t.Current == 0 {
		return false
	}
	t.Refused, t.Minted = t.Current, true
	return true
}

// aboutTheToken tells a refused token from a right that no token of the same source would have.
func aboutTheToken(f health.Failure) bool {
	switch f.Code {
	case health.CodeInvalidToken, health.CodeMissingToken, health.CodeNeedsAuth, health.CodeSessionRevoked:
		return f.Stage == health.StageTransportAuth
	default:
		return false
	}
}

// TokenView is what is shown of a token.
type TokenView struct {
	Source    string     `json:"source"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	RenewAt   *time.Time `json:"renewAt,omitempty"`
	// Failure is why the last renewal failed; the connection is ready for as long as the delivered token works.
	Failure       *health.Failure `json:"failure,omitempty"`
	NextAttemptAt *time.Time      `json:"nextAttemptAt,omitempty"`
}

func (c *connection) tokenView() *TokenView {
	if !c.hasSource() {
		return nil
	}
	v := &TokenView{Source: c.Desired.Token.Source, ExpiresAt: c.Desired.Token.ExpiresAt, RenewAt: c.Desired.Token.RenewAt}
	if t := c.Token; t != nil && t.Current != 0 {
		v.ExpiresAt, v.RenewAt, v.Failure, v.NextAttemptAt = t.ExpiresAt, t.RenewAt, t.Failure, t.RetryAt
	}
	return v
}

// tokenSeen is what a look compares with what is current by then.
func (c *connection) tokenSeen() *engine.TokenSeen {
	if !c.hasSource() {
		return nil
	}
	t := c.token()
	retryAt := t.RetryAt
	if last := c.Entry.LastAttemptAt; c.Entry.State != delivery.Ready && last != nil {
		at := last.Add(repairPause)
		retryAt = &at
	}
	return &engine.TokenSeen{
		Sequence: t.Delivered, Tried: t.Current, ExpiresAt: t.DeliveredExpiresAt, Refused: t.RefusedDigest,
		RefusedUntil: t.RefusedUntil, RetryAt: retryAt,
	}
}

// tokenDue has another token minted: one that is soon of no use, or is missing.
func (c *connection) tokenDue(ctx workflow.Context) {
	if c.Entry.State == delivery.Ready {
		c.renew(ctx)
		return
	}
	// What the repair before this one had is not good enough any more.
	c.token().Refused = c.token().Current
	c.Token.newEpisode()
	c.repairSoon(ctx)
}

// tokenRenewed delivers a token that is newer than what the engine was given.
func (c *connection) tokenRenewed(ctx workflow.Context) {
	if c.Entry.State == delivery.Ready {
		c.doubt(ctx, 0, "the token was renewed", "token")
		return
	}
	c.Token.newEpisode()
	c.repairSoon(ctx)
}

// repairSoon repairs because a look says that it may help now. Looks say so no sooner than a while after the last attempt;
// where a worker's clock goes wrong that is waited for here, so that it never becomes a loop.
func (c *connection) repairSoon(ctx workflow.Context) {
	if last := c.Entry.LastAttemptAt; last != nil {
		if left := last.Add(repairPause).Sub(workflow.Now(ctx)); left > 0 {
			woken, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
				Timeout: left, TimerOptions: workflow.TimerOptions{Summary: "pause before the next attempt"},
			}, c.woken)
			if err != nil || woken {
				return
			}
		}
	}
	c.Intents.Repair = true
}
