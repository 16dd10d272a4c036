package stack

import (
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/converter"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

// Unseal opens what the payload codec sealed, so that a replay needs no keyset.
func (s *Stack) Unseal(history *historypb.History) {
	s.TB.Helper()
	codec := temporalclient.NewCodec(s.Keys.AEAD())
	ctx := s.TB.Context()
	require.NoError(s.TB, proxy.VisitPayloads(ctx, history, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, sealed []*commonpb.Payload) ([]*commonpb.Payload, error) {
			return codec.Decode(sealed)
		},
	}))
	require.NoError(s.TB, proxy.VisitFailures(ctx, history, proxy.VisitFailuresOptions{
		Visitor: func(_ *proxy.VisitFailuresContext, f *failurepb.Failure) error {
			converter.DecodeCommonFailureAttributes(converter.GetDefaultDataConverter(), f)
			f.EncodedAttributes = nil
			return nil
		},
	}))
}
