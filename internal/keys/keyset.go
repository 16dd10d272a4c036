package keys

import (
	"bytes"
	"fmt"
	"os"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/mac"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"github.com/tink-crypto/tink-go/v2/tink"
)

func generateAEAD() ([]byte, error) { return generate(aead.AES256GCMKeyTemplate()) }

// generateMAC makes a key whose tags carry no key id, so that a revision is exactly the 32 bytes of an HMAC-SHA-256.
func generateMAC() ([]byte, error) {
	template := mac.HMACSHA256Tag256KeyTemplate()
	template.OutputPrefixType = tinkpb.OutputPrefixType_RAW
	return generate(template)
}

func generate(template *tinkpb.KeyTemplate) ([]byte, error) {
	handle, err := keyset.NewHandle(template)
	if err != nil {
		return nil, fmt.Errorf("generate keyset: %w", err)
	}
	return encode(handle)
}

func encode(handle *keyset.Handle) ([]byte, error) {
	var buffer bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&buffer)); err != nil {
		return nil, fmt.Errorf("encode keyset: %w", err)
	}
	return buffer.Bytes(), nil
}

func loadAEAD(path string) (tink.AEAD, os.FileInfo, error) {
	handle, info, err := loadHandle(path)
	if err != nil {
		return nil, nil, err
	}
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, nil, &RefusedError{File: path, Reason: ReasonWrongType}
	}
	return primitive, info, nil
}

func loadMAC(path string) (tink.MAC, error) {
	handle, _, err := loadHandle(path)
	if err != nil {
		return nil, err
	}
	primitive, err := mac.New(handle)
	if err != nil {
		return nil, &RefusedError{File: path, Reason: ReasonWrongType}
	}
	return primitive, nil
}

// loadHandle drops the parser's own error: it quotes the content.
func loadHandle(path string) (*keyset.Handle, os.FileInfo, error) {
	data, info, err := readFile(path)
	if err != nil {
		return nil, nil, err
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(data)))
	if err != nil {
		return nil, nil, &RefusedError{File: path, Reason: ReasonMalformed}
	}
	return handle, info, nil
}
