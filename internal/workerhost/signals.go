package workerhost

import (
	"context"
	"errors"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// Signals tells connections of what a watch has seen.
type Signals struct{ connections *connection.Client }

// NewSignals makes it. It only sends; what is sealed it never has to read.
func NewSignals(c client.Client, taskQueue string) *Signals {
	return &Signals{connections: connection.NewClient(c, converter.GetDefaultDataConverter(), taskQueue)}
}

// GenerationOver tells a connection that the engine has lost its entry. One whose workflow does not run has nothing to
// repair.
func (s *Signals) GenerationOver(ctx context.Context, key delivery.Key, generation int64, reason string) error {
	err := s.connections.EngineEvent(ctx, key, connection.EngineEvent{Generation: generation, Reason: reason})
	if errors.Is(err, connection.ErrNotFound) {
		return nil
	}
	return err
}
