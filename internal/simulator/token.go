package simulator

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Grants of a TokenServer; they are the keys of its faults and counts beside [AnyRequest].
const (
	GrantClientCredentials = "client_credentials"
	GrantRefreshToken      = "refresh_token"
)

// AuthStyle says where a TokenServer wants the client's id and secret.
type AuthStyle string

// The styles of client authentication.
const (
	AuthAny    AuthStyle = ""       // wherever they are
	AuthHeader AuthStyle = "header" // HTTP basic authentication
	AuthParams AuthStyle = "params" // in the body
)

// TokenServerOptions is the first script of a TokenServer; the setters change it later.
type TokenServerOptions struct {
	ClientID      string // empty = "client"
	ClientSecret  string // empty = "s3cret"
	AuthStyle     AuthStyle
	Lifetime      time.Duration // of access tokens, told as expires_in; 0 = one hour, below 0 = not told and endless
	KeepRefresh   bool          // refresh tokens are not rotated
	JWT           bool          // access tokens look like JWTs with an exp
	ListenAddress string        // host:port; empty = any free loopback port
}

// TokenServer is a scripted OAuth 2.0 authorization server with the grants client_credentials and refresh_token. It
// rotates refresh tokens and, as real ones do, takes the second use of one for a theft: the whole family is revoked. All
// methods are safe for concurrent use.
type TokenServer struct {
	server  server
	faults  faults
	counter counter

	mu     sync.Mutex
	script TokenServerOptions
	grants grants
	lose   int
}

// NewTokenServer starts a token server; Close ends it.
func NewTokenServer(options TokenServerOptions) (*TokenServer, error) {
	if options.ClientID == "" {
		options.ClientID = "client"
	}
	if options.ClientSecret == "" {
		options.ClientSecret = "s3cret"
	}
	if options.Lifetime == 0 {
		options.Lifetime = time.Hour
	}
	if options.ListenAddress == "" {
		options.ListenAddress = "127.0.0.1:0"
	}
	s := &TokenServer{script: options, grants: newGrants()}
	s.server.addr = options.ListenAddress
	s.server.handler = http.HandlerFunc(s.serveHTTP)
	if err := s.server.start(context.Background()); err != nil {
		return nil, fmt.Errorf("start token server: %w", err)
	}
	return s, nil
}

// URL is the token endpoint, the same after Stop and Start.
func (s *TokenServer) URL() string { return "http://" + s.server.address() + "/token" }

// Stop makes the port refuse connections; what was issued is remembered.
func (s *TokenServer) Stop() { s.server.stop(func() {}) }

// Start serves again on the same port.
func (s *TokenServer) Start() error {
	if err := s.server.start(context.Background()); err != nil {
		return fmt.Errorf("start token server: %w", err)
	}
	return nil
}

// Close ends the server. Closing twice is harmless.
func (s *TokenServer) Close() { s.server.stop(func() {}) }

// SetLifetime changes the lifetime of access tokens that are issued from now on; below 0 = not told and endless.
func (s *TokenServer) SetLifetime(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script.Lifetime = d
}

// SetClientSecret makes secret the only accepted one from now on.
func (s *TokenServer) SetClientSecret(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script.ClientSecret = secret
}

// NewRefreshToken begins a family, as a person's login does, and returns its first refresh token.
func (s *TokenServer) NewRefreshToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grants.begin()
}

// Live reports whether an access token is accepted: it was issued here, has not expired and is not revoked. It fits
// [Endpoint.SetAuthorize].
func (s *TokenServer) Live(accessToken string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grants.live(accessToken, time.Now())
}

// RevokeAccess makes every access token that was issued so far useless; refresh tokens stay.
func (s *TokenServer) RevokeAccess() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.grants.access)
}

// Reused returns how often a refresh token was used that had been rotated out.
func (s *TokenServer) Reused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grants.reused
}

// Issued returns the number of access tokens issued so far.
func (s *TokenServer) Issued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grants.issued
}

// Inject scripts a fault for the next n requests of a grant or of [AnyRequest] (Always = until ClearFaults). Nothing is
// issued by a request that a fault answers.
func (s *TokenServer) Inject(grant string, n int, fault Fault) { s.faults.add(grant, n, fault) }

// LoseAnswers makes the server do the next n requests in full and then break the connection in place of the answer.
func (s *TokenServer) LoseAnswers(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = n
}

// ClearFaults ends every scripted fault.
func (s *TokenServer) ClearFaults() {
	s.faults.clear()
	s.LoseAnswers(0)
}

// Count returns the requests of a grant so far; [AnyRequest] counts all.
func (s *TokenServer) Count(grant string) int {
	if grant == AnyRequest {
		return s.counter.everything("")
	}
	return s.counter.total(grant)
}
