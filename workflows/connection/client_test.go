package connection_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// server answers queries after it has lost the first few of them.
type server struct {
	client.Client

	lost, asked int
}

func (s *server) QueryWorkflow(
	ctx context.Context, _, _, _ string, _ ...any,
) (converter.EncodedValue, error) {
	s.asked++
	if s.asked <= s.lost {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(connection.Projection{Usable: true, Name: "cloud"})
	if err != nil {
		return nil, err
	}
	return client.NewValue(payloads), nil
}

func TestAQueryThatTheServerLosesIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{lost: 2}
		got, err := connection.NewClient(s, converter.GetDefaultDataConverter(), "q").Projection(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, "cloud", got.Name)
		require.Equal(t, 3, s.asked)
	})
}

func TestQueriesThatNobodyAnswersEndWithTheNextStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{lost: 1000}
		_, err := connection.NewClient(s, converter.GetDefaultDataConverter(), "q").Projection(t.Context(), key)
		require.ErrorIs(t, err, connection.ErrNoWorker)
		require.LessOrEqual(t, s.asked, 6)
	})
}
