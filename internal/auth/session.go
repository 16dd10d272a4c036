package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// SessionAge is how long a login of a page lasts at most.
	SessionAge = 12 * time.Hour

	sessionCookie = "holdfast_session"
	sessionUse    = "holdfast page session v1"
	maxCookie     = 4000
)

// Sealer seals what a browser keeps for us.
type Sealer interface {
	Encrypt(plaintext, associatedData []byte) ([]byte, error)
	Decrypt(ciphertext, associatedData []byte) ([]byte, error)
}

// Sessions are logins of pages, in sealed cookies: any gateway with the same keys reads them. Whose a session is, and what they may
// do, is asked anew with each request: with a revoked token its sessions end. It is safe for concurrent use.
type Sessions struct {
	seal     Sealer
	tokens   *Tokens
	provider *Provider // nil: none
	open     bool
	secure   bool
	now      func() time.Time
}

// NewSessions makes it. secure says that browsers reach the gateway by https alone.
func NewSessions(seal Sealer, s Sources, secure bool, now func() time.Time) *Sessions {
	if now == nil {
		now = time.Now
	}
	return &Sessions{seal: seal, tokens: s.Tokens, provider: s.Provider, open: s.Open, secure: secure, now: now}
}

// Session is a login of a page.
type Session struct {
	Principal Principal
	// Guard is a secret that the session's pages send with everything that changes something.
	Guard string
}

// sealedSession is what the cookie holds: by what somebody has logged in, never the token itself.
type sealedSession struct {
	Local  bool    `json:"local,omitempty"` // by nothing
	Token  string  `json:"token,omitempty"` // the id of an API token
	Issuer string  `json:"issuer,omitempty"`
	Claims *Claims `json:"claims,omitempty"`
	Guard  string  `json:"guard"`
}

// ByToken logs in by an API token. The error is that of [Authenticator.Check].
func (s *Sessions) ByToken(ctx context.Context, shown string) (*http.Cookie, error) {
	if _, err := s.tokens.Authenticate(ctx, shown); err != nil {
		return nil, tokenFault(err)
	}
	secret, _ := parseSecret(shown)
	return s.cookie(sealedSession{Token: secret.ID()})
}

// ByClaims logs in by a login of the identity provider. The error is a *[ForbiddenError] where it does not let anybody in.
func (s *Sessions) ByClaims(c Claims) (*http.Cookie, error) {
	if _, err := s.provider.Principal(c); err != nil {
		return nil, err
	}
	return s.cookie(sealedSession{Issuer: s.provider.Issuer(), Claims: &c})
}

// ByNothing logs in [Local], where nobody has to show anything: its pages need a guard all the same.
func (s *Sessions) ByNothing() (*http.Cookie, error) { return s.cookie(sealedSession{Local: true}) }

func (s *Sessions) cookie(v sealedSession) (*http.Cookie, error) {
	v.Guard = rand.Text()
	return s.Seal(sessionCookie, sessionUse, v, SessionAge)
}

// Out is a cookie that ends the session of a browser.
func (s *Sessions) Out() *http.Cookie { return s.bare(sessionCookie, "", -1) }

// Seal puts a value into a cookie that only we can read, for one use and for a time.
func (s *Sessions) Seal(name, use string, value any, age time.Duration) (*http.Cookie, error) {
	inner, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("seal cookie: %w", err)
	}
	raw, err := json.Marshal(kept{Until: s.now().Add(age), Value: inner})
	if err != nil {
		return nil, fmt.Errorf("seal cookie: %w", err)
	}
	sealed, err := s.seal.Encrypt(raw, []byte(use))
	if err != nil {
		return nil, fmt.Errorf("seal cookie: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(sealed)
	if len(text) > maxCookie {
		return nil, errors.New("seal cookie: it is too large for a browser: send fewer role claims")
	}
	return s.bare(name, text, int(age/time.Second)), nil
}

// Open reads what [Sessions.Seal] has sealed for the same use.
func (s *Sessions) Open(r *http.Request, name, use string, value any) bool {
	cookie, err := r.Cookie(s.name(name))
	if err != nil || len(cookie.Value) > maxCookie {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return false
	}
	raw, err := s.seal.Decrypt(sealed, []byte(use))
	if err != nil {
		return false
	}
	var found kept
	return json.Unmarshal(raw, &found) == nil && s.now().Before(found.Until) && json.Unmarshal(found.Value, value) == nil
}

// kept is what a cookie holds: a browser may show it longer than it was told to.
type kept struct {
	Until time.Time       `json:"until"`
	Value json.RawMessage `json:"value"`
}

// Drop is a cookie that takes one back.
func (s *Sessions) Drop(name string) *http.Cookie { return s.bare(name, "", -1) }

// name makes a browser hold a cookie to this very host, where it can.
func (s *Sessions) name(name string) string {
	if s.secure {
		return "__Host-" + name
	}
	return name
}

func (s *Sessions) bare(name, value string, seconds int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure wherever the gateway is reached by https
		Name: s.name(name), Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	}
}

// Read tells whose session a request has. The error is one of *[UnauthorizedError], *[ForbiddenError] and *[UnavailableError].
func (s *Sessions) Read(ctx context.Context, r *http.Request) (Session, error) {
	var v sealedSession
	if !s.Open(r, sessionCookie, sessionUse, &v) || v.Guard == "" {
		return Session{}, &UnauthorizedError{}
	}
	found := Session{Guard: v.Guard}
	var err error
	switch {
	case v.Local && s.open:
		found.Principal = Local()
	case v.Token != "":
		found.Principal, err = s.tokens.byID(ctx, v.Token)
		err = sessionFault(err)
	case v.Claims != nil && s.provider != nil && s.provider.Issuer() == v.Issuer:
		found.Principal, err = s.provider.Principal(*v.Claims)
	default:
		err = &UnauthorizedError{}
	}
	if err != nil {
		return Session{}, err
	}
	return found, nil
}

func sessionFault(err error) error {
	if errors.Is(err, ErrUnauthorized) {
		return &UnauthorizedError{Problem: "the token of this login was revoked or has expired: log in again"}
	}
	return tokenFault(err)
}

// byID tells whose a live token is, for who has shown it before.
func (t *Tokens) byID(ctx context.Context, id string) (Principal, error) {
	row, err := t.store.APITokenByID(ctx, id)
	var corrupt *store.CorruptRowError
	switch {
	case errors.Is(err, store.ErrNotFound), errors.As(err, &corrupt):
		return Principal{}, ErrUnauthorized
	case err != nil:
		return Principal{}, fmt.Errorf("look up token: %w", err)
	case !Live(row, t.now()):
		return Principal{}, ErrUnauthorized
	default:
		return principal(row), nil
	}
}
