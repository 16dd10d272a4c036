package simulator

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"
)

// grants is what a token server has issued.
type grants struct {
	access  map[string]accessGrant
	refresh map[string]*refreshGrant

	issued int
	reused int
}

type accessGrant struct {
	family  string    // empty: of client credentials
	expires time.Time // zero: never
}

// refreshGrant is one refresh token; those that follow each other are a family.
type refreshGrant struct {
	family string
	used   bool
}

func newGrants() grants {
	return grants{access: make(map[string]accessGrant), refresh: make(map[string]*refreshGrant)}
}

// begin issues the first refresh token of a new family.
func (g *grants) begin() string { return g.next(rand.Text()) }

func (g *grants) next(family string) string {
	token := "refresh-" + rand.Text()
	g.refresh[token] = &refreshGrant{family: family}
	return token
}

// redeem uses a refresh token and returns the one to use next. A token that was rotated out is somebody else's copy:
// nothing of its family is worth anything from then on.
func (g *grants) redeem(token string, rotate bool) (family, next string, ok bool) {
	found := g.refresh[token]
	switch {
	case found == nil:
		return "", "", false
	case found.used:
		g.reused++
		g.revoke(found.family)
		return "", "", false
	case !rotate:
		return found.family, "", true
	default:
		found.used = true
		return found.family, g.next(found.family), true
	}
}

// revoke ends a family. Its used tokens stay known, so that each further use is counted.
func (g *grants) revoke(family string) {
	for token, each := range g.refresh {
		if each.family == family && !each.used {
			delete(g.refresh, token)
		}
	}
	for token, each := range g.access {
		if each.family == family {
			delete(g.access, token)
		}
	}
}

// issue makes an access token; a lifetime below 0 is endless.
func (g *grants) issue(family string, lifetime time.Duration, jwt bool, now time.Time) string {
	grant := accessGrant{family: family}
	if lifetime >= 0 {
		grant.expires = now.Add(lifetime)
	}
	token := "access-" + rand.Text()
	if jwt {
		token = looksLikeJWT(grant.expires)
	}
	g.access[token] = grant
	g.issued++
	return token
}

func (g *grants) live(token string, now time.Time) bool {
	grant, known := g.access[token]
	return known && (grant.expires.IsZero() || now.Before(grant.expires))
}

// looksLikeJWT is a token with a JWT's shape; its signature is only random text.
func looksLikeJWT(expires time.Time) string {
	claims := fmt.Sprintf(`{"jti":%q}`, rand.Text())
	if !expires.IsZero() {
		claims = fmt.Sprintf(`{"jti":%q,"exp":%d}`, rand.Text(), expires.Unix())
	}
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part([]byte(claims)) + "." + part([]byte(rand.Text()))
}
