package tokensource

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// grantSource gets tokens from an OAuth 2.0 token server.
type grantSource struct {
	is      desired.TokenSource
	sources *Sources
}

// styleKey names what a style of authentication was learned for.
type styleKey struct{ tokenURL, clientID string }

func (s *Sources) newGrant(d desired.TokenSource) (Source, error) {
	if !private(d.TokenURL) {
		return nil, placeOf(d).invalid("tokenUrl must be https, or http on this machine's loopback, without user info and fragment")
	}
	return &grantSource{is: d, sources: s}, nil
}

// client sends the requests of one mint. What the last answer told is put aside, also where the library does not pass it on.
func (g *grantSource) client(is *told) *http.Client {
	return &http.Client{
		Transport: httpclient.Transport{Client: g.sources.client, Op: "ask token server", Read: func(body []byte, contentType string) []byte {
			*is, body = read(body, contentType)
			return body
		}},
		// A followed redirect would carry the client's secret to a place that nobody configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// private tells whether secrets can be sent to a URL without others reading them on their way.
func private(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.User != nil || u.Fragment != "" || u.Hostname() == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// Mint asks the token server once, or a second time in the other style where it did not know the client in the first:
// a client is authenticated before anything is used up. No other failure is asked again here. A refresh token that has
// reached a server may have been rotated by it, and using it twice is what a thief does.
//
// An answer that is no usable token may hold the refresh token that has taken the place of the one that was sent. It is
// returned beside the error.
func (g *grantSource) Mint(ctx context.Context, last Previous) (Minted, error) {
	sent := g.sources.now()
	var is told
	ctx = context.WithValue(ctx, oauth2.HTTPClient, g.client(&is))
	config := g.config(last)
	var refusal error
	for _, style := range g.styles() {
		config.AuthStyle = style
		token, err := config.Token(ctx)
		if err == nil {
			g.sources.learn(g.key(), style)
			got, err := g.minted(token, is, sent)
			return g.rotated(got, is), err
		}
		refusal = err
		if !clientRefused(err) {
			break
		}
		g.sources.unlearn(g.key())
	}
	return g.rotated(Minted{}, is), g.fault(ctx, refusal)
}

// config is the request. Both grants differ in their parameters only.
func (g *grantSource) config(last Previous) *clientcredentials.Config {
	extra := url.Values{}
	for name, value := range map[string]string{"audience": g.is.Audience, "resource": g.is.Resource} {
		if value != "" {
			extra.Set(name, value)
		}
	}
	if g.is.Kind == desired.SourceRefreshToken {
		newest := last.RefreshToken
		if newest == "" {
			newest = g.is.RefreshToken
		}
		extra.Set("grant_type", "refresh_token")
		extra.Set("refresh_token", newest)
	}
	return &clientcredentials.Config{
		ClientID: g.is.ClientID, ClientSecret: g.is.ClientSecret, TokenURL: g.is.TokenURL,
		Scopes: g.is.Scopes, EndpointParams: extra,
	}
}

// styles are the ways to authenticate that are left to try.
func (g *grantSource) styles() []oauth2.AuthStyle {
	switch {
	case g.is.AuthStyle == desired.AuthStyleHeader:
		return []oauth2.AuthStyle{oauth2.AuthStyleInHeader}
	case g.is.AuthStyle == desired.AuthStyleParams, g.is.ClientSecret == "":
		return []oauth2.AuthStyle{oauth2.AuthStyleInParams} // a public client only names itself
	}
	if known, ok := g.sources.learned(g.key()); ok {
		return []oauth2.AuthStyle{known}
	}
	return []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams}
}

func (g *grantSource) key() styleKey { return styleKey{g.is.TokenURL, g.is.ClientID} }

func (s *Sources) learned(key styleKey) (oauth2.AuthStyle, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	style, ok := s.styles[key]
	return style, ok
}

func (s *Sources) learn(key styleKey, style oauth2.AuthStyle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.styles[key] = style
}

// unlearn lets the next mint find out anew: the server may want the other style by then.
func (s *Sources) unlearn(key styleKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.styles, key)
}

// minted takes the answer. Its lifetime counts from when it was asked for: the token is a bit older than its answer.
func (g *grantSource) minted(token *oauth2.Token, is told, sent time.Time) (Minted, error) {
	if !strings.EqualFold(token.Type(), "Bearer") {
		return Minted{}, placeOf(g.is).invalid("the token server issued a token of another type than bearer")
	}
	got, err := usable(token.AccessToken, placeOf(g.is), sent)
	if err != nil {
		return Minted{}, err
	}
	if is.odd {
		return Minted{}, placeOf(g.is).invalid("the token server tells a lifetime, expires_in, that is no number of seconds")
	}
	if is.lifetime != 0 {
		got.ExpiresAt = sent.Add(is.lifetime)
	}
	if !got.ExpiresAt.IsZero() && got.ExpiresAt.Sub(sent) < shortestLifetime {
		return Minted{}, placeOf(g.is).invalid("the token server issues tokens that live less than 5 s")
	}
	if g.is.Kind == desired.SourceRefreshToken {
		got.RefreshToken = token.RefreshToken
	}
	return got, nil
}

// rotated adds the refresh token of the answer, if there is one.
func (g *grantSource) rotated(got Minted, is told) Minted {
	if g.is.Kind == desired.SourceRefreshToken && is.refreshToken != "" {
		got.RefreshToken = is.refreshToken
	}
	return got
}
