package tokensource

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/oauth2"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// maxRetryAfter is how long a token server may ask to be left alone.
const maxRetryAfter = 5 * time.Minute

// Error is a failure to have a token: of the source, or of the endpoint that refused a new token.
type Error struct {
	Failure health.Failure
	// RetryAfter is how long the token server asked to be left alone; 0 when it did not, at most 5 minutes.
	RetryAfter time.Duration
}

// Error is the failure's code and message, and the cause where it has one.
func (e *Error) Error() string {
	text := "no token was minted, " + e.Failure.Error()
	if cause, ok := e.Failure.Details["error"].(string); ok {
		text += " (" + cause + ")"
	}
	return text
}

// FailureOf returns the failure in err's chain.
func FailureOf(err error) (health.Failure, bool) {
	var e *Error
	if !errors.As(err, &e) {
		return health.Failure{}, false
	}
	return e.Failure, true
}

// oauthCodes are the codes of RFC 6749 and RFC 8707 that are told; others may be anything that a server sends.
var oauthCodes = map[string]bool{
	"invalid_request": true, "invalid_client": true, "invalid_grant": true, "unauthorized_client": true,
	"unsupported_grant_type": true, "invalid_scope": true, "access_denied": true, "invalid_target": true,
	"server_error": true, "temporarily_unavailable": true, "slow_down": true,
}

// fault classifies what came of a request to the token server.
func (g *grantSource) fault(ctx context.Context, err error) error {
	var refusal *oauth2.RetrieveError
	var transport *httpclient.Error
	switch {
	case errors.As(err, &refusal):
		return g.refused(refusal)
	case errors.As(err, &transport):
		return g.unanswered(transport)
	case ctx.Err() != nil:
		return &Error{Failure: health.TokenSourceUnreachable("no answer in time")}
	default:
		// What the library says about an answer that it cannot use may quote the answer.
		return placeOf(g.is).invalid("the answer of the token server has no access token in it; check that the url is that of a token endpoint")
	}
}

func (g *grantSource) unanswered(err *httpclient.Error) *Error {
	switch err.Kind {
	case httpclient.KindTooLarge, httpclient.KindMalformed, httpclient.KindRequest:
		return placeOf(g.is).invalid(err.Error())
	case httpclient.KindUnreachable, httpclient.KindTimeout, httpclient.KindCanceled, httpclient.KindStatus:
		return &Error{Failure: health.TokenSourceUnreachable(err.Error())}
	default:
		return &Error{Failure: health.TokenSourceUnreachable(err.Error())}
	}
}

// refused reads an answer that is no token. Its description is left out: a server may quote in it what it was sent.
func (g *grantSource) refused(answer *oauth2.RetrieveError) *Error {
	status := answer.Response.StatusCode
	text := fmt.Sprintf("the token server answered http %d", status)
	if oauthCodes[answer.ErrorCode] {
		text += ", " + answer.ErrorCode
	}
	switch {
	case later(status, answer.ErrorCode):
		return &Error{
			Failure:    health.TokenSourceUnreachable(text),
			RetryAfter: retryAfter(answer.Response.Header.Get("Retry-After"), g.sources.now()),
		}
	case status >= 300 && status < 400:
		return placeOf(g.is).invalid(text + ", a redirect: configure the final url")
	default:
		return &Error{Failure: health.TokenSourceRejected(text)}
	}
}

// later tells the answers that say nothing against the request itself.
func later(status int, code string) bool {
	switch code {
	case "server_error", "temporarily_unavailable", "slow_down":
		return true
	default:
		return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
	}
}

// retryAfter reads the header's two forms; what it cannot read is no wish.
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// clientRefused reports whether a token server did not take the client's id and secret: nothing was used up then.
func clientRefused(err error) bool {
	var refusal *oauth2.RetrieveError
	return errors.As(err, &refusal) &&
		(refusal.ErrorCode == "invalid_client" || refusal.Response.StatusCode == http.StatusUnauthorized)
}
