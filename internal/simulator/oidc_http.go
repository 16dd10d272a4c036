package simulator

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// oidcCode is what an authorization code stands for; it works once.
type oidcCode struct {
	user, redirect, challenge, nonce string
}

func signed(signer jose.Signer, claims map[string]any) (string, error) {
	raw, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	object, err := signer.Sign(raw)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return object.CompactSerialize()
}

func (p *OIDCProvider) discovery(w http.ResponseWriter, _ *http.Request) {
	issuer := p.Issuer()
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token", "jwks_uri": issuer + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"}, "code_challenge_methods_supported": []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
	})
}

func (p *OIDCProvider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	key := jose.JSONWebKey{Key: p.key.Public(), KeyID: p.keyID, Algorithm: "ES256", Use: "sig"}
	p.mu.Unlock()
	writeJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}})
}

var usersPage = template.Must(template.New("users").Parse(`<!doctype html><title>Who are you?</title><h1>Who are you?</h1>
{{range .}}<p><a href="{{.Link}}">{{.Name}}</a></p>{{end}}`))

// authorize sends whoever is logged in back with a code, and asks everybody else who they are.
func (p *OIDCProvider) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	p.mu.Lock()
	script := p.script
	p.mu.Unlock()
	back, err := url.Parse(query.Get("redirect_uri"))
	switch {
	case err != nil || back.Host == "" || query.Get("client_id") != script.ClientID || query.Get("response_type") != "code":
		http.Error(w, "unknown client or redirect", http.StatusBadRequest)
		return
	case query.Get("code_challenge_method") != "S256" || query.Get("code_challenge") == "":
		http.Error(w, "PKCE with S256 is needed", http.StatusBadRequest)
		return
	}
	user := script.User
	if chosen := query.Get("user"); chosen != "" {
		user = chosen
	}
	if user == "" {
		p.choose(w, r, script)
		return
	}
	answer := url.Values{"state": {query.Get("state")}, "iss": {p.Issuer()}}
	if _, known := script.Users[user]; known {
		answer.Set("code", p.code(oidcCode{user, query.Get("redirect_uri"), query.Get("code_challenge"), query.Get("nonce")}))
	} else {
		answer.Set("error", "access_denied")
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound) //nolint:gosec // whoever simulates a client names where it is
}

func (p *OIDCProvider) choose(w http.ResponseWriter, r *http.Request, script OIDCOptions) {
	type choice struct{ Name, Link string }
	var all []choice
	for _, name := range slices.Sorted(maps.Keys(script.Users)) {
		query := r.URL.Query()
		query.Set("user", name)
		all = append(all, choice{name, "/authorize?" + query.Encode()})
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = usersPage.Execute(w, all) // the caller may have left
}

func (p *OIDCProvider) code(c oidcCode) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := "code-" + rand.Text()
	p.codes[text] = c
	return text
}

func (p *OIDCProvider) token(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil || r.PostForm.Get("grant_type") != "authorization_code" {
		refuse(w, http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, inHeader := r.BasicAuth()
	if inHeader {
		id, secret = unescaped(id), unescaped(secret)
	} else {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	if id != p.script.ClientID || secret != p.script.ClientSecret {
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	code, known := p.codes[r.PostForm.Get("code")]
	delete(p.codes, r.PostForm.Get("code"))
	proof := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if !known || code.redirect != r.PostForm.Get("redirect_uri") || base64.RawURLEncoding.EncodeToString(proof[:]) != code.challenge {
		refuse(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	identity, err := p.mint(code.user, p.script.ClientID, time.Hour, map[string]any{"nonce": code.nonce})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, map[string]any{
		"access_token": "access-" + rand.Text(), "token_type": "Bearer", "expires_in": 3600, "id_token": identity,
	})
}
