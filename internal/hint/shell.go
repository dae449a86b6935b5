package hint

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// ShellArgs writes arguments as key=value, or key:=JSON for dicts and most lists, quoted for
// a shell where necessary. The result begins with a space, unless it is empty.
func ShellArgs(args *value.Dict) string {
	var b strings.Builder
	for k, v := range args.All() {
		name, _ := k.(string)
		text, mark := value.FormatJSON(v, ""), "="
		switch v := v.(type) {
		case string:
			text = v
		case nil, bool, int64, float64:
		default:
			if words, ok := plainWords(v); ok {
				text = words
			} else {
				mark = ":="
			}
		}
		b.WriteString(" " + ShellQuote(name) + mark + ShellQuote(text))
	}
	return b.String()
}

// plainWords joins a list of words with commas. It reports false for other values.
func plainWords(v value.Value) (text string, ok bool) {
	items, _ := value.Elements(v)
	for i, item := range items {
		word, _ := item.(string)
		if word == "" || strings.ContainsAny(word, ",[{ ") {
			return "", false
		}
		if i > 0 {
			text += ","
		}
		text += word
	}
	return text, len(items) > 0
}

// ShellQuote quotes a text for a shell where necessary.
func ShellQuote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@%+…"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
