package tokensource

import (
	"context"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// Moved reports whether a source that costs nothing to read, a variable or a file of this machine, holds another token
// than the given one, and another one than that whose [TokenDigest] is refused: the endpoint has refused that one already.
// refused may be empty. A source that cannot be read has not moved: what was read before is still good.
func (s *Sources) Moved(ctx context.Context, d desired.TokenSource, current, refused string, mac desired.MAC) bool {
	if !cheap(d) {
		return false
	}
	source, err := s.For(d)
	if err != nil {
		return false
	}
	got, err := source.Mint(ctx, Previous{})
	if err != nil || got.AccessToken == current {
		return false
	}
	digest, err := TokenDigest(mac, got.AccessToken)
	return err == nil && digest != refused
}

// cheap reports whether a source is read again rather than remembered.
func cheap(d desired.TokenSource) bool {
	return d.Kind == desired.SourceEnv || d.Kind == desired.SourceFile
}
