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

func TestToolNames(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"", "getPetByID", "get_pet_by_id"}, {"", "pets.list-all", "pets_list_all"}, {"", "HTTPServerURL2", "http_server_url2"},
		{"", "", "get_a"}, {"", "日本", "get_a"}, {"", "3d", "call_3d"}, {"shop", "getPet", "shop_get_pet"}, {"shop", "shop_get", "shop_get"},
		{"", "run_test", "run_test_call"}, {"", strings.Repeat("long", 40), strings.Repeat("long", 16)}, {"", "a/../../b\nc", "a_b_c"},
	} {
		if got := toolName(c[0], &Operation{Method: "GET", Path: "/a", ID: c[1]}); got != c[2] {
			t.Errorf("the tool of %q with the prefix %q is %s, want %s", c[1], c[0], got, c[2])
		}
	}
}
