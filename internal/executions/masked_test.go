package executions_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/executions"
)

// stalling is a catalog that can be told to wait for a source which does not answer.
type stalling struct {
	*upstream
	stalls atomic.Bool
}

func (s *stalling) Lookup(ctx context.Context, address string) (catalog.Tool, error) {
	if s.stalls.Load() {
		<-ctx.Done()
		return catalog.Tool{}, context.Cause(ctx)
	}
	return s.upstream.Lookup(ctx, address)
}

func TestASourceThatDoesNotAnswerKeepsNobodyFromReadingWhatIsAsked(t *testing.T) {
	t.Parallel()
	tools := &stalling{upstream: world.upstream}
	r := newRig(t, func(p *executions.Params) { p.Catalog = tools })
	call := r.call("put", r.name)
	call.Arguments = json.RawMessage(`{"name":"` + r.name + `","token":"s3cr3t"}`)
	paused, err := r.Execute(t.Context(), r.who, call)
	require.NoError(t, err)
	tools.stalls.Store(true)
	found, err := r.Lookup(t.Context(), r.page(), paused.Pause.ID)
	require.NoError(t, err)
	require.Equal(t, executions.StatusPaused, found.Status)
	require.JSONEq(t, `{"name":"`+r.name+`","token":"[REDACTED]"}`, string(found.Arguments))
}
