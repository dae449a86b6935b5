package sandbox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestHostileTrace checks that a worker can report only positions in the files of its script.
func TestHostileTrace(t *testing.T) {
	s := &tool.Script{Path: "t.star", Libs: map[string]string{"lib/a.star": ""}}
	for _, test := range []struct {
		pos  value.Position
		want bool
	}{
		{value.Position{}, true},
		{value.Position{File: "t.star", Line: 3, Col: 7}, true},
		{value.Position{File: "lib/a.star", Line: 1}, true},
		{value.Position{File: "/etc/passwd", Line: 1}, false},
		{value.Position{Line: 1}, false},
		{value.Position{File: "t.star", Line: -1}, false},
		{value.Position{File: "t.star", Line: 1, Col: 1 << 40}, false},
	} {
		f := &fields{list: positionFields(test.pos)}
		got := readPosition(f, s)
		if err := f.done(); (err == nil) != test.want || test.want && got != test.pos {
			t.Errorf("readPosition of %v = %v, %v, want it accepted: %v", test.pos, got, err, test.want)
		}
		if test.pos.File == "" || test.pos.Col > 0 {
			continue
		}
		lines := []trace.Line{{File: "t.star", Line: 1, Steps: 2, Time: time.Second}, {File: test.pos.File, Line: test.pos.Line, Steps: 1}}
		form, err := linesField(lines)
		if err != nil {
			t.Fatal(err)
		}
		read, err := readLines(form.([]byte), s)
		if (err == nil) != test.want || test.want && cmp.Diff(lines, read) != "" {
			t.Errorf("readLines of %v = %v, %v, want them accepted: %v", lines, read, err, test.want)
		}
	}
	for _, l := range []trace.Line{{File: "t.star", Line: 1, Steps: -1}, {File: "t.star", Line: 1, Time: -1}} {
		form, err := linesField([]trace.Line{l})
		if err != nil {
			t.Fatal(err)
		}
		if read, err := readLines(form.([]byte), s); err == nil {
			t.Errorf("readLines of %v = %v, want an error", l, read)
		}
	}
	if lines, err := readLines([]byte("\xff\xff\xff\xff\x0f"), s); err == nil {
		t.Errorf("readLines of garbage = %v, want an error", lines)
	}
}
