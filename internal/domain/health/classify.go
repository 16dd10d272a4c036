package health

import (
	"encoding/json"
	"strings"
)

// rpcSessionNotFound is the JSON-RPC code with which MCP servers refuse a
// session that they do not know. Clients use it for timeouts as well, so it
// counts only together with a status or a text about the session.
const rpcSessionNotFound = -32001

// HTTP statuses that say something about a refusal.
const (
	statusUnauthorized     = 401
	statusForbidden        = 403
	statusNotFound         = 404
	statusMethodNotAllowed = 405
	statusRequestTimeout   = 408
	statusGone             = 410
	statusTooManyRequests  = 429
)

// Facts is what is known about one refusal by an MCP endpoint. Zero values mean
// "not known".
type Facts struct {
	HTTPStatus int
	RPCCode    int    // code of a JSON-RPC error
	ErrorField string // JSON field "error" of the body, an OAuth or MCP error code
	Text       string // error text or body, raw
}

// Classify names the failure behind a refusal. Certificate and TLS words win
// over everything: what was refused then is the connection, not the caller.
// After them what was said in a structured way counts (error field, JSON-RPC
// code, HTTP status), and words of the text only where that says nothing. The
// text itself appears only redacted, as details.error.
func Classify(facts Facts) Failure {
	words := wordsOf(facts.Text)
	if mentionsTLS(words) || mentionsTLS(wordsOf(facts.ErrorField)) {
		return SyncFailed(true, facts.Text)
	}
	if f, ok := byErrorField(facts.ErrorField, facts.Text, words); ok {
		return f
	}
	if f, ok := byRPCCode(facts, words); ok {
		return f
	}
	if f, ok := byStatus(facts.HTTPStatus, facts.Text, words); ok {
		return f
	}
	return byWords(facts.Text, words)
}

// ClassifyText names the failure behind an engine's text for a failed server.
// A JSON body within the text counts before its words. The result is always
// retryable: the engine's text is that of its second attempt and may have
// nothing to do with the cause, so it may not stop a repair.
func ClassifyText(text string) Failure {
	f := Classify(factsIn(text))
	f.Retryable = true
	return f
}

// factsIn finds the JSON body that engines append to their error texts.
func factsIn(text string) Facts {
	facts := Facts{Text: text}
	start := strings.IndexByte(text, '{')
	if start < 0 {
		return facts
	}
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	if json.NewDecoder(strings.NewReader(text[start:])).Decode(&body) != nil {
		return facts
	}
	var rpc struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(body.Error, &facts.ErrorField) != nil && json.Unmarshal(body.Error, &rpc) == nil {
		facts.RPCCode = rpc.Code
	}
	return facts
}

// byErrorField knows the codes of OAuth 2, of MCP servers and of this package.
// Anything else, such as a sentence in the field, is left to later rules.
func byErrorField(field, text string, words []string) (Failure, bool) {
	details := errorDetails(text)
	switch strings.ToLower(strings.TrimSpace(field)) {
	case "invalid_token", "invalid_mcp_token", "unauthorized", "unauthenticated", "invalid_client":
		if has(words, "expired") {
			return tokenExpired(details), true
		}
		return authInvalid(details), true
	case "expired_token", "token_expired":
		return tokenExpired(details), true
	case "missing_token", "missing_mcp_token":
		return MissingToken(text), true
	case "session_not_found", "mcp_session_lost":
		return SessionLost(text), true
	case "invalid_grant", "session_revoked", "mcp_session_revoked":
		return SessionRevoked(text), true
	case "membership_required", "membership_revoked", "mcp_membership_revoked":
		return MembershipRevoked(text), true
	case "insufficient_scope", "invalid_scope", "insufficient_mcp_scope":
		return InsufficientScope(text), true
	case "forbidden", "access_denied":
		return forbidden(details), true
	case "not_found", "invalid_target", "wrong_mcp_resource":
		return notFound(details), true
	default:
		return Failure{}, false
	}
}

func byRPCCode(facts Facts, words []string) (Failure, bool) {
	if facts.RPCCode != rpcSessionNotFound {
		return Failure{}, false
	}
	if facts.HTTPStatus == statusNotFound || has(words, "session") && !has(words, "revoked") {
		return SessionLost(facts.Text), true
	}
	return Failure{}, false
}

// byStatus lets the text refine a refusal, but not turn it into another kind:
// a 401 stays a matter of the token, a 403 of permission.
func byStatus(status int, text string, words []string) (Failure, bool) {
	details := errorDetails(text)
	switch {
	case status == statusUnauthorized:
		switch {
		case has(words, "expired"):
			return tokenExpired(details), true
		case tokenMissing(words):
			return MissingToken(text), true
		case grantRevoked(words):
			return SessionRevoked(text), true
		}
		return authInvalid(details), true
	case status == statusForbidden:
		switch {
		case membership(words):
			return MembershipRevoked(text), true
		case has(words, "scope", "scopes"):
			return InsufficientScope(text), true
		}
		return forbidden(details), true
	case status == statusNotFound, status == statusGone:
		if has(words, "session") && !grantRevoked(words) {
			return SessionLost(text), true
		}
		return notFound(details), true
	case serverFault(status), status == statusTooManyRequests, status == statusRequestTimeout:
		return SyncFailed(true, text), true
	default:
		return Failure{}, false
	}
}

func authInvalid(details map[string]any) Failure {
	return invalidToken(StageTransportAuth, AliasAuthInvalid, "The MCP endpoint rejected the token.", details)
}

func tokenExpired(details map[string]any) Failure {
	return invalidToken(StageTransportAuth, AliasTokenExpired, "The token has expired.", details)
}

func forbidden(details map[string]any) Failure {
	return wrongResource(AliasResourceForbidden, "The MCP endpoint refuses access to this resource.", details)
}

func notFound(details map[string]any) Failure {
	return wrongResource(AliasResourceNotFound, "The MCP endpoint does not know this resource.", details)
}
