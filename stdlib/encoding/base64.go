package encoding

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Base64 returns the module base64: encode, decode and decode_text.
func Base64() tool.Module {
	text := tool.Required("text", tool.TypeString, "The base64 text. The = at the end is optional. White space is ignored.")
	url := tool.Optional("url", tool.TypeBoolean, false, "Use the alphabet for URLs and file names, which has - and _ instead of + and /.")
	return row.Pure(tool.Module{
		Name: "base64",
		Doc:  "Base64: bytes as ASCII text (RFC 4648).",
		Funcs: []tool.Func{
			{
				Name: "encode",
				Doc:  "Encode data as base64.",
				Params: []tool.Param{
					tool.Required("data", tool.TypeAny, "A string (as UTF-8) or bytes."),
					url,
					tool.Optional("padding", tool.TypeBoolean, true, "Pad the text with = to a multiple of 4 characters."),
				},
				Returns: "the base64 text, on one line",
				Do:      row.Do(base64Encode),
			},
			{
				Name:    "decode",
				Doc:     "Decode base64 to bytes. To get text, use base64.decode_text.",
				Params:  []tool.Param{text, url},
				Returns: "the bytes",
				Do:      row.Do(func(a *value.Dict) (value.Value, error) { return base64Decode(a) }),
			},
			{
				Name:    "decode_text",
				Doc:     "Decode base64 to text. Data that is not UTF-8 is an error.",
				Params:  []tool.Param{text, url},
				Returns: "the text",
				Do:      row.Do(base64DecodeText),
			},
		},
	})
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
		return nil, row.Invalid("invalid base64: the text is incomplete")
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	wrong := row.Invalid("invalid base64: invalid character %q", r)
	if strings.ContainsRune("-_", r) {
		return nil, wrong.WithHint("in a script, url = True selects the alphabet for URLs")
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
		return nil, row.Invalid("the decoded data is not UTF-8 text").WithHint("use base64.decode, which returns bytes")
	}
	return string(data), nil
}
