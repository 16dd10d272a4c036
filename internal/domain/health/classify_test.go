package health_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

func TestCase29EngineTextsAreReadByWords(t *testing.T) {
	t.Parallel()
	const unclassified = health.AliasConnectionFailed
	for _, tc := range []struct {
		text  string
		code  health.Code
		alias string
	}{
		{"fetch failed", health.CodeSyncFailed, unclassified},
		{"Connection closed", health.CodeSyncFailed, unclassified},
		{"Not connected", health.CodeSyncFailed, unclassified},
		{"connect ECONNREFUSED 10.0.0.1:443", health.CodeSyncFailed, unclassified},
		{"slow connect", health.CodeSyncFailed, unclassified},
		{"unable to verify the first certificate", health.CodeSyncFailed, unclassified},
		{"fetch failed; caused by: certificate has expired (CERT_HAS_EXPIRED)", health.CodeSyncFailed, unclassified},
		{"bearer token expired", health.CodeInvalidToken, health.AliasTokenExpired},
		{`{"error":"missing_mcp_token","message":"Provide a Bearer token with this request"}`, health.CodeMissingToken, health.AliasAuthRequired},
		{"missing mcp token", health.CodeMissingToken, health.AliasAuthRequired},
		{"Please provide a bearer token.", health.CodeMissingToken, health.AliasAuthRequired},
		{"HTTP 401", health.CodeInvalidToken, health.AliasAuthInvalid},
		{"SSE error: Non-200 status code (401)", health.CodeInvalidToken, health.AliasAuthInvalid},
		{"Unauthorized", health.CodeInvalidToken, health.AliasAuthInvalid},
		{"OAuth required", health.CodeInvalidToken, health.AliasAuthInvalid},
		{"invalid_token", health.CodeInvalidToken, health.AliasAuthInvalid},
		{"port 4010 refused", health.CodeSyncFailed, unclassified},
		{"author missing", health.CodeSyncFailed, unclassified},
		{"Session not found", health.CodeSessionLost, ""},
		{"404 Session not found", health.CodeSessionLost, ""},
		{"invalid_grant", health.CodeSessionRevoked, ""},
		{"grant revoked", health.CodeSessionRevoked, ""},
		{"session revoked", health.CodeSessionRevoked, ""},
		{"membership_required", health.CodeMembershipRevoked, health.AliasMembershipRequired},
		{"remember me", health.CodeSyncFailed, unclassified},
		{"insufficient_scope", health.CodeInsufficientScope, health.AliasScopeMissing},
		{"telescope offline", health.CodeSyncFailed, unclassified},
		{"self signed certificate; 403 forbidden", health.CodeSyncFailed, unclassified},
		{"policy blocked", health.CodeWrongResource, health.AliasResourceForbidden},
		{"Non-200 status code (403)", health.CodeWrongResource, health.AliasResourceForbidden},
		{"404 page", health.CodeWrongResource, health.AliasResourceNotFound},
		{"resource gone", health.CodeWrongResource, health.AliasResourceNotFound},
		{"client registration needed", health.CodeSyncFailed, health.AliasClientRegistrationRequired},
		{"dynamic client registration failed: unauthorized", health.CodeInvalidToken, health.AliasAuthInvalid},
		{"", health.CodeSyncFailed, unclassified},
	} {
		t.Run(tc.text, func(t *testing.T) {
			t.Parallel()
			f := health.ClassifyText(tc.text)
			require.Equal(t, tc.code, f.Code)
			require.Equal(t, tc.alias, firstAlias(f))
			require.True(t, f.Retryable, "an engine's text never stops a repair")
			require.Equal(t, f, *health.FromEngineStatus("failed", tc.text))
		})
	}
}

func TestWordsInsideAddressesSayNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"getaddrinfo ENOTFOUND auth.example.com",
		"dial tcp: lookup session.example.com: no such host",
		"connect ECONNREFUSED 10.0.0.1:401",
		"connect ECONNREFUSED [::1]:403",
		"connect to localhost:404 refused",
		"POST https://policy.example.com/oauth/session/404?resource=1 failed",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, health.AliasConnectionFailed, firstAlias(health.ClassifyText(text)))
		})
	}
}

func TestStructuredFactsComeBeforeWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		facts     health.Facts
		code      health.Code
		alias     string
		retryable bool
	}{
		{"nothing known", health.Facts{}, health.CodeSyncFailed, health.AliasConnectionFailed, true},
		{"401", health.Facts{HTTPStatus: 401}, health.CodeInvalidToken, health.AliasAuthInvalid, false},
		{"401, text about a policy", health.Facts{HTTPStatus: 401, Text: "policy"}, health.CodeInvalidToken, health.AliasAuthInvalid, false},
		{"401, expired", health.Facts{HTTPStatus: 401, Text: "token expired"}, health.CodeInvalidToken, health.AliasTokenExpired, false},
		{"401, missing", health.Facts{HTTPStatus: 401, Text: "Provide a Bearer token"}, health.CodeMissingToken, health.AliasAuthRequired, false},
		{"401, revoked", health.Facts{HTTPStatus: 401, Text: "grant revoked"}, health.CodeSessionRevoked, "", false},
		{"403", health.Facts{HTTPStatus: 403, Text: "unauthorized"}, health.CodeWrongResource, health.AliasResourceForbidden, false},
		{"403, scope", health.Facts{HTTPStatus: 403, Text: "needs scope mcp"}, health.CodeInsufficientScope, health.AliasScopeMissing, false},
		{"403, membership", health.Facts{HTTPStatus: 403, Text: "not a member"}, health.CodeMembershipRevoked, health.AliasMembershipRequired, false},
		{"404", health.Facts{HTTPStatus: 404}, health.CodeWrongResource, health.AliasResourceNotFound, false},
		{"404, session", health.Facts{HTTPStatus: 404, Text: "Session not found"}, health.CodeSessionLost, "", true},
		{"404, session code", health.Facts{HTTPStatus: 404, RPCCode: -32001}, health.CodeSessionLost, "", true},
		{"400, no session", health.Facts{HTTPStatus: 400, RPCCode: -32000, Text: "Bad Request: No valid session ID provided"}, health.CodeSessionLost, "", true},
		{"-32001 as a timeout", health.Facts{RPCCode: -32001, Text: "Request timed out"}, health.CodeSyncFailed, health.AliasConnectionFailed, true},
		{"429", health.Facts{HTTPStatus: 429, Text: "policy"}, health.CodeSyncFailed, health.AliasConnectionFailed, true},
		{"503, text about a token", health.Facts{HTTPStatus: 503, Text: "token expired"}, health.CodeSyncFailed, health.AliasConnectionFailed, true},
		{"field beats status", health.Facts{HTTPStatus: 401, ErrorField: "insufficient_scope"}, health.CodeInsufficientScope, health.AliasScopeMissing, false},
		{"field with expiry in the text", health.Facts{ErrorField: "invalid_token", Text: "The access token expired"}, health.CodeInvalidToken, health.AliasTokenExpired, false},
		{"field beats words", health.Facts{ErrorField: "membership_required", Text: "unauthorized"}, health.CodeMembershipRevoked, health.AliasMembershipRequired, false},
		{"invalid target", health.Facts{ErrorField: "invalid_target"}, health.CodeWrongResource, health.AliasResourceNotFound, false},
		{"a sentence in the field is left to the text", health.Facts{ErrorField: "Oops", Text: "Oops 403"}, health.CodeWrongResource, health.AliasResourceForbidden, false},
		{"TLS beats field and status", health.Facts{HTTPStatus: 401, ErrorField: "invalid_token", Text: "tlsv1 alert unknown ca"}, health.CodeSyncFailed, health.AliasConnectionFailed, true},
		{"SELF_SIGNED_CERT_IN_CHAIN", health.Facts{Text: "SELF_SIGNED_CERT_IN_CHAIN 403"}, health.CodeSyncFailed, health.AliasConnectionFailed, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := health.Classify(tc.facts)
			require.Equal(t, tc.code, f.Code)
			require.Equal(t, tc.alias, firstAlias(f))
			require.Equal(t, tc.retryable, f.Retryable)
		})
	}
}

func TestAJSONBodyInATextCountsBeforeItsWords(t *testing.T) {
	t.Parallel()
	text := `Error POSTing to endpoint: {"error":"insufficient_scope","error_description":"authorization expired"}`
	require.Equal(t, health.CodeInsufficientScope, health.ClassifyText(text).Code)

	text = `Error POSTing to endpoint: {"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found: unauthorized"},"id":null}`
	require.Equal(t, health.CodeSessionLost, health.ClassifyText(text).Code)
}

func TestTLSWordsWinOverEveryOtherText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := []string{"CERT_HAS_EXPIRED", "TLS", "ssl", "self-signed", "self signed", "x509", "certificates"}
		text := rapid.String().Draw(t, "before") + " " + rapid.SampledFrom(words).Draw(t, "word") +
			" " + rapid.SampledFrom([]string{"401", "expired", "session", `{"error":"forbidden"}`, "member"}).Draw(t, "after")
		f := health.ClassifyText(text)
		require.Equal(t, health.CodeSyncFailed, f.Code)
		require.Equal(t, health.AliasConnectionFailed, firstAlias(f))
	})
}

func firstAlias(f health.Failure) string {
	if len(f.Aliases) == 0 {
		return ""
	}
	return f.Aliases[0]
}
