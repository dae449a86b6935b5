package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A person sits at a terminal that is none: whenever he is asked something, he
// types the next thing that he has to say; when he has no more, he is gone.
type person struct {
	says  []string
	typed chan string
	shown bytes.Buffer
	gone  bool
	asked chan struct{} // gets a word for every prompt, if it is there
}

func newPerson(says ...string) *person {
	return &person{says: says, typed: make(chan string, len(says)+1)}
}

func (p *person) Write(text []byte) (int, error) {
	p.shown.Write(text)
	if !bytes.HasSuffix(text, []byte(" ? ")) {
		return len(text), nil
	}
	if p.asked != nil {
		p.asked <- struct{}{}
	}
	if len(p.says) > 0 {
		p.typed <- p.says[0]
		p.says = p.says[1:]
	}
	if len(p.says) == 0 && p.asked == nil && !p.gone {
		p.gone = true
		close(p.typed)
	}
	return len(text), nil
}

func (p *person) Read(b []byte) (int, error) {
	text, ok := <-p.typed
	if !ok {
		return 0, io.EOF
	}
	return copy(b, text), nil
}

func (p *person) prompts() int { return strings.Count(p.shown.String(), " ? ") }

// askerOf returns an asker that asks the person.
func askerOf(p *person, env map[string]string) *asker {
	c := commandIn(&world{in: strings.NewReader(""), out: io.Discard, err: io.Discard,
		env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	a := newAsker(c)
	a.term = &ui.Terminal{In: bufio.NewReader(p), Out: p}
	return a
}

func writer() tool.Tool {
	return tool.Tool{
		Name: "put_note", Title: "Put Note", Description: "Write a note.", Location: tool.Project, Path: ".cassidy/tools/put_note.star",
		Params: []tool.Param{
			{Name: "filepath", Type: tool.Type{Name: tool.TypeString}, Required: true},
			{Name: "count", Type: tool.Type{Name: tool.TypeInteger}},
			{Name: "working_dir", Type: tool.Type{Name: tool.TypeString}, FromHost: true},
		},
		Needs: []tool.Capability{{Name: "env", Target: "HOME"}, {Name: "fs.write", Target: "notes/**"}},
	}
}

func questionOf(t tool.Tool, args ...value.Value) approval {
	call := tool.Call{Tool: t.Name, Reasoning: "to keep the note", Args: value.NewDict(args...)}
	return approval{
		Question: host.Question{Kind: tool.QuestionApproval, Tool: t.Name, Capabilities: t.Needs, Why: "it needs fs.write", Reasoning: call.Reasoning, Args: call.Args},
		tool:     t, call: call,
	}
}

func TestApproveAnswers(t *testing.T) {
	nobody := host.Answer{Why: "nobody is there"}
	tests := []struct {
		name    string
		says    []string
		want    host.Answer
		prompts int
	}{
		{"y", []string{"y\n"}, host.Answer{Yes: true}, 1},
		{"yes", []string{"yes\n"}, host.Answer{Yes: true}, 1},
		{"spaces and capitals", []string{"  YES \r\n"}, host.Answer{Yes: true}, 1},
		{"always", []string{"a\n"}, host.Answer{Yes: true, Always: true}, 1},
		{"n", []string{"n\n"}, host.Answer{}, 1},
		{"no", []string{"No\n"}, host.Answer{}, 1},
		{"enter", []string{"\n"}, host.Answer{}, 1},
		{"spaces", []string{"   \n"}, host.Answer{}, 1},
		{"gone", nil, nobody, 1},
		{"gone in the middle of a yes", []string{"y"}, nobody, 1},
		{"nearly yes, then no", []string{"yess\n", "y e s\n", "ｙ\n", "\x1b[Ay\n", "ok\n", "1\n", "n\n"}, host.Answer{}, 7},
		{"anything else, then gone", []string{"sure\n"}, nobody, 2},
		{"help, then yes", []string{"?\n", "y\n"}, host.Answer{Yes: true}, 2},
		{"view, then yes", []string{"v\n", "y\n"}, host.Answer{Yes: true}, 2},
		{"a line beyond all measure", []string{strings.Repeat("y", 4000)}, nobody, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPerson(tt.says...)
			got, err := askerOf(p, nil).approve(t.Context(), questionOf(writer(), "filepath", "a.txt"))
			if value.KindOf(err) == value.Parked {
				got = nobody
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("answer = %+v, want %+v", got, tt.want)
			}
			if n := p.prompts(); n != tt.prompts {
				t.Errorf("asked %d times, want %d:\n%s", n, tt.prompts, p.shown.String())
			}
		})
	}
}

func TestApprovePage(t *testing.T) {
	p := newPerson("n\n")
	q := questionOf(writer(), "filepath", "notes/a.txt", "count", 2, "working_dir", "/home/somebody")
	if _, err := askerOf(p, nil).approve(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	want := `
cassidy: may this tool be called?
  tool      Put Note (put_note)
  from      this project: .cassidy/tools/put_note.star
  asked by  a model
  because   to keep the note
  why       it needs fs.write
  takes     fs.write:notes/** — write, change and remove the files notes/**
            env:HOME — read the environment variable HOME
  with
  │ {"filepath": "notes/a.txt", "count": 2}
cassidy: [y]es [n]o [e]dit [v]iew [a]lways ? `
	if diff := cmp.Diff(want, p.shown.String()); diff != "" {
		t.Errorf("the question (-want +got):\n%s", diff)
	}
}

func TestApproveEffect(t *testing.T) {
	q := questionOf(writer(), "filepath", "a")
	q.Func, q.Args = "shell.run", value.NewDict("argv", []string{"git", "push"})
	q.Capabilities = []tool.Capability{{Name: "shell", Target: "git"}}
	p := newPerson("e\n", "a\n")
	got, err := askerOf(p, nil).approve(t.Context(), q)
	if want := (host.Answer{Yes: true, Always: true}); err != nil || got != want {
		t.Errorf("answer = %+v, %v, want %+v", got, err, want)
	}
	for _, want := range []string{"may this tool do this?", "shell:git — run the command git", "now       shell.run with", `"push"`, `"filepath": "a"`} {
		if !strings.Contains(p.shown.String(), want) {
			t.Errorf("the question = %s\nwant %q in it", p.shown.String(), want)
		}
	}
	if strings.Contains(p.shown.String(), "[e]dit") || p.prompts() != 2 {
		t.Errorf("an effect was offered to be edited:\n%s", p.shown.String())
	}
}

func file(text string) tool.FileState {
	return tool.FileState{Exists: true, Mode: 0o644, Data: []byte(text), Hash: tool.HashBytes([]byte(text))}
}

func TestApproveChanges(t *testing.T) {
	executable := file("#!/bin/sh\n")
	executable.Mode = 0o755
	unread := file("old")
	unread.Data = nil
	q := questionOf(writer(), "filepath", "a")
	q.Changes = []tool.Change{
		{Path: "changed.txt", Before: file("one\ntwo\nthree\n"), After: file("one\n2\nthree")},
		{Path: "crlf.txt", Before: file("a\n"), After: file("a\r\n")},
		{Path: "gone.txt", Before: file("bye\n")},
		{Path: "image.png", Before: file("\x89PNG\x00\x01"), After: file("\xff\xfe")},
		{Path: "made", After: tool.FileState{Exists: true, Dir: true, Mode: 0o755}},
		{Path: "new.txt", After: file("hello\tthere\n")},
		{Path: "nothing.txt", After: file("")},
		{Path: "old", Before: tool.FileState{Exists: true, Dir: true, Mode: 0o755}},
		{Path: "run.sh", Before: file("#!/bin/sh\n"), After: executable},
		{Path: "unread.txt", Before: unread, After: file("new\n")},
	}
	p := newPerson("n\n")
	if _, err := askerOf(p, nil).approve(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(p.shown.String(), "  with\n")
	want := `  │ {"filepath": "a"}
  changes   changed.txt
  │ @@ line 1 @@
  │  one
  │ -two
  │ -three
  │ +2
  │ +three
  │ (no newline at the end)
  changes   crlf.txt
  │ @@ line 1 @@
  │ -a
  │ +a⟨U+000D⟩
  deletes   gone.txt
  │ @@ line 1 @@
  │ -bye
  changes   image.png
            binary: 6 bytes before, 2 after
  mkdir     made
  new       new.txt
  │ @@ line 1 @@
  │ +hello    there
  new       nothing.txt
            empty
  rmdir     old
  changes   run.sh
            its mode changes from 644 to 755
  changes   unread.txt
            what is in it now was not read
  │ @@ line 1 @@
  │ +new
cassidy: [y]es [n]o [v]iew [a]lways ? `
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
}

// TestApproveLongIsCut checks that what is long is cut, that this is said, and
// that v shows the rest: what a tool does must not hide behind what it does
// before.
func TestApproveLongIsCut(t *testing.T) {
	lines := func(n int, last string) string { return strings.Repeat("harmless\n", n) + last + "\n" }
	q := questionOf(writer(), "filepath", strings.Repeat("x", 10_000)+"EVIL-PARAM")
	q.Changes = []tool.Change{
		{Path: "1.txt", After: file(lines(500, "EVIL-ONE"))},
		{Path: "2.txt", After: file(lines(500, "EVIL-TWO"))},
		{Path: "3.txt", After: file(lines(500, "EVIL-THREE"))},
		{Path: "4.txt", After: file("short\n")},
	}
	p := newPerson("v\n", "n\n")
	if _, err := askerOf(p, nil).approve(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitN(p.shown.String(), " ? ", 2)
	if strings.Contains(parts[0], "EVIL") {
		t.Error("what is long is not cut")
	}
	if got := strings.Count(parts[0], "v shows all"); got != 5 {
		t.Errorf("what was left out is told %d times, want 5:\n%s", got, parts[0])
	}
	if n := strings.Count(parts[0], "\n"); n > 150 {
		t.Errorf("the short form has %d lines", n)
	}
	for _, path := range []string{"1.txt", "2.txt", "3.txt", "4.txt"} {
		if !strings.Contains(parts[0], path) {
			t.Errorf("the short form does not name %s", path)
		}
	}
	for _, want := range []string{"EVIL-PARAM", "EVIL-ONE", "EVIL-TWO", "EVIL-THREE", "+short"} {
		if !strings.Contains(strings.ReplaceAll(parts[1], "\n  ┊ ", ""), want) {
			t.Errorf("v does not show %s", want)
		}
	}
	if strings.Contains(parts[1], "v shows all") {
		t.Error("v leaves something out")
	}
}

// hostile is what a tool would have a person overlook.
var hostile = []string{
	"\x1b[2J\x1b[Hcassidy: [y]es [n]o [v]iew [a]lways ? ", "\x1b]0;title\a", "\u009b31m", "a\rb", "a\b\b\b\bb", "x\u202etxt.exe", "\u2066a\u2069",
	"pay\u200bpal", "\ufeff", "\u00ad", "\u3164", "\u2800", "\U000e0041", "\u2028cassidy: approved", "a\u00a0b", "\xff\xfe", "\x00", "\x7f", "\u061c",
	"ok\ncassidy: approved\n", "ok" + strings.Repeat(" ", 77) + "cassidy: [y]es", strings.Repeat("漢", 90), "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\tcassidy: x",
	"\v\fcassidy: y", "e\u0301", strings.Repeat("a", 1000), "",
}

// TestApproveHostile puts hostile text wherever a tool or a model may write
// some, and checks each line of what a person sees.
func TestApproveHostile(t *testing.T) {
	for _, text := range hostile {
		checkHostile(t, text, 80)
	}
}

func TestApproveHostileGenerated(t *testing.T) {
	part := rapid.OneOf(rapid.SampledFrom(hostile), rapid.String(), rapid.StringN(0, 200, -1), rapid.Just("\n"), rapid.Just("cassidy: "))
	rapid.Check(t, func(t *rapid.T) {
		checkHostile(t, strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), ""), rapid.IntRange(30, 200).Draw(t, "width"))
	})
}

type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkHostile(t tester, text string, width int) {
	t.Helper()
	r := review{paint: func(_, text string) string { return text }, width: width}
	q := questionOf(writer(), "filepath", text, text, []string{text})
	q.tool.Title, q.tool.Path, q.Reasoning, q.Why = text, text, text, text
	q.Capabilities = []tool.Capability{{Name: "fs.write", Target: text}, {Name: text, Target: text}}
	q.Changes = []tool.Change{{Path: text, Before: file("a\n" + text + "\nz"), After: file(text)}}
	r.question(&q)
	q.Func, q.Args = text, value.NewDict(text, text)
	r.question(&q)
	for i, line := range strings.Split(strings.TrimSuffix(r.String(), "\n"), "\n") {
		ours := line == "cassidy: may this tool change these files?" || line == "cassidy: may this tool do this?"
		if !ours && !strings.HasPrefix(line, "  ") {
			t.Fatalf("text %q: line %d begins where only cassidy may: %q", text, i, line)
		}
		columns := 0
		for _, c := range line {
			columns++
			if c >= 0x1100 && !strings.ContainsRune("│┊╵…—", c) {
				columns++
			}
			if !ui.Seen(c) {
				t.Fatalf("text %q: line %d has %U, which is not seen: %q", text, i, c, line)
			}
		}
		if columns > width+6 && !ours { // a page is not made narrower than minText
			t.Fatalf("text %q: line %d has %d columns of %d: %q", text, i, columns, width, line)
		}
	}
}

// TestDiffLong checks that a small change in a long text is found where
// it is, and that what cannot be compared is shown whole.
func TestDiffLong(t *testing.T) {
	long := strings.Repeat("the same line\n", 200_000)
	got := diff(long+"old\n"+long, long+"new\n"+long)
	want := []reviewLine{{"@@ line 199998 @@", ui.Dim}, {" the same line", ""}, {" the same line", ""}, {" the same line", ""},
		{"-old", ui.Red}, {"+new", ui.Green}, {" the same line", ""}, {" the same line", ""}, {" the same line", ""}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(reviewLine{})); d != "" {
		t.Errorf("a small change (-want +got):\n%s", d)
	}
	other := strings.Repeat("another\n", 200_000)
	if got, want := len(diff(long, other)), 400_000; got != want {
		t.Errorf("texts that have nothing in common make %d lines, want %d", got, want)
	}
}

// TestDiffRebuilds checks with texts of all shapes that the lines of a diff
// that are not new are lines of the old text, in order, and the others of the new.
func TestDiffRebuilds(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d"})
	rapid.Check(t, func(t *rapid.T) {
		before := strings.Join(rapid.SliceOfN(line, 0, 20).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOfN(line, 0, 20).Draw(t, "after"), "")
		lines := diff(before, after)
		if (before == after) != (len(lines) == 0) {
			t.Fatalf("diff(%q, %q) = %v", before, after, lines)
		}
		var old, new []string
		for _, l := range lines {
			switch l.text[0] {
			case '-':
				old = append(old, l.text[1:])
			case '+':
				new = append(new, l.text[1:])
			}
		}
		count := func(text, of string) int { return strings.Count("\n"+text+"\n", "\n"+of+"\n") }
		for _, l := range old {
			if count(strings.ReplaceAll(before, "\n", "\n\n"), l) == 0 {
				t.Fatalf("diff(%q, %q): %q was never there", before, after, l)
			}
		}
		if got, want := len(new)-len(old), countLines(after)-countLines(before); got != want {
			t.Fatalf("diff(%q, %q) adds %d lines, want %d", before, after, got, want)
		}
	})
}

func countLines(text string) int {
	n := 0
	for range strings.Lines(text) {
		n++
	}
	return n
}

// hostWith returns a host with a risky tool that returns its arguments, and how
// often it ran.
func hostWith(t *testing.T, approver host.Approver) (*host.Host, *int) {
	t.Helper()
	h, err := host.New(&host.Options{Approver: approver, WorkDir: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	if err := h.Register(writer(), func(_ context.Context, args *value.Dict) (value.Value, error) {
		ran++
		return args, nil
	}); err != nil {
		t.Fatal(err)
	}
	return h, &ran
}

// TestApproveThroughHost asks about calls that a model makes of a risky tool.
func TestApproveThroughHost(t *testing.T) {
	tests := []struct {
		name string
		says []string
		want string // the result, or the kind of error
		ran  int
	}{
		{"yes", []string{"y\n"}, `{"filepath": "a", "working_dir": "/work"}`, 1},
		{"no", []string{"n\n"}, "denied", 0},
		{"gone", nil, "denied", 0},
		{"edited", []string{"e\n{\"filepath\": \"b\", \"count\": 3}\n", "y\n"}, `{"filepath": "b", "count": 3, "working_dir": "/work"}`, 1},
		{"edited, then no", []string{"e\n{\"filepath\": \"b\"}\n", "n\n"}, "denied", 0},
		{"working_dir is not to be edited", []string{"e\n{\"filepath\": \"b\", \"working_dir\": \"/\"}\n", "y\n"}, `{"filepath": "b", "working_dir": "/work"}`, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPerson(tt.says...)
			h, ran := hostWith(t, askerOf(p, nil))
			r, err := h.Call(t.Context(), tool.Call{Tool: "put_note", Args: value.NewDict("filepath", "a")})
			got := value.FormatJSON(r.Value, "")
			if err != nil {
				got = value.KindOf(err).String()
			}
			want := tt.want
			if v, err := value.ParseJSON([]byte(want)); err == nil {
				want = value.FormatJSON(v, "")
			}
			if got != want || *ran != tt.ran {
				t.Errorf("the call gave %s (%v) and ran %d times, want %s and %d; it showed:\n%s", got, err, *ran, want, tt.ran, p.shown.String())
			}
		})
	}
}

func TestApproveEditTyped(t *testing.T) {
	p := newPerson(
		"e\n{\"filepath\": 1}\n", "\n{\"filepath\": \"b\",\n \"count\": 2\n}\n", // wrong type, then right
		"e\n{\"filepath\"\n\n", "\nnot json\n\n", "\n[1]\n\n", "n\n", // broken each time, then given up
		"y\n")
	a := askerOf(p, nil)
	got, err := a.approve(t.Context(), questionOf(writer(), "filepath", "a"))
	if err != nil || !got.Yes {
		t.Fatalf("answer = %+v, %v", got, err)
	}
	if want := `{"filepath": "b", "count": 2}`; value.FormatJSON(got.Args, " ") != want {
		t.Errorf("arguments = %s, want %s", value.FormatJSON(got.Args, " "), want)
	}
	for _, want := range []string{"Parameter 'filepath'", "invalid JSON at line", "should be a JSON object but are", `│ {"filepath": "b", "count": 2}`} {
		if !strings.Contains(p.shown.String(), want) {
			t.Errorf("shown = %s\nwant %q in it", p.shown.String(), want)
		}
	}
}

// TestApproveEditGone checks that who goes while he edits has not said yes.
func TestApproveEditGone(t *testing.T) {
	p := newPerson("e\n{\"filepath\": \"b\"")
	got, err := askerOf(p, nil).approve(t.Context(), questionOf(writer(), "filepath", "a"))
	if value.KindOf(err) != value.Parked || got.Yes {
		t.Errorf("answer = %+v, %v, want that nobody is there", got, err)
	}
}

// TestApproveEditor edits in an editor, which is a script here: it breaks the
// file first, then mends it.
func TestApproveEditor(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("the editor is a shell script")
	}
	dir := t.TempDir()
	editor := filepath.Join(dir, "editor")
	script := "#!/bin/sh\ncp \"$2\" '" + dir + "'/seen\nif [ ! -e '" + dir + "'/once ]; then touch '" + dir + "'/once; printf '{broken' > \"$2\"\n" +
		"else printf '{\"filepath\": \"edited\", \"data\": \"AAE=\"}' > \"$2\"; fi\n"
	if err := os.WriteFile(editor, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p := newPerson("e\n", "\n", "y\n")
	q := questionOf(writer(), "filepath", "x\u202ey", "data", []byte{0, 1})
	q.tool.AllowExtra = true
	t.Setenv("TMPDIR", dir)
	got, err := askerOf(p, map[string]string{"VISUAL": " ", "EDITOR": editor + " -w"}).approve(t.Context(), q)
	if err != nil || !got.Yes {
		t.Fatalf("answer = %+v, %v; it showed:\n%s", got, err, p.shown.String())
	}
	want := value.NewDict("filepath", "edited", "data", []byte{0, 1})
	if !value.Alike(got.Args, want) {
		t.Errorf("arguments = %v, want %v with data as the bytes that they were", got.Args, want)
	}
	if data, _ := got.Args.Get("data"); !bytes.Equal(data.([]byte), []byte{0, 1}) {
		t.Errorf("data = %v, want the bytes", data)
	}
	if !strings.Contains(p.shown.String(), "invalid JSON") {
		t.Errorf("the broken JSON is not told:\n%s", p.shown.String())
	}
	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil || string(seen) != "{broken" {
		t.Errorf("the second editor got %q, %v, want what the first one left", seen, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "cassidy-*.json")); len(left) > 0 {
		t.Errorf("files are left behind: %v", left)
	}
}

// TestApproveEditorFails checks that an editor that cannot be started changes
// nothing and approves nothing.
func TestApproveEditorFails(t *testing.T) {
	p := newPerson("e\n", "n\n", "y\n")
	got, err := askerOf(p, map[string]string{"EDITOR": "/there/is/no/such/editor"}).approve(t.Context(), questionOf(writer(), "filepath", "a"))
	if err != nil || !got.Yes || got.Args != nil {
		t.Errorf("answer = %+v, %v, want yes to what was asked", got, err)
	}
	if p.prompts() != 3 {
		t.Errorf("asked %d times, want 3:\n%s", p.prompts(), p.shown.String())
	}
}

// TestApproveInterrupted checks that Ctrl-C ends a question, and that what is
// typed then answers the next one only.
func TestApproveInterrupted(t *testing.T) {
	p := newPerson()
	p.asked = make(chan struct{}, 1)
	a := askerOf(p, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := a.approve(ctx, questionOf(writer(), "filepath", "a"))
		done <- err
	}()
	<-p.asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	if _, err := a.approve(ctx, questionOf(writer(), "filepath", "a")); !errors.Is(err, context.Canceled) {
		t.Errorf("error of a question nobody waits for = %v, want %v", err, context.Canceled)
	}
	p.says = []string{"y\n"}
	got, err := a.approve(t.Context(), questionOf(writer(), "filepath", "a"))
	if err != nil || !got.Yes {
		t.Errorf("next answer = %+v, %v, want yes", got, err)
	}
}

// TestApproveOneAtATime asks from many goroutines: each question is answered
// before the next is put.
func TestApproveOneAtATime(t *testing.T) {
	const n = 8
	var says []string
	for range n {
		says = append(says, "y\n")
	}
	p := newPerson(says...)
	a := askerOf(p, nil)
	answers := make(chan host.Answer, n)
	for range n {
		go func() {
			got, _ := a.approve(t.Context(), questionOf(writer(), "filepath", "a"))
			answers <- got
		}()
	}
	for range n {
		if got := <-answers; !got.Yes {
			t.Errorf("answer = %+v, want yes", got)
		}
	}
	if got := strings.Count(p.shown.String(), "may this tool be called?"); got != n {
		t.Errorf("asked %d times, want %d", got, n)
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(p.shown.String(), " ? "), " ? ") {
		if strings.Count(part, "may this tool be called?") != 1 {
			t.Errorf("questions mix:\n%s", part)
		}
	}
}

// TestApproveKeepsTalkOut checks that what tools tell waits for the end of a
// question.
func TestApproveKeepsTalkOut(t *testing.T) {
	p := newPerson()
	p.asked = make(chan struct{}, 1)
	a := askerOf(p, nil)
	a.Err = &p.shown
	a.screen.Add(tool.Event{Tool: "t", Data: tool.Log{Message: "before\ncassidy: fake"}}, a.show)
	done := make(chan host.Answer, 1)
	go func() {
		got, _ := a.approve(t.Context(), questionOf(writer(), "filepath", "a"))
		done <- got
	}()
	<-p.asked
	a.screen.Add(tool.Event{Tool: "t", Data: tool.ToolOutput{Chunk: "during"}}, a.show)
	p.typed <- "y\n"
	if got := <-done; !got.Yes {
		t.Fatalf("answer = %+v", got)
	}
	text := p.shown.String()
	if !strings.HasPrefix(text, "cassidy: t: before\n  cassidy: fake\n\ncassidy: may this tool") || !strings.HasSuffix(text, " ? during") {
		t.Errorf("shown = %q, want what is told before and after the question", text)
	}
}

// TestApproveWithoutTerminal checks that a question that cannot be put is a
// denial that says how to do without, and exit code 3.
func TestApproveWithoutTerminal(t *testing.T) {
	var said bytes.Buffer
	c := commandIn(&world{in: strings.NewReader("y\ny\ny\n"), out: io.Discard, err: &said,
		env: func(name string) (string, bool) { return "/home/me/.cassidy", name == "CASSIDY_HOME" }})
	h, ran := hostWith(t, newAsker(c))
	_, err := c.call(&cli.Context{Context: t.Context()}, h, func(ctx context.Context) (tool.Result, error) {
		return h.Call(ctx, tool.Call{Tool: "put_note", Args: value.NewDict("filepath", "a")})
	})
	if code := c.Exit(t.Context(), err); code != 3 || *ran != 0 {
		t.Errorf("exit code = %d and it ran %d times, want 3 and 0", code, *ran)
	}
	want := "cassidy: the tool 'put_note' needs approval to use fs.write:notes/**, and there is no terminal to ask on\n" +
		`cassidy: hint: --yes approves it in this run; allow: ["fs.write:notes/**"] in ` + filepath.Join("/home/me/.cassidy", "config.yaml") + " approves it for good\n"
	if runtimePath := said.String(); runtimePath != want && goruntime.GOOS != "windows" {
		t.Errorf("said %q, want %q", runtimePath, want)
	}
}

// TestApprovalFlags checks what --yes and --deny say, through a host.
func TestApprovalFlags(t *testing.T) {
	tests := []struct {
		args []string
		want string
		ran  int
	}{
		{[]string{"--yes"}, "", 1},
		{[]string{"--deny"}, "denied", 0},
		{nil, "denied", 0}, // there is no terminal
	}
	for _, tt := range tests {
		c := commandIn(&world{in: strings.NewReader("y\n"), out: io.Discard, err: io.Discard,
			env: func(string) (string, bool) { return "", false }})
		var approver host.Approver
		app := &cli.App{Flags: approvalFlags(), Action: func(ctx *cli.Context) (err error) {
			approver, err = c.chooseApprover(ctx)
			return err
		}}
		if err := app.Run(append([]string{"x"}, tt.args...)); err != nil {
			t.Fatal(err)
		}
		h, ran := hostWith(t, approver)
		_, err := h.Call(t.Context(), tool.Call{Tool: "put_note", Args: value.NewDict("filepath", "a")})
		got := ""
		if err != nil {
			got = value.KindOf(err).String()
		}
		if got != tt.want || *ran != tt.ran {
			t.Errorf("%q: the call gave %q and ran %d times, want %q and %d", tt.args, got, *ran, tt.want, tt.ran)
		}
	}
}

// asAsker, in the environment, has the test binary ask about one call; see
// askProcess.
const asAsker = "CASSIDY_TEST_AS_ASKER"

// askProcess calls a risky tool as a model would, with the questions on the
// terminal that the process has, and returns the exit code.
func askProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := commandIn(&world{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.LookupEnv})
	a := newAsker(c)
	a.inputRead = os.Getenv(asAsker) == "input"
	if a.inputRead {
		if _, err := ui.ReadAll(c.in); err != nil {
			return 99
		}
	}
	h, err := host.New(&host.Options{Approver: a})
	if err == nil {
		err = h.Register(writer(), func(context.Context, *value.Dict) (value.Value, error) { return "it ran", nil })
	}
	if err == nil {
		_, err = c.call(&cli.Context{Context: ctx}, h, func(ctx context.Context) (tool.Result, error) {
			return h.Call(ctx, tool.Call{Tool: "put_note", Args: value.NewDict("filepath", "a")})
		})
	}
	return c.Exit(ctx, err)
}
