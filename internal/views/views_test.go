package views_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

func TestTimesAreInUTCAndNoneIsNil(t *testing.T) {
	t.Parallel()
	require.Nil(t, views.Moment(time.Time{}))
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("east", 3600))
	require.Equal(t, time.Date(2026, 5, 1, 11, 0, 0, 0, time.UTC), *views.Moment(at))
	require.Nil(t, views.ExecutionOf(store.Execution{}).CreatedAt)
}

func TestWhoDecidedIsANameWhereThereIsOne(t *testing.T) {
	t.Parallel()
	require.Nil(t, views.DecisionOf(nil))
	require.Equal(t, "token:1", views.DecisionOf(&approval.Decision{By: "token:1"}).Who())
	require.Equal(t, "Ann", views.DecisionOf(&approval.Decision{By: "token:1", Name: "Ann"}).Who())
}

func TestTheAuditTellsMilliseconds(t *testing.T) {
	t.Parallel()
	require.InEpsilon(t, 1.5, views.AuditOf(store.Audit{Latency: 1500 * time.Microsecond}).LatencyMS, 1e-9)
}
