package execution_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	activities "github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// TestWireNamesNeverChange holds every name that is in recorded histories and in running workflows against a file. A line that
// is gone or different breaks them: give it back. A line that is new is fine: add it.
func TestWireNamesNeverChange(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(filepath.Join("testdata", "wire.golden"))
	require.NoError(t, err)
	lines := []string{
		"workflow " + execution.WorkflowName, "id " + execution.ID("x"), "update " + execution.UpdateResume,
		"update " + execution.UpdateAsk, "update " + execution.UpdateCancel, "query " + execution.QuerySnapshot,
		"query " + execution.QueryPauses, "query " + execution.QueryOutcome, "activity " + activities.CallName,
		"activity " + activities.SettleName, "activity " + activities.RecordName,
		"update id " + execution.ResumeUpdateID("p", approval.Identity{Account: "a", Organisation: "o"}),
		"error " + execution.ErrTypeNoPause, "error " + execution.ErrTypeBadDecision, "error " + execution.ErrTypeNotCalling,
		"event " + activities.EventPaused, "event " + activities.EventDecided, "event " + activities.EventResuming,
		"event " + activities.EventSettled, "event " + activities.EventOutcome,
	}
	for _, state := range []activities.CallState{
		activities.StateNone, activities.StateDone, activities.StateClaimed, activities.StateRefused,
	} {
		lines = append(lines, "state "+string(state))
	}
	seen := map[reflect.Type]bool{}
	for _, message := range []any{
		execution.Input{},
		execution.Resume{},
		execution.Resumed{},
		execution.Ask{},
		execution.Asked{},
		execution.Cancel{},
		execution.Snapshot{},
		activities.CallRequest{},
		activities.CallResult{},
		activities.SettleRequest{},
		activities.RecordRequest{},
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
