package encoding

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestHash(t *testing.T) {
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "hash.sha256", Args: []any{"abc"}, Want: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{Fn: "hash.sha256", Args: []any{[]byte("abc")}, Want: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{Fn: "hash.sha512", Args: []any{"abc"}, Want: "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a" +
			"2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
		{Fn: "hash.sha1", Args: []any{"abc"}, Want: "a9993e364706816aba3e25717850c26c9cd0d89d"},
		{Fn: "hash.md5", Args: []any{""}, Want: "d41d8cd98f00b204e9800998ecf8427e"},
		{Fn: "hash.crc32", Args: []any{"123456789"}, Want: "cbf43926"},
		{Fn: "hash.crc32", Args: []any{""}, Want: "00000000"},
		{Fn: "hash.hex", Args: []any{[]byte{0xff, 0}}, Want: "ff00"},
		{Fn: "hash.unhex", Args: []any{"FF00"}, Want: []byte{0xff, 0}},
		{Fn: "hash.unhex", Args: []any{"abc"}, Err: "odd"},
		{Fn: "hash.unhex", Args: []any{"0g"}, Err: `invalid character 'g'`},
		// RFC 4231, test case 2.
		{Fn: "hash.hmac_sha256", Args: []any{"Jefe", "what do ya want for nothing?"},
			Want: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{Fn: "hash.hmac_sha256", Args: []any{[]byte("Jefe"), []byte("what do ya want for nothing?")},
			Want: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{Fn: "hash.hmac_sha256", Args: []any{int64(1), "x"}, Err: "'key' should be string or bytes but got"},
		{Fn: "hash.sha256", Args: []any{value.List{}}, Err: "'data' should be string or bytes but got array"},
		{Fn: "hash.sha256", Args: []any{nil}, Err: "but got null"},
	})
}
