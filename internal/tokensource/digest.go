package tokensource

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

const (
	// grantMark stands before the second part of a digest, which names the grant alone.
	grantMark = "."
	// keyMark stands between a credential and its source; the store forgets all sources of a credential by it.
	keyMark = "#"
	// tokenDigestLength is how much of a token's digest is told, in hexadecimal digits.
	tokenDigestLength = 16
)

// Digest names the source of a token without telling anything of it. A token counts only for the source that it was minted
// from; how early it is renewed makes no other source. Sources that exchange refresh tokens have a second part in theirs:
// a new client secret or another scope must not make us use the first refresh token again, which a server takes for a
// theft, while another server must never see those of the one before.
func Digest(mac desired.MAC, source desired.TokenSource) (string, error) {
	source.MarginSeconds = 0
	whole, err := tag(mac, "token-source", source)
	if err != nil || source.Kind != desired.SourceRefreshToken {
		return whole, err
	}
	grant, err := tag(mac, "token-grant", desired.TokenSource{
		Kind: source.Kind, TokenURL: source.TokenURL, ClientID: source.ClientID, RefreshToken: source.RefreshToken,
	})
	return whole + grantMark + grant, err
}

// Key names the row in which the store keeps the token of a credential from one source, given the source's [Digest]. Each
// source has a row of its own: a mint that comes late never touches the token of the source that has replaced its own, and
// a source that comes back finds the newest refresh token of its grant. Sources of one grant share a row, as they share its
// refresh tokens.
func Key(credential, digest string) string {
	whole, grant, hasGrant := strings.Cut(digest, grantMark)
	if hasGrant {
		return credential + keyMark + grant
	}
	return credential + keyMark + whole
}

// TokenDigest recognises a token without telling anything of it: 16 hexadecimal digits of a MAC.
func TokenDigest(mac desired.MAC, token string) (string, error) {
	sum, err := mac.ComputeMAC([]byte("refused-token\x00" + token))
	if err != nil {
		return "", fmt.Errorf("digest a token for comparison: %w", err)
	}
	digest := hex.EncodeToString(sum)
	return digest[:min(tokenDigestLength, len(digest))], nil
}

func tag(mac desired.MAC, purpose string, source desired.TokenSource) (string, error) {
	text, err := desired.Canonical(source)
	if err != nil {
		return "", errors.New("digest token source: it has no canonical form")
	}
	sum, err := mac.ComputeMAC(append([]byte(purpose+"\x00"), text...))
	if err != nil {
		return "", fmt.Errorf("digest token source: %w", err)
	}
	return hex.EncodeToString(sum), nil
}
