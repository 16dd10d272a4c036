package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestWorkspacesArePutReadAndDeleted(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	want := store.Workspace{ID: "w", Directory: "/d", EngineID: "e", Account: "acme", UpdatedAt: monday}
	for _, tc := range []struct {
		name    string
		change  func(w *store.Workspace)
		changed bool
	}{
		{"new", func(*store.Workspace) {}, true},
		{"at another time", func(w *store.Workspace) { w.UpdatedAt = monday.Add(time.Hour) }, false},
		{"in another account", func(w *store.Workspace) { w.Account = "other" }, true},
		{"without an account", func(w *store.Workspace) { w.Account = "" }, true},
		{"in the default account", func(w *store.Workspace) { w.Account = store.DefaultAccount }, false},
		{"without an engine", func(w *store.Workspace) { w.EngineID = "" }, true},
		{"as it was", func(*store.Workspace) {}, true},
	} {
		each := want
		tc.change(&each)
		changed, err := opened.PutWorkspace(ctx, each)
		require.NoError(t, err, tc.name)
		require.Equal(t, tc.changed, changed, tc.name)
	}
	got, err := opened.Workspaces(ctx, store.WorkspaceFilter{})
	require.NoError(t, err)
	require.Equal(t, []store.Workspace{want}, got)

	_, err = opened.DeleteEngine(ctx, "e")
	require.ErrorIs(t, err, store.ErrEngineInUse)
	existed, err := opened.DeleteWorkspace(ctx, "w", "/other")
	require.NoError(t, err)
	require.False(t, existed)
	existed, err = opened.DeleteWorkspace(ctx, "w", "/d")
	require.NoError(t, err)
	require.True(t, existed)
	existed, err = opened.DeleteEngine(ctx, "e")
	require.NoError(t, err)
	require.True(t, existed)
}

func TestAWorkspaceNeedsAnIDAndAKnownEngine(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	_, err := opened.PutWorkspace(t.Context(), store.Workspace{Directory: "/d"})
	require.ErrorContains(t, err, "id")
	_, err = opened.PutWorkspace(t.Context(), store.Workspace{ID: "w", EngineID: "none"})
	require.ErrorIs(t, err, store.ErrUnknownEngine)
}

func TestWorkspacesAreFilteredAndInOrder(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	for _, each := range []store.Workspace{
		{ID: "w2", Directory: "/d", Account: "acme"},
		{ID: "w1", Directory: "/2", EngineID: "e", Account: "acme"},
		{ID: "w1", Directory: "/1", EngineID: "e"},
	} {
		putWorkspace(t, opened, each)
	}
	for _, tc := range []struct {
		filter store.WorkspaceFilter
		want   []string
	}{
		{store.WorkspaceFilter{}, []string{"w1 in /1", "w1 in /2", "w2 in /d"}},
		{store.WorkspaceFilter{ID: "w1"}, []string{"w1 in /1", "w1 in /2"}},
		{store.WorkspaceFilter{Account: "acme"}, []string{"w1 in /2", "w2 in /d"}},
		{store.WorkspaceFilter{EngineID: "e", Account: store.DefaultAccount}, []string{"w1 in /1"}},
		{store.WorkspaceFilter{ID: "none"}, nil},
	} {
		found, err := opened.Workspaces(t.Context(), tc.filter)
		require.NoError(t, err)
		var names []string
		for _, each := range found {
			names = append(names, each.String())
		}
		require.Equal(t, tc.want, names, "%+v", tc.filter)
	}

	tamper(t, dir, `UPDATE workspace SET account = 'evil' WHERE directory = '/2'`)
	found, err := opened.Workspaces(t.Context(), store.WorkspaceFilter{})
	requireCorrupt(t, err, "workspace", "seal", "w1 in /2")
	require.Len(t, found, 2)
	changed, err := opened.PutWorkspace(t.Context(), store.Workspace{ID: "w1", Directory: "/2", EngineID: "e", Account: "evil"})
	require.NoError(t, err)
	require.True(t, changed, "putting it anew repairs it")
	_, err = opened.Workspaces(t.Context(), store.WorkspaceFilter{})
	require.NoError(t, err)
}
