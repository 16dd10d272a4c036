package session_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	activities "github.com/holdfast-mcp/holdfast/activities/session"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// TestWireNamesNeverChange holds every name that is in recorded histories and in running workflows against a file. A line that
// is gone or different breaks them: give it back. A line that is new is fine: add it.
func TestWireNamesNeverChange(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(filepath.Join("testdata", "wire.golden"))
	require.NoError(t, err)
	lines := []string{
		"workflow " + session.WorkflowName, "id " + session.ID("x"), "query " + session.QuerySnapshot, "query " + session.QueryLeases,
		"signal " + session.SignalPaused, "signal " + session.SignalResuming, "signal " + session.SignalSettled,
		"signal " + session.SignalTouch, "signal " + session.SignalTerminate, "activity " + activities.EndName,
		"state " + session.StateActive, "state " + session.StateEnded,
	}
	seen := map[reflect.Type]bool{}
	for _, message := range []any{
		session.Input{},
		session.Hook{},
		session.Touch{},
		session.Terminate{},
		session.Snapshot{},
		activities.EndRequest{},
		activities.EndResult{},
	} {
		lines = append(lines, fieldNames(reflect.TypeOf(message), seen)...)
	}
	slices.Sort(lines)
	require.Equal(t, string(golden), strings.Join(lines, "\n")+"\n")
}

// fieldNames lists the JSON fields of a struct and of all structs below it, each as "type.field kind".
func fieldNames(of reflect.Type, seen map[reflect.Type]bool) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() || seen[of] {
		return nil
	}
	seen[of] = true
	var lines []string
	for field := range of.Fields() {
		lines = append(lines, fieldNames(field.Type, seen)...)
		lines = append(lines, of.String()+"."+field.Tag.Get("json")+" "+field.Type.String())
	}
	return lines
}
