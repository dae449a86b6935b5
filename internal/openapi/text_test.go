package openapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestLiterals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\"b\\c\n": `"a\"b\\c\n"`, `"""`: `"\"\"\""`, "\x00\x1b": `"\x00\x1b"`, "\u202e": `"\u202e"`, "\u200b\U000e0041": `"\u200b\U000e0041"`,
		"é 日本 😀": `"é 日本 😀"`, "\xff": `"` + "\ufffd" + `"`, "{{secret:A}}": `"{{secret:A}}"`,
	} {
		if got := quote(text); got != want {
			t.Errorf("quote(%q) = %s, want %s", text, got, want)
		}
	}
	got := literal(value.NewDict("b", value.List{int64(1), 1.5, true, nil, 1e20}, "a", "x"))
	if want := `{"b": [1, 1.5, True, None, 100000000000000000000.0], "a": "x"}`; got != want {
		t.Errorf("literal: %s, want %s", got, want)
	}
	for text, want := range map[string]string{
		`a """ b \ c`: `a ''' b \\ c`, "a\n\n  b\x00\u202ec\t": "a bc", strings.Repeat("x", 50): strings.Repeat("x", 19) + "…",
	} {
		if got := inDoc(text, 20); got != want {
			t.Errorf("inDoc(%q) = %q, want %q", text, got, want)
		}
	}
	if got := wrap("Args: "+strings.Repeat("x ", 10)+strings.Repeat("y", 95)+" Args:", ""); got[2] != "Args" {
		t.Errorf("the head of a section is in %q", got)
	}
}

func TestParamNames(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{}
	var got []string
	for _, name := range []string{"id", "ID", "page[size]", "X-Request-Id", "from", "", "$", "2nd", "http", "working_dir"} {
		got = append(got, paramName(name, taken))
	}
	if want := []string{"id", "id_2", "page_size", "x_request_id", "from_", "p", "p_2", "p_2nd", "http_", "working_dir_"}; !slices.Equal(got, want) {
		t.Errorf("parameters: %q, want %q", got, want)
	}
}
