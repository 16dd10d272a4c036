package temporalclient_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

func TestCodecOpensWhatItSealed(t *testing.T) {
	t.Parallel()
	codec := temporalclient.NewCodec(newAEAD(t))
	rapid.Check(t, func(t *rapid.T) {
		metadata := rapid.MapOf(rapid.StringN(1, 8, 16), rapid.SliceOf(rapid.Byte())).Draw(t, "metadata")
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		payloads := []*commonpb.Payload{{Metadata: metadata, Data: data}, {Data: data}}

		sealed, err := codec.Encode(payloads)
		require.NoError(t, err)
		opened, err := codec.Decode(sealed)
		require.NoError(t, err)
		require.Len(t, opened, len(payloads))
		for i := range payloads {
			require.True(t, proto.Equal(payloads[i], opened[i]))
		}
	})
}

func TestCodecSealsTheMetadataToo(t *testing.T) {
	t.Parallel()
	codec := temporalclient.NewCodec(newAEAD(t))
	payload := &commonpb.Payload{
		Metadata: map[string][]byte{"encoding": []byte("json/plain"), "messageType": []byte("canary-type")},
		Data:     []byte("canary-data"),
	}

	sealed, err := codec.Encode([]*commonpb.Payload{payload})

	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"encoding": []byte(temporalclient.EncodingSealed)}, sealed[0].GetMetadata())
	raw, err := proto.Marshal(sealed[0])
	require.NoError(t, err)
	require.NotContains(t, string(raw), "canary")
}

func TestCodecPassesThroughWhatIsNotSealed(t *testing.T) {
	t.Parallel()
	codec := temporalclient.NewCodec(newAEAD(t))
	plain := []*commonpb.Payload{
		{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"x"`)},
		{},
	}

	opened, err := codec.Decode(plain)

	require.NoError(t, err)
	require.Equal(t, plain, opened)
}

func TestCodecNamesTheEncodingOfWhatItCannotOpen(t *testing.T) {
	t.Parallel()
	ours, theirs := temporalclient.NewCodec(newAEAD(t)), temporalclient.NewCodec(newAEAD(t))
	sealed, err := theirs.Encode([]*commonpb.Payload{{Data: []byte("canary")}})
	require.NoError(t, err)
	damaged := proto.CloneOf(sealed[0])
	damaged.Data = damaged.GetData()[:3]

	for name, tc := range map[string]*commonpb.Payload{"unknown key": sealed[0], "cut short": damaged} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ours.Decode([]*commonpb.Payload{tc})
			var unseal *temporalclient.UnsealError
			require.ErrorAs(t, err, &unseal)
			require.Equal(t, temporalclient.EncodingSealed, unseal.Encoding)
			require.ErrorContains(t, err, `"binary/encrypted"`)
			require.NotContains(t, err.Error(), "canary")
		})
	}
}

func TestCodecFailureFailsTheWorkflowTaskAndNotTheWorkflow(t *testing.T) {
	t.Parallel()
	sealed, err := temporalclient.DataConverter(newAEAD(t)).ToPayload("x")
	require.NoError(t, err)

	var value string
	err = temporalclient.DataConverter(newAEAD(t)).FromPayload(sealed, &value)

	var taskFailure *converter.WorkflowTaskFailureError
	require.ErrorAs(t, err, &taskFailure)
}

func TestFailureConverterSealsMessages(t *testing.T) {
	t.Parallel()
	failures := temporalclient.FailureConverter(temporalclient.DataConverter(newAEAD(t)))

	failure := failures.ErrorToFailure(&temporalclient.UnsealError{Encoding: "canary"})

	raw, err := proto.Marshal(failure)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "canary")
	require.ErrorContains(t, failures.FailureToError(failure), "canary")
}
