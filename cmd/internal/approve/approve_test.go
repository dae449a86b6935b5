package approve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestMain(m *testing.M) {
	if os.Getenv(asAsker) != "" {
		os.Exit(askProcess())
	}
	os.Exit(m.Run())
}

// enter ends each prompt.
const enter = " › "

// A person is a fake terminal that types the next text at each prompt. After the last
// one it hangs up.
type person struct {
	says  []string
	typed chan string
	shown bytes.Buffer
	gone  bool
	asked chan struct{} // gets an element for each prompt; may be nil
}

func newPerson(says ...string) *person {
	return &person{says: says, typed: make(chan string, len(says)+1)}
}

func (p *person) Write(text []byte) (int, error) {
	p.shown.Write(text)
	if !bytes.HasSuffix(text, []byte(enter)) {
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

func (p *person) prompts() int { return strings.Count(p.shown.String(), enter) }

// noEnv is an environment without variables.
func noEnv(string) (string, bool) { return "", false }

// show returns what shows an event as a command does.
func show(a *Asker) func(tool.Event) {
	return func(e tool.Event) {
		switch d := e.Data.(type) {
		case tool.Log:
			a.Note("%s: %s", e.Tool, d.Message)
		case tool.ToolOutput:
			_, _ = io.WriteString(a.Err, ui.Printable(d.Chunk))
		}
	}
}

// askerOf returns an asker that asks the person.
func askerOf(p *person, env map[string]string) *Asker {
	a := New(ui.NewPrinter(io.Discard, io.Discard, func(name string) (string, bool) { v, ok := env[name]; return v, ok }),
		strings.NewReader(""), &ui.Screen{})
	a.Term = &ui.Terminal{In: bufio.NewReader(p), Out: p}
	return a
}

func writer() toolset.Info {
	return toolset.Info{Tool: tool.Tool{
		Name: "put_note", Title: "Put Note", Description: "Write a note.",
		Params: []tool.Param{
			{Name: "filepath", Type: tool.Type{Name: tool.TypeString}, Required: true},
			{Name: "count", Type: tool.Type{Name: tool.TypeInteger}},
			{Name: "working_dir", Type: tool.Type{Name: tool.TypeString}, FromHost: true},
		},
		Needs: []tool.Capability{{Name: "env", Target: "HOME"}, {Name: "fs.write", Target: "notes/**"}},
	}, Standing: toolset.Standing{Location: tool.Project, Path: ".cassidy/tools/put_note.star"}}
}

func questionOf(t toolset.Info, args ...value.Value) approval {
	call := tool.Call{Tool: t.Name, Reasoning: "to keep the note", Args: value.NewDict(args...)}
	return approval{
		Question: tool.Question{Kind: tool.QuestionApproval, Tool: t.Name, Capabilities: t.Needs, Why: "it needs fs.write", Reasoning: call.Reasoning, Args: call.Args},
		tool:     t, call: call,
	}
}

func TestApproveAnswers(t *testing.T) {
	nobody := tool.Answer{Why: "nobody is there"}
	tests := []struct {
		name    string
		says    []string
		want    tool.Answer
		prompts int
	}{
		{"y", []string{"y\n"}, tool.Answer{Yes: true}, 1},
		{"yes", []string{"yes\n"}, tool.Answer{Yes: true}, 1},
		{"spaces and capitals", []string{"  YES \r\n"}, tool.Answer{Yes: true}, 1},
		{"always", []string{"a\n"}, tool.Answer{Yes: true, Always: true}, 1},
		{"n", []string{"n\n"}, tool.Answer{}, 1},
		{"no", []string{"No\n"}, tool.Answer{}, 1},
		{"enter", []string{"\n"}, tool.Answer{}, 1},
		{"spaces", []string{"   \n"}, tool.Answer{}, 1},
		{"gone", nil, nobody, 1},
		{"gone in the middle of a yes", []string{"y"}, nobody, 1},
		{"nearly yes, then no", []string{"yess\n", "y e s\n", "ｙ\n", "\x1b[Ay\n", "ok\n", "1\n", "n\n"}, tool.Answer{}, 7},
		{"anything else, then gone", []string{"sure\n"}, nobody, 2},
		{"help, then yes", []string{"?\n", "y\n"}, tool.Answer{Yes: true}, 2},
		{"view, then yes", []string{"v\n", "y\n"}, tool.Answer{Yes: true}, 2},
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
			if !gocmp.Equal(got, tt.want) {
				t.Errorf("answer = %+v, want %+v", got, tt.want)
			}
			if n := p.prompts(); n != tt.prompts {
				t.Errorf("asked %d times, want %d:\n%s", n, tt.prompts, p.shown.String())
			}
		})
	}
}

// TestApproveUntrusted checks what a person sees at the terminal if a model has read untrusted text,
// and the error without a terminal.
func TestApproveUntrusted(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		p := newPerson("?\n", "a\n")
		a := askerOf(p, nil)
		a.AddRules = func([]tool.Rule) (*config.Change, error) {
			t.Error("a rule was added")
			return nil, errors.New("no")
		}
		if !terminal {
			a.Term = nil
		}
		h, err := host.New(&host.Options{Approver: a})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		for name, hints := range map[string]tool.Hints{"read_mail": {UntrustedOutput: true}, "send_mail": {OpenWorld: true}} {
			err := h.Register(tool.Tool{Name: name, Description: "Do it.", Hints: hints}, func(context.Context, *value.Dict) (value.Value, error) { return "x", nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		ctx := h.Conversation(t.Context())
		for _, name := range []string{"send_mail", "read_mail", "send_mail"} {
			_, err = h.Call(ctx, tool.Call{Tool: name})
		}
		why := "the model has read untrusted text: the result of read_mail (earlier in this conversation); the result of send_mail (earlier in this conversation)"
		switch {
		case terminal && (err != nil || p.prompts() != 2 || !strings.Contains(strings.Join(strings.Fields(p.shown.String()), ""), strings.ReplaceAll("why"+why, " ", ""))):
			t.Errorf("%v, asked %d times:\n%s", err, p.prompts(), p.shown.String())
		case terminal && (!strings.Contains(strings.Join(strings.Fields(p.shown.String()), " "), "or the model reads other untrusted text r show why no rule answers this question Ctrl-C") || strings.Contains(p.shown.String(), "permanently")):
			t.Errorf("the help promises what a question about untrusted text does not do:\n%s", p.shown.String())
		case !terminal && (err == nil || !strings.Contains(err.Error(), "ask: "+why)):
			t.Errorf("without a terminal: %v", err)
		}
	}
}

func TestApprovePage(t *testing.T) {
	p := newPerson("n\n")
	q := questionOf(writer(), "filepath", "notes/a.txt", "count", 2, "working_dir", "/home/somebody")
	if _, err := askerOf(p, nil).approve(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	want := `
? Call this tool?                                                                 put_note · a model
  │ filepath: "notes/a.txt"
  │ count: 2
  from       this project: .cassidy/tools/put_note.star
  can        write, change and remove the files notes/**
             read the environment variable HOME
  why        it needs fs.write
  because    to keep the note
y yes · N no · e edit · v view · a always · r rule · ? help › ✗ refused
`
	if diff := gocmp.Diff(want, p.shown.String()); diff != "" {
		t.Errorf("the question (-want +got):\n%s", diff)
	}
}

func TestApproveEffect(t *testing.T) {
	q := questionOf(writer(), "filepath", "a")
	q.Func, q.Args = "shell.run", value.NewDict("argv", []string{"git", "push"})
	q.Capabilities = []tool.Capability{{Name: "shell", Target: "git"}}
	p := newPerson("e\n", "a\n")
	got, err := askerOf(p, nil).approve(t.Context(), q)
	if want := (tool.Answer{Yes: true, Always: true}); err != nil || !gocmp.Equal(got, want) {
		t.Errorf("answer = %+v, %v, want %+v", got, err, want)
	}
	for _, want := range []string{"? Run this command?", "  can        run the command git\n", "  does       shell.run\n  │ argv: [\"git\", \"push\"]\n"} {
		if !strings.Contains(p.shown.String(), want) {
			t.Errorf("the question = %s\nwant %q in it", p.shown.String(), want)
		}
	}
	if strings.Contains(p.shown.String(), "e edit") || p.prompts() != 2 {
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
	_, got, _ := strings.Cut(p.shown.String(), "a model\n")
	want := `  changed.txt  +2 −2
  │ 1 1   one
  │ 2   - two
  │ 3   - three
  │   2 + 2
  │   3 + three
  │ (no newline at the end)
  crlf.txt  +1 −1
  │ 1   - a
  │   1 + a⟨U+000D⟩
  deletes  gone.txt  −1
  │ 1   - bye
  image.png
    binary: 6 bytes before, sha256 09824c6bec844d272dd1a01cd876409dfaf7b650d0ec2fc2e88a1e6a85
    96f762
    binary: 2 bytes after, sha256 b3d510ef04275ca8e698e5b3cbb0ece3949ef9252f0cdc839e9ee347409
    a2209
  mkdir  made
  new  new.txt  +1
  │   1 + hello⇥   there
  new  nothing.txt
    empty
  rmdir  old
  run.sh
    the mode changes from 644 to 755
  unread.txt  +1
    the old content is unavailable: sha256 cba06b5736faf67e54b07b561eae94395e774c517a7d910a54
    369e1263ccfbd4
  │   1 + new
  from       this project: .cassidy/tools/put_note.star
  can        write, change and remove the files notes/**
             read the environment variable HOME
  why        it needs fs.write
  because    to keep the note
! 1 invisible character
y yes · N no · v view · a always · r rule · ? help › ✗ refused
`
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
}

// TestApproveLongIsCut checks that long parts are cut in the middle, that what is hidden is
// counted exactly, that no yes counts before v, and that v shows everything.
func TestApproveLongIsCut(t *testing.T) {
	lines := func(evil string) string {
		return strings.Repeat("harmless\n", 250) + evil + "\n" + strings.Repeat("harmless\n", 249)
	}
	for _, yes := range []string{"y\n", "yes\n", "a\n", "always\n"} {
		long := strings.Repeat("x", 5_000) + "EVIL-PARAM" + strings.Repeat("x", 5_000)
		q := questionOf(writer(), "filepath", "a")
		q.Reasoning = long
		q.Func, q.Args = "put", value.NewDict("filepath", long)
		q.Changes = []tool.Change{
			{Path: "1.txt", After: file(lines("EVIL-ONE"))},
			{Path: "2.txt", After: file(lines("EVIL-TWO"))},
			{Path: "3.txt", After: file(lines("EVIL-THREE"))},
			{Path: "4.txt", After: file("short\n")},
		}
		p := newPerson(yes, "v\n", yes)
		got, err := askerOf(p, nil).approve(t.Context(), q)
		if err != nil || !got.Yes {
			t.Fatalf("answer = %+v, %v, want yes", got, err)
		}
		parts := strings.SplitN(p.shown.String(), enter, 3)
		if strings.Contains(parts[0], "EVIL") {
			t.Error("what is long is not cut")
		}
		for _, want := range []string{
			" lines (4500 bytes) not shown: v, before y",
			" lines (4502 bytes) not shown: v, before y",
			" lines (4149 bytes) not shown: v, before y",
			"▸ 2 lines (6 bytes) not shown: v, before y",
		} {
			if !strings.Contains(parts[0], want) {
				t.Errorf("the short form has no %q:\n%s", want, parts[0])
			}
		}
		if n := strings.Count(parts[0], "\n"); n > 160 {
			t.Errorf("the short form has %d lines", n)
		}
		for _, path := range []string{"1.txt", "2.txt", "3.txt", "4.txt"} {
			if !strings.Contains(parts[0], path) {
				t.Errorf("the short form does not name %s", path)
			}
		}
		if !strings.Contains(parts[1], "were not shown: type v to view them before you approve") {
			t.Errorf("a yes before v is answered with %q", parts[1])
		}
		for _, want := range []string{"EVIL-PARAM", "EVIL-ONE", "EVIL-TWO", "EVIL-THREE", "+ short"} {
			if !strings.Contains(strings.NewReplacer("\n  │ ┊ ", "", "\n            ", "").Replace(parts[2]), want) {
				t.Errorf("v does not show %s", want)
			}
		}
		if strings.Contains(parts[2], "not shown") {
			t.Error("v leaves something out")
		}
	}
}

// hostile is what a tool would have a person overlook.
var hostile = []string{
	"\x1b[2J\x1b[Hy yes · N no · v view" + enter, "\x1b]0;title\a", "\u009b31m", "a\rb", "a\b\b\b\bb", "x\u202etxt.exe", "\u2066a\u2069",
	"pay\u200bpal", "\ufeff", "\u00ad", "\u3164", "\u2800", "\U000e0041", "\u2028cassidy: approved", "a\u00a0b", "\xff\xfe", "\x00", "\x7f", "\u061c",
	"ok\ncassidy: approved\n", "ok" + strings.Repeat(" ", 77) + "y yes · N no", strings.Repeat("漢", 90), "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\tcassidy: x",
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
	r := Page{Screen: draw.Screen{Width: width}}
	q := questionOf(writer(), "filepath", text, text, []string{text})
	q.tool.Title, q.tool.Path, q.Reasoning, q.Why = text, text, text, text
	q.Capabilities = []tool.Capability{{Name: "fs.write", Target: text}, {Name: text, Target: text}}
	q.Changes = []tool.Change{{Path: text, Before: file("a\n" + text + "\nz"), After: file(text)}}
	r.Review(q.review())
	q.Func, q.Args = text, value.NewDict(text, text)
	r.Review(q.review())
	for i, line := range strings.Split(strings.TrimSuffix(r.String(), "\n"), "\n") {
		ours := line == "? Change 1 file?" || line == "? Do this?" || strings.HasPrefix(line, "! ")
		if !ours && line != "" && !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "? Change 1 file?  ") && !strings.HasPrefix(line, "? Do this?  ") {
			t.Fatalf("text %q: line %d begins where only cassidy may: %q", text, i, line)
		}
		for _, c := range line {
			if value.IsInvisible(c) {
				t.Fatalf("text %q: line %d has %U, which is not seen: %q", text, i, c, line)
			}
		}
		if cells := draw.Cells(line); cells >= width {
			t.Fatalf("text %q: line %d has %d cells of %d: %q", text, i, cells, width, line)
		}
	}
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
	if err := h.Register(writer().Tool, func(_ context.Context, args *value.Dict) (value.Value, error) {
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
		{"edited", []string{"e\n", "{\"filepath\": \"b\", \"count\": 3}\n", "y\n"}, `{"filepath": "b", "count": 3, "working_dir": "/work"}`, 1},
		{"edited, then no", []string{"e\n", "{\"filepath\": \"b\"}\n", "n\n"}, "denied", 0},
		{"working_dir is not to be edited", []string{"e\n", "{\"filepath\": \"b\", \"working_dir\": \"/\"}\n", "y\n"}, `{"filepath": "b", "working_dir": "/work"}`, 1},
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
			if !gocmp.Equal(got, want) || *ran != tt.ran {
				t.Errorf("the call gave %s (%v) and ran %d times, want %s and %d; it showed:\n%s", got, err, *ran, want, tt.ran, p.shown.String())
			}
		})
	}
}

// TestApproveEditTyped edits without an editor: a change that is wrong is reported, and drops
// no change before it.
func TestApproveEditTyped(t *testing.T) {
	p := newPerson(
		"e\n", "{\"filepath\": 1}\n", "\n", // of the wrong type, which cannot be done
		"{\"filepath\": \"b\",\n \"count\": 2\n}\n", // shown again
		"e\n", "{\"filepath\"\n\n", "not json\n", "{1}\n\n", "nothing=1\n", "count=many\n", "count=3\n", "filepath=c=d\n", "\n",
		"e\n", "count:=\n", "filepath:=\"e\\nf\"\n", "c\n",
		"e\n", "filepath:=[\n", "count:=7\n", "\n",
		"y\n")
	a := askerOf(p, nil)
	got, err := a.approve(t.Context(), questionOf(writer(), "filepath", "a"))
	if err != nil || !got.Yes {
		t.Fatalf("answer = %+v, %v; it showed:\n%s", got, err, p.shown.String())
	}
	if want := `{"filepath": "c=d", "count": 7}`; value.FormatJSON(got.Args, " ") != want {
		t.Errorf("arguments = %s, want %s; it showed:\n%s", value.FormatJSON(got.Args, " "), want, p.shown.String())
	}
	for _, want := range []string{"Parameter 'filepath'", "invalid JSON at line", "expected NAME=VALUE but got \"not json\"", "no parameter \"nothing\"", "Parameter 'count'",
		"│ filepath: \"b\"\n  │ count: 2", "│ filepath: \"c=d\"\n  │ count: 3", `now: {"filepath":"e\nf"}`} {
		if !strings.Contains(p.shown.String(), want) {
			t.Errorf("shown = %s\nwant %q in it", p.shown.String(), want)
		}
	}
}

// TestApproveEditThenNo checks that a refusal names the arguments that were refused: the edited
// ones.
func TestApproveEditThenNo(t *testing.T) {
	p := newPerson("e\n", "filepath=b\n", "\n", "n\n")
	h, ran := hostWith(t, askerOf(p, nil))
	_, err := h.Call(t.Context(), tool.Call{Tool: "put_note", Args: value.NewDict("filepath", "a")})
	const want = `the call of 'put_note' was not approved: these edited arguments were refused: {"filepath":"b"}`
	if err == nil || !strings.Contains(err.Error(), want) || *ran != 0 {
		t.Errorf("error = %v, want %q", err, want)
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

// TestApproveEditor edits with a script as the editor, which makes the file invalid first
// and then valid.
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
	if !value.EqualJSON(got.Args, want) {
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

// TestAlways checks what a permanent yes is: of the session, or rules in the user's config
// that are shown before and after, and hold from then on.
func TestAlways(t *testing.T) {
	rules := []tool.Rule{{Verdict: tool.Allow, Tool: "put_note", Capability: tool.Capability{Name: "fs.write", Target: "notes/a.txt"}}}
	for _, tt := range []struct {
		name  string
		says  []string
		rules []tool.Rule
		fails bool
		want  tool.Answer
		added int
		shows []string
	}{
		{"for the session", []string{"a\n", "s\n"}, rules, false, tool.Answer{Yes: true, Always: true}, 0, []string{
			"s  approve all calls of put_note and all their effects, until cassidy ends or put_note changes\n",
			"p  approve permanently in this project: add these rules to /home/me/config.yaml\n" +
				`       - {tool: put_note, capability: "fs.write:notes/a.txt"}` + "\ns session · p project · N neither › ",
		}},
		{"in the project", []string{"always\n", "project\n"}, rules, false, tool.Answer{Yes: true}, 1, []string{
			"✓ added to /home/me/config.yaml; to be asked again, delete these lines:\n  - {tool: put_note, capability: \"fs.write:notes/a.txt\", project: \"",
		}},
		{"neither", []string{"a\n", "\n", "n\n"}, rules, false, tool.Answer{}, 0, nil},
		{"something else, then neither", []string{"a\n", "y\n", "yes\n", "n\n", "y\n"}, rules, false, tool.Answer{Yes: true}, 0, nil},
		{"it cannot be saved", []string{"a\n", "p\n", "n\n", "n\n"}, rules, true, tool.Answer{}, 1, []string{"✗ the disk is full\n"}},
		{"no rule would do", []string{"a\n"}, nil, false, tool.Answer{Yes: true, Always: true}, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPerson(tt.says...)
			a := askerOf(p, nil)
			a.Config = "/home/me/config.yaml"
			added := 0
			file, root := filepath.Join(t.TempDir(), "config.yaml"), t.TempDir()
			a.AddRules = func(got []tool.Rule) (*config.Change, error) {
				if added++; !gocmp.Equal(got, tt.rules) {
					t.Errorf("added %v, want %v", got, tt.rules)
				}
				if tt.fails {
					return nil, errors.New("the disk is full")
				}
				return config.AddRules(file, root, got)
			}
			q := questionOf(writer(), "filepath", "a.txt")
			q.rules = tt.rules
			got, err := a.approve(t.Context(), q)
			if err != nil || !gocmp.Equal(got, tt.want) || added != tt.added || p.prompts() != len(tt.says) {
				t.Errorf("answer = %+v, %v after %d prompts, added %d times, want %+v, %d and %d:\n%s", got, err, p.prompts(), added, tt.want, len(tt.says), tt.added, p.shown.String())
			}
			for _, want := range tt.shows {
				if !strings.Contains(p.shown.String(), want) {
					t.Errorf("shown = %s\nwant %q in it", p.shown.String(), want)
				}
			}
			if tt.name != "in the project" {
				return
			}
			if got, err := a.approve(t.Context(), q); err != nil || !got.Yes || p.prompts() != len(tt.says) {
				t.Errorf("the same again: %+v, %v after %d prompts, want a yes without one", got, err, p.prompts())
			}
			p.says, q.rules = []string{"n\n"}, []tool.Rule{rules[0], {Verdict: tool.Allow, Tool: "put_note", Capability: tool.Capability{Name: "fs.write", Target: "other"}}}
			p.gone, p.typed = false, make(chan string, 1)
			a.Term = &ui.Terminal{In: bufio.NewReader(p), Out: p}
			if got, err := a.approve(t.Context(), q); err != nil || got.Yes {
				t.Errorf("more than the rule: %+v, %v, want that somebody is asked", got, err)
			}
		})
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
	answers := make(chan tool.Answer, n)
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
	if got := strings.Count(p.shown.String(), "? Call this tool?"); got != n {
		t.Errorf("asked %d times, want %d", got, n)
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(p.shown.String(), enter), enter) {
		if strings.Count(part, "? Call this tool?") > 1 {
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
	a.Screen.Add(tool.Event{Tool: "t", Data: tool.Log{Message: "before\ncassidy: fake"}}, show(a))
	done := make(chan tool.Answer, 1)
	go func() {
		got, _ := a.approve(t.Context(), questionOf(writer(), "filepath", "a"))
		done <- got
	}()
	<-p.asked
	a.Screen.Add(tool.Event{Tool: "t", Data: tool.ToolOutput{Chunk: "during"}}, show(a))
	p.typed <- "y\n"
	if got := <-done; !got.Yes {
		t.Fatalf("answer = %+v", got)
	}
	text := p.shown.String()
	if !strings.HasPrefix(text, "cassidy: t: before↵cassidy: fake\n\n? Call this tool?") || !strings.HasSuffix(text, enter+"✓ approved once\nduring") {
		t.Errorf("shown = %q, want the events before and after the question", text)
	}
}

// TestApproveWithoutTerminal checks that a question that cannot be put is a
// denial that says how to do without, and exit code 3.
func TestApproveWithoutTerminal(t *testing.T) {
	var said bytes.Buffer
	a := New(ui.NewPrinter(io.Discard, &said, noEnv), strings.NewReader("y\ny\ny\n"), &ui.Screen{})
	a.Config = filepath.Join("/home/me/.cassidy", "config.yaml")
	h, ran := hostWith(t, a)
	_, err := h.Call(t.Context(), tool.Call{Tool: "put_note", Args: value.NewDict("filepath", "a")})
	if code := a.Exit(t.Context(), err); code != 3 || *ran != 0 {
		t.Errorf("exit code = %d and it ran %d times, want 3 and 0", code, *ran)
	}
	want := "cassidy: the tool 'put_note' needs approval to use fs.write:notes/**: no terminal is available to ask\n" +
		`cassidy: hint: approve it in this run with --yes, or permanently: cassidy trust --rule '{tool: put_note, capability: "fs.write:notes/**"}'` + "\n"
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
		a := New(ui.NewPrinter(io.Discard, io.Discard, noEnv), strings.NewReader("y\n"), &ui.Screen{})
		var approver host.Approver
		app := &cli.App{Flags: Flags(), Action: func(ctx *cli.Context) (err error) {
			approver, err = a.Approver(ctx)
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
		if !gocmp.Equal(got, tt.want) || *ran != tt.ran {
			t.Errorf("%q: the call gave %q and ran %d times, want %q and %d", tt.args, got, *ran, tt.want, tt.ran)
		}
	}
}

// asAsker, in the environment, has the test binary ask about one call; see
// askProcess.
const asAsker = "CASSIDY_TEST_AS_ASKER"

// asArgument, in the environment, is the argument of that call, quoted as in Go.
const asArgument = "CASSIDY_TEST_ARGUMENT"

// askProcess calls a risky tool as a model would, with the questions on the
// terminal that the process has, and returns the exit code.
func askProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	a := New(ui.NewPrinter(os.Stdout, os.Stderr, os.LookupEnv), os.Stdin, &ui.Screen{})
	a.InputRead = os.Getenv(asAsker) == "input"
	if a.InputRead {
		if _, err := ui.ReadAll(a.In); err != nil {
			return 99
		}
	}
	h, err := host.New(&host.Options{Approver: a})
	if err == nil {
		err = h.Register(writer().Tool, func(context.Context, *value.Dict) (value.Value, error) { return "it ran", nil })
	}
	if err == nil {
		var r tool.Result
		var filepath string
		if filepath, err = strconv.Unquote(cmp.Or(os.Getenv(asArgument), `"a"`)); err != nil {
			return 98
		}
		if r, err = h.Call(ctx, tool.Call{Tool: "put_note", Args: value.NewDict("filepath", filepath)}); err == nil {
			a.Print(r.Text() + "\n")
		}
	}
	return a.Exit(ctx, err)
}
