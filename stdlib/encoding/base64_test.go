package encoding

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestBase64(t *testing.T) {
	url := rowtest.Named("url", true)
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "base64.encode", Args: []any{"hé?>"}, Want: "aMOpPz4="},
		{Fn: "base64.encode", Args: []any{[]byte{0xfb, 0xff}}, Want: "+/8="},
		{Fn: "base64.encode", Args: []any{[]byte{0xfb, 0xff}, url}, Want: "-_8="},
		{Fn: "base64.encode", Args: []any{[]byte{0xfb, 0xff}, true, false}, Want: "-_8"},
		{Fn: "base64.encode", Args: []any{value.NewDict()}, Err: "should be string or bytes but got object"},
		{Fn: "base64.decode", Args: []any{"+/8="}, Want: []byte{0xfb, 0xff}},
		{Fn: "base64.decode", Args: []any{" +/\n8 "}, Want: []byte{0xfb, 0xff}},
		{Fn: "base64.decode", Args: []any{"-_8", true}, Want: []byte{0xfb, 0xff}},
		{Fn: "base64.decode", Args: []any{""}, Want: []byte{}},
		{Fn: "base64.decode", Args: []any{"-_8="}, Err: `invalid character '-'`},
		{Fn: "base64.decode", Args: []any{"a"}, Err: "incomplete"},
		{Fn: "base64.decode", Args: []any{"aa=a"}, Err: "invalid base64"},
		{Fn: "base64.decode", Args: []any{"aaé="}, Err: `invalid character 'é'`},
		{Fn: "base64.decode_text", Args: []any{"aMOpPz4"}, Want: "hé?>"},
		{Fn: "base64.decode_text", Args: []any{"+/8="}, Err: "not UTF-8"},
	})
	if _, err := rowtest.Call(t, modules(), "base64.decode", "_w=="); value.ErrorOf(err, value.Failed).Hint == "" {
		t.Errorf("decode of the other alphabet fails with %v, want a hint", err)
	}
}

func TestBase64RoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(r, "data")
		url, padding := rapid.Bool().Draw(r, "url"), rapid.Bool().Draw(r, "padding")
		text := rowtest.Must(t, modules(), "base64.encode", data, url, padding)
		if back := rowtest.Must(t, modules(), "base64.decode", text, url); !bytes.Equal(back.([]byte), data) {
			r.Fatalf("decode(encode(%x)) = %x by way of %v", data, back, text)
		}
	})
}
