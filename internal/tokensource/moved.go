package tokensource

import (
	"context"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// Moved reports whether a source that costs nothing to read, a variable or a file of this machine, holds another token
// than the given one. A source that cannot be read has not moved: what was read before is still good.
func (s *Sources) Moved(ctx context.Context, d desired.TokenSource, current string) bool {
	if d.Kind != desired.SourceEnv && d.Kind != desired.SourceFile {
		return false
	}
	source, err := s.For(d)
	if err != nil {
		return false
	}
	got, err := source.Mint(ctx, Previous{})
	return err == nil && got.AccessToken != current
}
