package simulator

import (
	"net/http"
	"net/url"
	"time"
)

// tokenAnswer is the body of a good answer (RFC 6749, 5.1).
type tokenAnswer struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    *int64 `json:"expires_in,omitempty"`
	RefreshToken string `json:"refresh_token,omitempty"`
	Scope        string `json:"scope,omitempty"`
}

func (s *TokenServer) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/token" {
		http.NotFound(w, r)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
	if r.Method != http.MethodPost || r.ParseForm() != nil {
		refuse(w, http.StatusBadRequest, "invalid_request")
		return
	}
	grant := r.PostForm.Get("grant_type")
	s.counter.add(grant, "")
	if fault, ok := s.faults.take(grant, AnyRequest); ok && fault.serve(w, r) {
		return
	}
	if !s.knows(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="token"`)
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	answer, refusal := s.issue(grant, r.PostForm)
	switch {
	case s.loses():
		reset(w)
	case refusal != "":
		refuse(w, http.StatusBadRequest, refusal)
	default:
		w.Header().Set("Cache-Control", "no-store")
		writeJSON(w, http.StatusOK, answer)
	}
}

// knows authenticates the client.
func (s *TokenServer) knows(r *http.Request) bool {
	s.mu.Lock()
	script := s.script
	s.mu.Unlock()
	id, secret, inHeader := r.BasicAuth()
	if inHeader {
		id, secret = unescaped(id), unescaped(secret) // RFC 6749, 2.3.1
	} else {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	if script.AuthStyle != AuthAny && inHeader != (script.AuthStyle == AuthHeader) {
		return false
	}
	return id == script.ClientID && secret == script.ClientSecret
}

func unescaped(s string) string {
	plain, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return plain
}

// issue answers a grant, or says by its OAuth code why not.
func (s *TokenServer) issue(grant string, form url.Values) (answer tokenAnswer, refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var family string
	switch grant {
	case GrantClientCredentials:
	case GrantRefreshToken:
		var ok bool
		family, answer.RefreshToken, ok = s.grants.redeem(form.Get("refresh_token"), !s.script.KeepRefresh)
		if !ok {
			return tokenAnswer{}, "invalid_grant"
		}
	default:
		return tokenAnswer{}, "unsupported_grant_type"
	}
	answer.AccessToken = s.grants.issue(family, s.script.Lifetime, s.script.JWT, time.Now())
	answer.TokenType = "Bearer"
	answer.Scope = form.Get("scope")
	if s.script.Lifetime >= 0 {
		seconds := int64(s.script.Lifetime / time.Second)
		answer.ExpiresIn = &seconds
	}
	return answer, ""
}

func (s *TokenServer) loses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lose == 0 {
		return false
	}
	s.lose--
	return true
}

func refuse(w http.ResponseWriter, status int, code string) {
	writeJSON(w, status, map[string]string{"error": code, "error_description": "the simulated token server refuses"})
}
