package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestArgumentsAreReadByOneQueryAndLongOnesAreOnlyMeasured(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	short, long, without := execution(1), execution(2), execution(3)
	long.Arguments = []byte(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	without.Session, without.Request = "", ""
	for _, each := range []store.Execution{short, long, without} {
		putExecution(t, opened, each)
	}
	found, err := opened.Arguments(ctx, []string{short.Key, long.Key, without.Key, keyOf(4), short.Key}, 1000)
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.Equal(t, short.Arguments, found[short.Key].JSON)
	require.Equal(t, short.Arguments, found[without.Key].JSON)
	require.Less(t, found[short.Key].Size, 100)
	require.Nil(t, found[long.Key].JSON)
	require.Greater(t, found[long.Key].Size, 1<<20)

	none, err := opened.Arguments(ctx, nil, 1000)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestArgumentsThatCannotBeReadDoNotHideOthers(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	putExecution(t, opened, execution(1))
	putExecution(t, opened, execution(2))
	tamper(t, dir, `UPDATE execution SET arguments = x'0102' WHERE key = '`+keyOf(1)+`'`)
	found, err := opened.Arguments(t.Context(), []string{keyOf(1), keyOf(2)}, 1000)
	requireCorrupt(t, err, "execution", "arguments", keyOf(1))
	require.NotContains(t, found, keyOf(1))
	require.Contains(t, found, keyOf(2))
}
