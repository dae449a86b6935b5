package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// plainRows returns the rows of a review as text.
func plainRows(rows []Row) []string {
	var list []string
	for _, row := range rows {
		if row.Kind == HiddenRow {
			list = append(list, fmt.Sprintf("… %d files, %d lines, %d bytes", row.Hidden.Files, row.Hidden.Lines, row.Hidden.Bytes))
			continue
		}
		text := ""
		for _, s := range row.Spans {
			text += s.Text
		}
		list = append(list, strings.TrimSpace(row.Label+" "+strings.Repeat("  ", row.Depth)+text))
	}
	return list
}

// TestValues checks how the arguments of a call are written.
func TestValues(t *testing.T) {
	wide := value.List{}
	for i := range 30 {
		wide = append(wide, fmt.Sprintf("item %02d", i))
	}
	for _, tt := range []struct {
		name string
		args *value.Dict
		want []string
	}{
		{"none", nil, []string{"{}"}},
		{"short", value.NewDict("a", "x", "b", []any{int64(1), 2.5, nil, true}), []string{`a: "x"`, `b: [1, 2.5, null, true]`}},
		{"quotes", value.NewDict("a", `say "no" \n`), []string{`a: "say \"no\" \\n"`}},
		{"bytes are no text", value.NewDict("a", []byte{0, 1}, "b", "AAE="), []string{`a: bytes(2) "AAE="`, `b: "AAE="`}},
		{"what cannot be seen", value.NewDict("a", "x\u200b\ty\rz"), []string{`a: "x⟨U+200B⟩⇥   y⟨U+000D⟩z"`}},
		{"keys", value.NewDict("a\nb", "x", "\u202e", "y", "", 1, "a: b", 2), []string{`"a↵b": "x"`, `"⟨U+202E⟩": "y"`, `"": 1`, `"a: b": 2`}},
		{"a text of lines", value.NewDict("command", "echo ok\n\tcurl evil\n", "cwd", "."), []string{
			`command: a text of 2 lines, 19 bytes`, "echo ok", "⇥   curl evil", `cwd: "."`,
		}},
		{"without an end", value.NewDict("x", "a\nb"), []string{`x: a text of 2 lines, 3 bytes, no newline at the end`, "a", "b"}},
		{"inside", value.NewDict("x", []any{value.NewDict("y", "a\nb\n"), "c"}), []string{
			`x: [`, "{", `"y": a text of 2 lines, 4 bytes`, "a", "b", "},", `"c"`, "]",
		}},
		{"blank lines", value.NewDict("x", "a"+strings.Repeat("\n", 99)+"b"), []string{
			`x: a text of 100 lines, 101 bytes, no newline at the end`, "a", "⟨98 blank lines⟩", "b",
		}},
	} {
		r := Review{Parts: []Part{block(tt.args)}}
		rows, _ := r.Rows(200, true)
		if diff := cmp.Diff(tt.want, plainRows(rows)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	r := Review{Parts: []Part{block(value.NewDict("list", wide))}}
	rows, hidden := r.Rows(80, false)
	if len(rows) != 31 || hidden != (Hidden{Lines: 2, Bytes: 20}) { // of list: [, 30 items, and ]
		t.Errorf("a long list has %d rows without %+v:\n%s", len(rows), hidden, strings.Join(plainRows(rows), "\n"))
	}
}

func state(text string) tool.FileState {
	return tool.FileState{Exists: true, Mode: 0o644, Data: []byte(text), Hash: tool.HashBytes([]byte(text))}
}

// TestChanges checks what is shown of files that a diff alone does not tell of.
func TestChanges(t *testing.T) {
	without := func(s tool.FileState) tool.FileState {
		s.Data = nil
		return s
	}
	script := state("#!/bin/sh\necho \xff\x00ok\ncurl evil\n")
	script.Mode = 0o755
	for _, tt := range []struct {
		name    string
		changes []tool.Change
		want    []string
	}{
		{"moved", []tool.Change{{Path: "new/b", After: state("x\n")}, {Path: "old/a", Before: state("x\n")}}, []string{"moves old/a → new/b", "unchanged"}},
		{"moved and made executable", []tool.Change{{Path: "a", Before: state(string(script.Data))}, {Path: "b", After: script}}, []string{"moves a → b", "the mode changes from 644 to 755"}},
		{"copied twice, removed once", []tool.Change{{Path: "a", Before: state("x\n")}, {Path: "b", After: state("x\n")}, {Path: "c", After: state("x\n")}},
			[]string{"moves a → b", "unchanged", "new c  +1", "@@ line 1 @@", "x"}},
		{"a script with bytes that are no text", []tool.Change{{Path: "x", After: script}}, []string{
			"new x  +3", "executable (mode 755)", "@@ line 1 @@", "#!/bin/sh", "echo ⟨ff⟩⟨U+0000⟩ok", "curl evil",
		}},
		{"recorded without its content", []tool.Change{{Path: "x", Before: without(state("a\n")), After: without(state("b\u200b\n")), Diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\u200b\n"}}, []string{
			"changes x  +1 −1", "the old content is unavailable: sha256 " + tool.HashBytes([]byte("a\n")),
			"the new content is too large to show: sha256 " + tool.HashBytes([]byte("b\u200b\n")),
			"@@ -1 +1 @@", "a", "b⟨U+200B⟩",
		}},
		{"a name", []tool.Change{{Path: "sr\u0441/a \u200b", After: state("")}}, []string{"new sr⟨с U+0441⟩/a ⟨U+200B⟩", "empty"}},
		{"the mode only", []tool.Change{{Path: "x", Before: state("a"), After: tool.FileState{Exists: true, Mode: 0o4755, Data: []byte("a"), Hash: tool.HashBytes([]byte("a"))}}},
			[]string{"changes x", "the mode changes from 644 to 4755"}},
	} {
		var r Review
		r.Changes(tt.changes)
		rows, _ := r.Rows(200, true)
		if diff := cmp.Diff(tt.want, plainRows(rows)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestManyFiles checks that files that are not named are counted.
func TestManyFiles(t *testing.T) {
	var changes []tool.Change
	for i := range 1000 {
		changes = append(changes, tool.Change{Path: fmt.Sprintf("f%03d", i), After: state("abc\n")})
	}
	var r Review
	r.Changes(changes)
	rows, hidden := r.Rows(80, false)
	text := strings.Join(plainRows(rows), "\n")
	if hidden.Files != 960 || !strings.Contains(text, "… 960 files, 2880 lines, 7680 bytes") || !strings.Contains(text, "new f029  +1") || strings.Contains(text, "new f030  +1") || !strings.Contains(text, "new f999  +1") {
		t.Errorf("%+v are not shown of:\n%s", hidden, text)
	}
	if rows, hidden := r.Rows(80, true); hidden.Any() || len(rows) != 3000 {
		t.Errorf("all: %d rows without %+v", len(rows), hidden)
	}
}

// TestArgumentsOfChanges checks that a call that has run is shown with what it changes, and not
// a second time with the contents that it was given.
func TestArgumentsOfChanges(t *testing.T) {
	text := strings.Repeat("line\n", 40)
	r := Of(&tool.Question{Kind: tool.QuestionApproval, Tool: "write_file", Args: value.NewDict("filepath", "a", "content", text), Changes: []tool.Change{{Path: "a", After: state(text)}}}, &About{})
	rows, hidden := r.Rows(80, false)
	want := []string{"new a  +40", "@@ line 1 @@", "line"}
	if diff := cmp.Diff(want, plainRows(rows)[:len(want)]); diff != "" || hidden.Lines != 1 {
		t.Errorf("the changes, without %+v (-want +got):\n%s", hidden, diff)
	}
	rows, _ = r.Rows(80, true)
	want = []string{"arguments", `filepath: "a"`, `content: a text of 200 bytes`}
	if diff := cmp.Diff(want, plainRows(rows)[len(rows)-3:]); diff != "" {
		t.Errorf("all of it (-want +got):\n%s", diff)
	}
}

var hostile = []string{
	" ", strings.Repeat(" ", 300), "\t", "\n", "\n\n\n\n\n\n", "\r", "\x1b[2J", "\u202e", "\u200b", "\u00a0", "\u0301\u0301\u0301\u0301\u0301", "р", "ａ", "⟨1 space⟩",
	"\xff", "漢", "a", "rm -rf /", strings.Repeat("x", 500), strings.Repeat("line\n", 60), "\"", "\\", "\x00",
}

func genText() *rapid.Generator[string] {
	part := rapid.OneOf(rapid.SampledFrom(hostile), rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 9), func(b []byte) string { return string(b) }))
	return rapid.Map(rapid.SliceOfN(part, 0, 10), func(parts []string) string { return strings.Join(parts, "") })
}

// TestEverythingIsShownOrCounted checks of hostile texts, wherever one can be, that the rows
// which are shown are the first and the last of all rows, and that what is not shown is
// counted exactly. All rows together show each line of a text as package visible does.
func TestEverythingIsShownOrCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, other := genText().Draw(t, "text"), genText().Draw(t, "other")
		columns := rapid.IntRange(20, 160).Draw(t, "columns")
		q := tool.Question{
			Kind: tool.QuestionApproval, Tool: text, Func: rapid.SampledFrom([]string{"", "x.y"}).Draw(t, "func"), Why: other, Reasoning: text,
			Args:         value.NewDict("a", text, "b", []any{other, value.NewDict(text, other)}),
			Capabilities: []tool.Capability{{Name: "fs.write", Target: text}},
			Changes:      []tool.Change{{Path: text, Before: state(other), After: state(text)}, {Path: "x", After: state(text)}, {Path: "y", Before: state(other)}},
		}
		r := Of(&q, &About{Tool: text, From: other, Args: value.NewDict("c", text)})
		for i := range r.Parts {
			one := Review{Parts: r.Parts[i : i+1]}
			all, none := one.Rows(columns, true)
			some, hidden := one.Rows(columns, false)
			at := slices.IndexFunc(some, func(row Row) bool { return row.Kind == HiddenRow })
			if r.Parts[i].Shown == Detail { // a yes does nothing of it
				if hidden.Any() || len(some) > 0 {
					t.Fatalf("part %d is shown, or must be seen: %+v", i, some)
				}
				some, at = all, -1
			}
			if none.Any() || at < 0 && (hidden.Any() || !cmp.Equal(all, some)) {
				t.Fatalf("part %d of all hides %+v, and without a mark %+v", i, none, hidden)
			}
			if at >= 0 {
				tail := some[at+1:]
				left := all[at : len(all)-len(tail)]
				if r.Parts[i].Shown == Aside && !hidden.Any() { // it need not be seen
					hidden = some[at].Hidden
				}
				if !cmp.Equal(some[:at], all[:at]) || !cmp.Equal(tail, all[len(all)-len(tail):]) || hidden != sizeOf(left) || hidden.Lines != len(left) || some[at].Hidden != hidden {
					t.Fatalf("part %d hides %+v of %d rows, and says %+v", i, sizeOf(left), len(all), some[at].Hidden)
				}
			}
			if got, want := sizeOf(all).Bytes, sizeOfLines(r.Parts[i].Lines); got != want {
				t.Fatalf("part %d: the rows have %d bytes, want %d", i, got, want)
			}
			var joined, lines strings.Builder
			for _, row := range all {
				joined.WriteString(strings.Join(plainSpans(row.Spans), ""))
			}
			for _, l := range r.Parts[i].Lines {
				lines.WriteString(l.shown())
			}
			if joined.String() != lines.String() {
				t.Fatalf("part %d: the rows are %q, want %q", i, joined.String(), lines.String())
			}
		}
		// A file with the text of a deleted one has moved, and has no diff.
		if !slices.ContainsFunc(r.Parts, func(p Part) bool { return shows(p.Lines, Added, text) }) && text != "" && text != other && !binary(ptr(state(text))) {
			t.Fatalf("no part shows the new file %q", text)
		}
		if q.Func != "" && strings.Contains(text, "\n") && !slices.ContainsFunc(r.Parts, func(p Part) bool { return shows(p.Lines, Text, text) }) {
			t.Fatalf("no part shows the argument %q", text)
		}
	})
}

func ptr[T any](v T) *T { return &v }

func plainSpans(spans []visible.Span) (list []string) {
	for _, s := range spans {
		list = append(list, s.Text)
	}
	return list
}

func sizeOfLines(lines []Line) (n int) {
	for _, l := range lines {
		n += l.Size
	}
	return n
}

// shows reports whether the lines of a sign are, from some line on, those of a text.
func shows(lines []Line, sign Sign, text string) bool {
	var got, want []string
	for _, l := range lines {
		if l.Sign == sign {
			got = append(got, l.shown())
		}
	}
	for _, l := range visible.Lines(text) {
		want = append(want, strings.Join(plainSpans(l.Spans), ""))
	}
	for i := range got {
		if len(got) >= i+len(want) && slices.Equal(got[i:i+len(want)], want) {
			return true
		}
	}
	return false
}

// TestDict checks the form for programs: texts with marks as data.
func TestDict(t *testing.T) {
	r := Of(&tool.Question{Kind: tool.QuestionConfirm, Tool: "t", Text: "a\u200bb\nc"}, &About{})
	want := `{"title":"A question for you","subject":"t","parts":[` +
		`{"kind":"block","lines":[{"text":"a⟨U+200B⟩b","marks":[{"at":1,"length":8,"mark":"invisible"}]},{"text":"c"}]}],"lines":2,"bytes":7}`
	if got := value.FormatJSON(r.Dict(), ""); got != want {
		t.Errorf("Dict = %s, want %s", got, want)
	}
}

// TestSameArguments checks that the arguments of a call are not repeated if its effect has the same.
func TestSameArguments(t *testing.T) {
	q := &tool.Question{Kind: tool.QuestionApproval, Tool: "remember", Func: "memory.add", Args: value.NewDict("note", "a")}
	for args, want := range map[*value.Dict]bool{value.NewDict("note", "a"): false, value.NewDict("note", "b"): true, nil: false} {
		called := slices.ContainsFunc(Of(q, &About{Args: args}).Parts, func(p Part) bool { return p.Label == "arguments" })
		if called != want {
			t.Errorf("called with %v: shown %v, want %v", args, called, want)
		}
	}
}
