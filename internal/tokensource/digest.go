package tokensource

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// grantMark stands before the second part of a digest, which names the grant alone.
const grantMark = "."

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

// sameGrant reports whether the refresh token beside one digest may be used for the source of the other.
func sameGrant(a, b string) bool {
	_, grantA, hasGrant := strings.Cut(a, grantMark)
	_, grantB, _ := strings.Cut(b, grantMark)
	return hasGrant && grantA == grantB
}
