package temporalclient

import (
	"fmt"

	"github.com/tink-crypto/tink-go/v2/tink"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// EncodingSealed is the value of the encoding metadata of a sealed payload.
const EncodingSealed = "binary/encrypted"

// payloadContext is the associated data of every sealed payload: it keeps a ciphertext of another column or product from
// passing as a payload, and its version lets a later format be told apart. It does not bind the workflow: a payload is
// carried from one execution to another (child input, memo copied by a reset), and would then be unreadable.
const payloadContext = "holdfast/temporal-payload/v1"

// UnsealError says that a sealed payload could not be opened: the keyset holds no key for it, or the payload is damaged.
type UnsealError struct {
	// Encoding is the encoding that the payload claims.
	Encoding string
}

// Error names the encoding and the way out, never the data.
func (e *UnsealError) Error() string {
	return fmt.Sprintf("open payload with encoding %q: no key of this keyset fits; use the keyset of the process that sealed it", e.Encoding)
}

// Codec seals payloads with an AEAD keyset. It is safe for concurrent use.
type Codec struct {
	aead tink.AEAD
}

var _ converter.PayloadCodec = (*Codec)(nil)

// NewCodec returns a codec that seals with the primary key of aead and opens with any of its keys.
func NewCodec(aead tink.AEAD) *Codec { return &Codec{aead: aead} }

// Encode seals each payload whole, its metadata included, so that not even the type of a value shows.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	sealed := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		plain, err := proto.Marshal(payload)
		if err != nil {
			return nil, fmt.Errorf("encode payload: %w", err)
		}
		ciphertext, err := c.aead.Encrypt(plain, []byte(payloadContext))
		if err != nil {
			return nil, fmt.Errorf("seal payload: %w", err)
		}
		sealed[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(EncodingSealed)},
			Data:     ciphertext,
		}
	}
	return sealed, nil
}

// Decode opens sealed payloads and passes all others through, so that a signal sent by the stock CLI needs no sealing. It
// fails with an [*UnsealError]. Inside a workflow task that fails the task and not the execution: a worker started with
// the wrong keyset must never end a workflow.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	opened := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		if string(payload.GetMetadata()[converter.MetadataEncoding]) != EncodingSealed {
			opened[i] = payload
			continue
		}
		plain, err := c.aead.Decrypt(payload.GetData(), []byte(payloadContext))
		if err != nil {
			return nil, converter.NewWorkflowTaskFailureError(&UnsealError{Encoding: EncodingSealed})
		}
		opened[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, opened[i]); err != nil {
			return nil, converter.NewWorkflowTaskFailureError(&UnsealError{Encoding: EncodingSealed})
		}
	}
	return opened, nil
}
