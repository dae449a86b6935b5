package scripttest_test

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestDiff(t *testing.T) {
	long := strings.Repeat("a line\n", 200_000)
	var list value.List
	for i := range 41 {
		list = append(list, int64(i))
	}
	for name, tt := range map[string]struct {
		want, got value.Value
		diff      string
	}{
		"scalars": {int64(3), int64(4), "- 3\n+ 4"},
		"types":   {"3", int64(3), "- \"3\"\n+ 3"},
		"null":    {nil, true, "- None\n+ True"},
		"bytes":   {"a", []byte("a\xff"), "- \"a\"\n+ b\"a\\xff\""},
		"dict": {
			value.NewDict("b", value.List{int64(1), "x"}, "a", int64(2)), value.NewDict("a", 2.0, "b", value.List{int64(1), "y"}),
			"  {\n      \"a\": 2,\n      \"b\": [\n          1,\n-         \"x\",\n+         \"y\",\n      ],\n  }",
		},
		"texts":     {"one\ntwo\nthree\n", "one\n2\nthree\n", "  one\n- two\n+ 2\n  three\n  "},
		"no end":    {"one\n", "one", "  one\n- "},
		"text":      {"one", "two", "- \"one\"\n+ \"two\""},
		"in a dict": {value.NewDict("t", "one\ntwo\n"), value.NewDict("t", "one\n2\n"), "  {\n      \"t\": \"one\\n\" +\n-         \"two\\n\",\n+         \"2\\n\",\n  }"},
		"far":       {long + "end\n", long + "End\n", "@@ line 199998 @@\n  a line\n  a line\n  a line\n- end\n+ End\n  "},
		"long list": {list, append(append(value.List{}, list[:40]...), int64(41)), "  …\n      37,\n      38,\n      39,\n-     40,\n+     41,\n  ]"},
		"long line": {"a", strings.Repeat("x", 1000), "- \"a\"\n+ \"" + strings.Repeat("x", 499) + "… (1002 bytes)"},
	} {
		if got := scripttest.Diff(tt.want, tt.got); got != tt.diff {
			t.Errorf("%s: Diff =\n%s\nwant\n%s", name, got, tt.diff)
		}
	}
	got := scripttest.Diff(long, strings.Repeat("another line\n", 200_000))
	if lines := strings.Count(got, "\n"); lines != 100 || !strings.HasSuffix(got, "\n(200901 more lines)") {
		t.Errorf("the difference of long texts has %d lines, and ends in %q", lines, got[len(got)-40:])
	}
}
