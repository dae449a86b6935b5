package stdlib

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestBase64(t *testing.T) {
	url := pureNamed{"url", true}
	pureTable(t, false, []pureCase{
		{fn: "base64.encode", args: []any{"hé?>"}, want: "aMOpPz4="},
		{fn: "base64.encode", args: []any{[]byte{0xfb, 0xff}}, want: "+/8="},
		{fn: "base64.encode", args: []any{[]byte{0xfb, 0xff}, url}, want: "-_8="},
		{fn: "base64.encode", args: []any{[]byte{0xfb, 0xff}, true, false}, want: "-_8"},
		{fn: "base64.encode", args: []any{value.NewDict()}, err: "should be string or bytes but got object"},
		{fn: "base64.decode", args: []any{"+/8="}, want: []byte{0xfb, 0xff}},
		{fn: "base64.decode", args: []any{" +/\n8 "}, want: []byte{0xfb, 0xff}},
		{fn: "base64.decode", args: []any{"-_8", true}, want: []byte{0xfb, 0xff}},
		{fn: "base64.decode", args: []any{""}, want: []byte{}},
		{fn: "base64.decode", args: []any{"-_8="}, err: `'-' is no digit`},
		{fn: "base64.decode", args: []any{"a"}, err: "cut off"},
		{fn: "base64.decode", args: []any{"aa=a"}, err: "not base64"},
		{fn: "base64.decode", args: []any{"aaé="}, err: `'é' is no digit`},
		{fn: "base64.decode_text", args: []any{"aMOpPz4"}, want: "hé?>"},
		{fn: "base64.decode_text", args: []any{"+/8="}, err: "not UTF-8"},
	})
	if _, err := pureCall(t, "base64.decode", "_w=="); value.ErrorOf(err, value.Failed).Hint == "" {
		t.Errorf("decode of the other alphabet fails with %v, want a hint", err)
	}
}

func TestBase64RoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(r, "data")
		url, padding := rapid.Bool().Draw(r, "url"), rapid.Bool().Draw(r, "padding")
		text := pureMust(t, "base64.encode", data, url, padding)
		if back := pureMust(t, "base64.decode", text, url); !bytes.Equal(back.([]byte), data) {
			r.Fatalf("decode(encode(%x)) = %x by way of %v", data, back, text)
		}
	})
}
