package tool_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestFailedCall(t *testing.T) {
	called := tool.Tool{Name: "word_count"}
	args := value.NewDict("path", "a.txt", "n", int64(0), "none", nil, "empty", "", "list", value.List{}, "dict", &value.Dict{}, "no", false)
	if got, want := called.FailedCall(args), `word_count(path="a.txt", n=0, no=false)`; got != want {
		t.Errorf("FailedCall = %s, want %s", got, want)
	}
	got := called.FailedCall(value.NewDict("path", strings.Repeat("é", 500)))
	if n := utf8.RuneCountInString(got); n != 202 || !strings.HasSuffix(got, "é…)") {
		t.Errorf("a long call has %d characters: %s", n, got)
	}
}
