package simulator

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Routes of an OIDCProvider; they are the keys of its faults and counts beside [AnyRequest].
const (
	RouteDiscovery = "discovery"
	RouteKeys      = "keys"
	RouteAuthorize = "authorize"
	RouteToken     = "token"
)

// OIDCOptions is the first script of an OIDCProvider; the setters change it later.
type OIDCOptions struct {
	ClientID      string // empty = "holdfast"
	ClientSecret  string // empty = a public client
	ListenAddress string // host:port; empty = any free loopback port
	// Users are those who can log in, by name, with their claims; sub is the name where it is not among them.
	Users map[string]map[string]any
	// User is who is logged in at the provider already: the authorization endpoint asks nothing. Empty: it shows a page of all users.
	User string
}

// OIDCProvider is a scripted OpenID provider: discovery, keys, the authorization code flow with PKCE, and tokens that it signs. All
// methods are safe for concurrent use.
type OIDCProvider struct {
	server  server
	faults  faults
	counter counter

	mu     sync.Mutex
	script OIDCOptions
	key    *ecdsa.PrivateKey
	keyID  string
	signer jose.Signer
	codes  map[string]oidcCode
}

// NewOIDCProvider starts a provider; Close ends it.
func NewOIDCProvider(options OIDCOptions) (*OIDCProvider, error) {
	if options.ClientID == "" {
		options.ClientID = "holdfast"
	}
	if options.ListenAddress == "" {
		options.ListenAddress = "127.0.0.1:0"
	}
	p := &OIDCProvider{script: options, codes: map[string]oidcCode{}}
	if err := p.RotateKey(); err != nil {
		return nil, err
	}
	p.server.addr = options.ListenAddress
	p.server.handler = p.handler()
	if err := p.server.start(context.Background()); err != nil {
		return nil, fmt.Errorf("start OpenID provider: %w", err)
	}
	return p, nil
}

// Issuer is the provider's name and address, the same after Stop and Start.
func (p *OIDCProvider) Issuer() string { return "http://" + p.server.address() }

// Stop makes the port refuse connections; keys and codes are remembered.
func (p *OIDCProvider) Stop() { p.server.stop(func() {}) }

// Start serves again on the same port.
func (p *OIDCProvider) Start() error {
	if err := p.server.start(context.Background()); err != nil {
		return fmt.Errorf("start OpenID provider: %w", err)
	}
	return nil
}

// Close ends the server. Closing twice is harmless.
func (p *OIDCProvider) Close() { p.server.stop(func() {}) }

// SetUser changes who is logged in at the provider; empty: nobody.
func (p *OIDCProvider) SetUser(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script.User = name
}

// RotateKey signs with a new key from now on, and publishes only that one.
func (p *OIDCProvider) RotateKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make key of OpenID provider: %w", err)
	}
	id := rand.Text()
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", id)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, options)
	if err != nil {
		return fmt.Errorf("make signer of OpenID provider: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.keyID, p.signer = key, id, signer
	return nil
}

// Mint signs an access token of a user for an audience; more replaces or adds claims, and takes those away that are nil.
func (p *OIDCProvider) Mint(user, audience string, more map[string]any) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mint(user, audience, time.Hour, more)
}

// mint is called under the lock.
func (p *OIDCProvider) mint(user, audience string, lifetime time.Duration, more map[string]any) (string, error) {
	now := time.Now()
	claims := map[string]any{"sub": user}
	maps.Copy(claims, p.script.Users[user])
	maps.Copy(claims, map[string]any{
		"iss": p.Issuer(), "aud": audience, "iat": now.Unix(), "exp": now.Add(lifetime).Unix(), "jti": rand.Text(),
	})
	for name, value := range more {
		if value == nil {
			delete(claims, name)
			continue
		}
		claims[name] = value
	}
	return signed(p.signer, claims)
}

// Inject scripts a fault for the next n requests of a route or of [AnyRequest] (Always = until ClearFaults).
func (p *OIDCProvider) Inject(route string, n int, fault Fault) { p.faults.add(route, n, fault) }

// ClearFaults ends every scripted fault.
func (p *OIDCProvider) ClearFaults() { p.faults.clear() }

// Count returns the requests of a route so far; [AnyRequest] counts all.
func (p *OIDCProvider) Count(route string) int {
	if route == AnyRequest {
		return p.counter.everything("")
	}
	return p.counter.total(route)
}

func (p *OIDCProvider) handler() http.Handler {
	mux := http.NewServeMux()
	for path, route := range map[string]struct {
		name  string
		serve http.HandlerFunc
	}{
		"GET /.well-known/openid-configuration": {RouteDiscovery, p.discovery},
		"GET /keys":                             {RouteKeys, p.keys},
		"GET /authorize":                        {RouteAuthorize, p.authorize},
		"POST /token":                           {RouteToken, p.token},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			p.counter.add(route.name, "")
			if fault, ok := p.faults.take(route.name, AnyRequest); ok && fault.serve(w, r) {
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
			route.serve(w, r)
		})
	}
	return mux
}
