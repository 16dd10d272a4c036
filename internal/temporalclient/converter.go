package temporalclient

import (
	"github.com/tink-crypto/tink-go/v2/tink"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// DataConverter is the SDK's default converter with every payload sealed by aead.
func DataConverter(aead tink.AEAD) converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), NewCodec(aead))
}

// FailureConverter seals messages and stack traces of failures with dc. Without it the text of an error lies in clear in the
// history, whatever the codec does.
func FailureConverter(dc converter.DataConverter) converter.FailureConverter {
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          dc,
		EncodeCommonAttributes: true,
	})
}
