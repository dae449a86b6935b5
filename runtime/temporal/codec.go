package temporal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Key encrypts what the runs of a deployment store, with AES-256 in the mode GCM, so that nobody without it can read or
// forge it.
type Key struct{ aead cipher.AEAD }

// keySize is the length of a key, in bytes.
const keySize = 32

// ParseKey reads a key: 32 random bytes in base64 or hexadecimal. It fails with kind Invalid for any other text.
func ParseKey(text string) (*Key, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != keySize {
		raw, err = hex.DecodeString(text)
	}
	if err != nil || len(raw) != keySize {
		return nil, value.Errorf(value.Invalid, "the key of the deployment is not 32 bytes in base64 or hexadecimal").WithHint("make one: openssl rand -base64 32")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &Key{aead}, err
}

// NewKey returns the text of a random key.
func NewKey() string {
	raw := make([]byte, keySize)
	_, _ = rand.Read(raw) // it never fails
	return base64.StdEncoding.EncodeToString(raw)
}

func (k *Key) seal(data []byte) []byte          { return k.aead.Seal(nil, nil, data, nil) }
func (k *Key) open(data []byte) ([]byte, error) { return k.aead.Open(nil, nil, data, nil) }

// Encrypted returns the data converter of clients and workers that have the key. It refuses what is not encrypted with it.
func Encrypted(k *Key) converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec{k})
}

// A codec encrypts payloads.
type codec struct{ key *Key }

const encodingName, encodingValue = "encoding", "binary/cassidy-aes-gcm"

// Encode implements [converter.PayloadCodec].
func (c codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		data, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{encodingName: []byte(encodingValue)}, Data: c.key.seal(data)}
	}
	return out, nil
}

// Decode implements [converter.PayloadCodec].
func (c codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.Metadata[encodingName]) != encodingValue {
			return nil, value.Errorf(value.Security, "read from Temporal: a value is not encrypted with the key of the deployment")
		}
		data, err := c.key.open(p.Data)
		if err != nil {
			return nil, value.Errorf(value.Security, "read from Temporal: a value was encrypted with another key, or has changed")
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(data, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
