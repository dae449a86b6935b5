package diagnostic_test

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestAt(t *testing.T) {
	const text = "ab\né x\n"
	for offset, want := range map[int]value.Position{
		0:  {File: "f", Line: 1, Col: 1},
		2:  {File: "f", Line: 1, Col: 3},
		3:  {File: "f", Line: 2, Col: 1},
		6:  {File: "f", Line: 2, Col: 4},
		8:  {File: "f", Line: 3, Col: 1},
		99: {File: "f", Line: 3, Col: 1},
		-1: {File: "f", Line: 1, Col: 1},
	} {
		if got := diagnostic.At("f", text, offset); got != want {
			t.Errorf("At(%d) = %v, want %v", offset, got, want)
		}
	}
}

func TestAtOfLineEnds(t *testing.T) {
	const text = "\ufeffa\r\nb\rc"
	for offset, want := range map[int]value.Position{
		0: {Line: 1, Col: 1}, 3: {Line: 1, Col: 1}, 4: {Line: 1, Col: 2}, 6: {Line: 2, Col: 1}, 7: {Line: 2, Col: 2}, 8: {Line: 3, Col: 1}, 9: {Line: 3, Col: 2},
	} {
		if got := diagnostic.At("", text, offset); got != want {
			t.Errorf("At(%d) = %v, want %v", offset, got, want)
		}
	}
}

func TestApply(t *testing.T) {
	fix := func(edits ...diagnostic.Edit) diagnostic.Diagnostic {
		return diagnostic.Diagnostic{Fix: &diagnostic.Fix{Edits: edits}}
	}
	edit := func(start, end int, text string) diagnostic.Edit {
		return diagnostic.Edit{Span: diagnostic.Span{Start: start, End: end}, Text: text}
	}
	for name, c := range map[string]struct {
		list    []diagnostic.Diagnostic
		want    string
		applied int
	}{
		"none":                        {nil, "hello world", 0},
		"in any order":                {[]diagnostic.Diagnostic{fix(edit(6, 11, "you")), fix(edit(0, 1, "J"))}, "Jello you", 2},
		"two edits of one fix":        {[]diagnostic.Diagnostic{fix(edit(0, 5, "bye"), edit(11, 11, "!"))}, "bye world!", 1},
		"overlap":                     {[]diagnostic.Diagnostic{fix(edit(0, 5, "bye")), fix(edit(4, 7, "x"))}, "bye world", 1},
		"the same insertion twice":    {[]diagnostic.Diagnostic{fix(edit(5, 5, ",")), fix(edit(5, 5, ","))}, "hello, world", 2},
		"other insertion, same place": {[]diagnostic.Diagnostic{fix(edit(5, 5, ",")), fix(edit(5, 5, ";"))}, "hello, world", 1},
		"beyond the text":             {[]diagnostic.Diagnostic{fix(edit(5, 50, ""))}, "hello world", 0},
		"one edit of a fix overlaps":  {[]diagnostic.Diagnostic{fix(edit(0, 5, "bye")), fix(edit(3, 4, ""), edit(11, 11, "!"))}, "bye world", 1},
	} {
		got, applied := diagnostic.Apply("hello world", c.list)
		if got != c.want || applied != c.applied {
			t.Errorf("%s: %q, %d applied, want %q and %d", name, got, applied, c.want, c.applied)
		}
	}
}
