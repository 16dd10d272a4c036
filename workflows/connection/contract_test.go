package connection_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// keys draws connections: short and long parts, with whatever characters people put there.
var keys = rapid.Custom(func(t *rapid.T) delivery.Key {
	part := rapid.OneOf(rapid.StringN(0, 12, -1), rapid.StringN(60, 300, -1), rapid.SampledFrom([]string{"a", "a:b", "a%3Ab", "b"}))
	return delivery.Key{
		Workspace: part.Draw(t, "workspace"), Name: part.Draw(t, "name"),
		Directory: "/" + rapid.StringN(0, 20, -1).Draw(t, "directory"),
	}
})

func TestPropertyAnIDIsShortAndReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := keys.Draw(t, "key")
		id := connection.ID(key)
		require.LessOrEqual(t, len(id), 200)
		require.Equal(t, 3, strings.Count(id, ":"))
		workspace, name, err := connection.ParseID(id)
		require.NoError(t, err)
		// Parts that are too long are cut; what is left of them is their beginning.
		require.True(t, strings.HasPrefix(key.Workspace, workspace))
		require.True(t, strings.HasPrefix(key.Name, name))
		if len(key.Workspace) <= 26 && len(key.Name) <= 26 {
			require.Equal(t, key.Workspace, workspace)
			require.Equal(t, key.Name, name)
		}
	})
}

func TestPropertyDistinctConnectionsHaveDistinctIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := keys.Draw(t, "a")
		b := a
		other := keys.Draw(t, "b")
		switch rapid.IntRange(0, 4).Draw(t, "which part differs") {
		case 0:
			b.Workspace = other.Workspace
		case 1:
			b.Name = other.Name
		case 2:
			b.Directory = other.Directory
		case 3: // the ends of long parts count too
			b.Workspace += "x"
		default:
			b = other
		}
		require.Equal(t, a == b, connection.ID(a) == connection.ID(b))
	})
}

func TestAnIDOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []string{"", "connection", "connection:a:b", "connection:a:b:c:d", "engine:a:b:c", "connection:%zz:b:c"} {
		_, _, err := connection.ParseID(tc)
		require.ErrorIs(t, err, connection.ErrNotAConnectionID, tc)
	}
}

func TestMarkStaleTakesWhatPeopleType(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, input, reason string
	}{
		{"an object", `{"reason":"rotated"}`, "rotated"},
		{"a bare string", `"rotated"`, "rotated"},
		{"an empty object", `{}`, ""},
		{"null", `null`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got connection.MarkStale
			require.NoError(t, json.Unmarshal([]byte(tc.input), &got))
			require.Equal(t, tc.reason, got.Reason)
		})
	}
	var got connection.MarkStale
	require.Error(t, json.Unmarshal([]byte(`{"reason":1}`), &got))
}

func TestMarkStaleIsTakenAsABareStringAndWithoutInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(time.Minute, func() { w.env.SignalWorkflow(connection.SignalMarkStale, "by hand") })
	w.at(2*time.Minute, func() {
		require.Len(t, w.registers, 2)
		require.Equal(t, "by hand", w.transitions()[3].Reason)
		w.env.SignalWorkflow(connection.SignalMarkStale, nil)
	})
	w.at(3*time.Minute, func() { require.Len(t, w.registers, 3) })
	w.run(4 * time.Minute)
}

func TestASignalThatCannotBeReadChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(time.Minute, func() {
		w.env.SignalWorkflow(connection.SignalMarkStale, 17)
		w.env.SignalWorkflow(connection.SignalEngineEvent, "no object")
		w.env.SignalWorkflow(connection.SignalDesiredChanged, []string{"no object"})
	})
	w.at(2*time.Minute, func() {
		require.Len(t, w.registers, 1)
		require.Equal(t, delivery.Ready, w.snapshot().State)
		w.env.SignalWorkflow(connection.SignalMarkStale, nil)
	})
	w.at(3*time.Minute, func() { require.Len(t, w.registers, 2, "and the next one is taken") })
	w.run(4 * time.Minute)
}
