package encoding

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Base64 returns the module base64.
func Base64() tool.Module {
	text := tool.Required("text", tool.TypeString, "The base64 text, with its = at the end or without; white space in it is skipped.")
	url := tool.Optional("url", tool.TypeBoolean, false, "Use the alphabet for addresses and file names, with - and _ for + and /.")
	return tool.Module{
		Name: "base64",
		Doc:  "Writes bytes as text that survives anywhere, and reads it (RFC 4648).",
		Funcs: []tool.Func{
			{
				Name: "encode",
				Doc:  "Writes data as base64.",
				Params: []tool.Param{
					tool.Required("data", tool.TypeAny, "A string (as UTF-8) or bytes."),
					url,
					tool.Optional("padding", tool.TypeBoolean, true, "Fill the end up with = to a multiple of 4."),
				},
				Returns: "the base64 text, on one line",
				Do:      row.Do(base64Encode),
			},
			{
				Name:    "decode",
				Doc:     "Reads base64 as bytes; see decode_text for text.",
				Params:  []tool.Param{text, url},
				Returns: "the bytes",
				Do:      row.Do(func(a *value.Dict) (value.Value, error) { return base64Decode(a) }),
			},
			{
				Name:    "decode_text",
				Doc:     "Reads base64 as text, and fails where what it holds is not UTF-8.",
				Params:  []tool.Param{text, url},
				Returns: "the text",
				Do:      row.Do(base64DecodeText),
			},
		},
	}
}

func base64Encoding(a *value.Dict, padding bool) *base64.Encoding {
	encoding := base64.StdEncoding
	if a.Bool("url") {
		encoding = base64.URLEncoding
	}
	if !padding {
		return encoding.WithPadding(base64.NoPadding)
	}
	return encoding
}

func base64Encode(a *value.Dict) (value.Value, error) {
	data, err := row.Bytes(a, "data")
	if err != nil {
		return nil, err
	}
	return base64Encoding(a, a.Bool("padding")).EncodeToString(data), nil
}

func base64Decode(a *value.Dict) ([]byte, error) {
	text := strings.TrimRight(strings.Join(strings.Fields(a.Text("text")), ""), "=")
	data, err := base64Encoding(a, false).DecodeString(text)
	if err == nil {
		return data, nil
	}
	digits := "+/"
	if a.Bool("url") {
		digits = "-_"
	}
	i := strings.IndexFunc(text, func(r rune) bool { return !base64Letter(r) && !strings.ContainsRune(digits, r) })
	if i < 0 {
		return nil, row.Invalid("not base64: the text is cut off")
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	wrong := row.Invalid("not base64: %q is no digit of it", r)
	if strings.ContainsRune("-_", r) {
		return nil, wrong.WithHint("this is the alphabet for addresses: pass url=True")
	}
	return nil, wrong
}

func base64Letter(r rune) bool {
	return 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
}

func base64DecodeText(a *value.Dict) (value.Value, error) {
	data, err := base64Decode(a)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, row.Invalid("the data is not UTF-8 text").WithHint("base64.decode gives it as bytes")
	}
	return string(data), nil
}
