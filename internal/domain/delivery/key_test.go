package delivery_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
)

func TestAKeyIsRefusedForWhatNoReaderCanShow(t *testing.T) {
	t.Parallel()
	good := delivery.Key{Workspace: "acme/eu: ü", Name: "-search tools", Directory: "/srv/a b"}
	require.NoError(t, good.Validate())
	require.NoError(t, delivery.Key{Workspace: "w", Name: "n"}.Validate())
	for _, tc := range []struct {
		name string
		key  delivery.Key
		part string
	}{
		{name: "no workspace", key: delivery.Key{Name: "n"}, part: "workspace"},
		{name: "blank name", key: delivery.Key{Workspace: "w", Name: "  "}, part: "name"},
		{name: "long name", key: delivery.Key{Workspace: "w", Name: strings.Repeat("n", 256)}, part: "name"},
		{name: "terminal escape", key: delivery.Key{Workspace: "w", Name: "n\x1b[31m"}, part: "name"},
		{name: "line break", key: delivery.Key{Workspace: "a\nb", Name: "n"}, part: "workspace"},
		{name: "not UTF-8", key: delivery.Key{Workspace: "w", Name: "n\xff"}, part: "name"},
		{name: "directory with a line break", key: delivery.Key{Workspace: "w", Name: "n", Directory: "/a\nb"}, part: "directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var refused *delivery.KeyError
			require.ErrorAs(t, tc.key.Validate(), &refused)
			require.Equal(t, tc.part, refused.Part)
			require.NotContains(t, refused.Error(), "\x1b")
		})
	}
}
