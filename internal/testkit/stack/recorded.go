package stack

import (
	"bytes"
	"context"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

// Recorded is all that Temporal holds of a workflow's current run, as text: as it is stored, and as whoever has the keys reads it.
func (s *Stack) Recorded(workflowID string) (stored, opened string) {
	s.TB.Helper()
	ctx, cancel := context.WithTimeout(s.TB.Context(), callTimeout)
	defer cancel()
	description, err := s.Temporal.DescribeWorkflow(ctx, workflowID, "")
	require.NoError(s.TB, err)
	parts := []proto.Message{description.RawResponse}
	events := s.Temporal.GetWorkflowHistory(ctx, workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(s.TB, err)
		parts = append(parts, event)
	}
	codec := temporalclient.NewCodec(s.Keys.AEAD())
	var raw, open bytes.Buffer
	for _, part := range parts {
		raw.WriteString(prototext.Format(part) + "\n")
		require.NoError(s.TB, proxy.VisitPayloads(ctx, part, proxy.VisitPayloadsOptions{
			Visitor: func(_ *proxy.VisitPayloadsContext, sealed []*commonpb.Payload) ([]*commonpb.Payload, error) {
				for _, each := range sealed {
					raw.Write(append(each.GetData(), '\n'))
				}
				payloads, err := codec.Decode(sealed)
				for _, each := range payloads {
					open.Write(append(each.GetData(), '\n'))
				}
				return sealed, err
			},
		}))
	}
	return raw.String(), open.String()
}
