package stdlib

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestHash(t *testing.T) {
	pureTable(t, false, []pureCase{
		{fn: "hash.sha256", args: []any{"abc"}, want: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{fn: "hash.sha256", args: []any{[]byte("abc")}, want: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{fn: "hash.sha512", args: []any{"abc"}, want: "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a" +
			"2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
		{fn: "hash.sha1", args: []any{"abc"}, want: "a9993e364706816aba3e25717850c26c9cd0d89d"},
		{fn: "hash.md5", args: []any{""}, want: "d41d8cd98f00b204e9800998ecf8427e"},
		{fn: "hash.crc32", args: []any{"123456789"}, want: "cbf43926"},
		{fn: "hash.crc32", args: []any{""}, want: "00000000"},
		{fn: "hash.hex", args: []any{[]byte{0xff, 0}}, want: "ff00"},
		{fn: "hash.unhex", args: []any{"FF00"}, want: []byte{0xff, 0}},
		{fn: "hash.unhex", args: []any{"abc"}, err: "odd"},
		{fn: "hash.unhex", args: []any{"0g"}, err: `'g' is no digit`},
		// RFC 4231, test case 2.
		{fn: "hash.hmac_sha256", args: []any{"Jefe", "what do ya want for nothing?"},
			want: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{fn: "hash.hmac_sha256", args: []any{[]byte("Jefe"), []byte("what do ya want for nothing?")},
			want: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{fn: "hash.hmac_sha256", args: []any{int64(1), "x"}, err: "'key' should be string or bytes but got"},
		{fn: "hash.sha256", args: []any{value.List{}}, err: "'data' should be string or bytes but got array"},
		{fn: "hash.sha256", args: []any{nil}, err: "but got null"},
	})
}
