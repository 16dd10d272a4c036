package text_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/text"
)

func TestALongTextEndsWithAnEllipsis(t *testing.T) {
	t.Parallel()
	require.Equal(t, "äöü", text.Clip("äöü", 3))
	require.Equal(t, "äö…", text.Clip("äöüß", 3))
	require.Equal(t, "…", text.Clip("äö", 1))
	require.Empty(t, text.Clip("", 1))
}
