package encoding

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Hash returns the module hash: checksums and HMACs.
func Hash() tool.Module {
	const fit = " Use it to compare data, not to protect data."
	return row.Pure(tool.Module{
		Name: "hash",
		Doc:  "Hashes of text and bytes, in hexadecimal.",
		Funcs: []tool.Func{
			hashOne("sha256", "Return the SHA-256 of data.", "64 hexadecimal digits", func(b []byte) string {
				return fmt.Sprintf("%x", sha256.Sum256(b))
			}),
			hashOne("sha512", "Return the SHA-512 of data.", "128 hexadecimal digits", func(b []byte) string {
				return fmt.Sprintf("%x", sha512.Sum512(b))
			}),
			hashOne("sha1", "Return the SHA-1 of data."+fit, "40 hexadecimal digits", func(b []byte) string {
				return fmt.Sprintf("%x", sha1.Sum(b))
			}),
			hashOne("md5", "Return the MD5 of data."+fit, "32 hexadecimal digits", func(b []byte) string {
				return fmt.Sprintf("%x", md5.Sum(b))
			}),
			hashOne("crc32", "Return the CRC-32 (IEEE) of data, as in ZIP files."+fit, "8 hexadecimal digits", func(b []byte) string {
				return fmt.Sprintf("%08x", crc32.ChecksumIEEE(b))
			}),
			hashOne("hex", "Encode data in hexadecimal, with two digits for each byte.", "the hexadecimal digits", hex.EncodeToString),
			{
				Name:    "unhex",
				Doc:     "Decode hexadecimal digits to bytes.",
				Params:  []tool.Param{tool.Required("text", tool.TypeString, "The hexadecimal digits, in upper or lower case. Their number must be even.")},
				Returns: "the bytes",
				Do:      row.Do(hashUnhex),
			},
			{
				Name: "hmac_sha256",
				Doc:  "Return the HMAC-SHA-256 of data.",
				Params: []tool.Param{
					tool.Required("key", tool.TypeAny, "The key, a string or bytes. To use an HMAC as the key of another HMAC, decode it with hash.unhex."),
					tool.Required("data", tool.TypeAny, "A string (as UTF-8) or bytes."),
				},
				Returns: "64 hexadecimal digits",
				Do:      row.Do(hashHMAC),
			},
		},
	})
}

func hashOne(name, doc, returns string, f func([]byte) string) tool.Func {
	return tool.Func{
		Name: name, Doc: doc, Returns: returns,
		Params: []tool.Param{tool.Required("data", tool.TypeAny, "A string (as UTF-8) or bytes.")},
		Do: row.Do(func(a *value.Dict) (value.Value, error) {
			data, err := row.Bytes(a, "data")
			if err != nil {
				return nil, err
			}
			return f(data), nil
		}),
	}
}

func hashUnhex(a *value.Dict) (value.Value, error) {
	data, err := hex.DecodeString(a.Text("text"))
	var bad hex.InvalidByteError
	switch {
	case errors.As(err, &bad):
		return nil, row.Invalid("invalid hexadecimal text: invalid character %q", rune(bad))
	case err != nil:
		return nil, row.Invalid("invalid hexadecimal text: the number of digits is odd")
	}
	return data, nil
}

func hashHMAC(a *value.Dict) (value.Value, error) {
	key, err := row.Bytes(a, "key")
	if err != nil {
		return nil, err
	}
	data, err := row.Bytes(a, "data")
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil)), nil
}
