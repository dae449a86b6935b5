package star

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/lib/time"
	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/starlarktest"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// suiteDiffers lists the chunks of go.starlark.net's own tests with different results,
// by file and first line, with the reason.
var suiteDiffers = map[string]string{
	"builtins.star:233": "fail() without a message: an error without a text gets one, as a model is to read it",
	"errors.star:138":   "an unclosed bracket: the error is at the bracket",
	"errors.star:27":    atToken,
	"errors.star:42":    atToken,
	"errors.star:86":    atToken,
	"errors.star:94":    atToken,
	"errors.star:160":   atToken,
}

// suiteSkipped lists the files that are not run, with the reason.
var suiteSkipped = map[string]string{
	"proto.star": "needs the protocol buffer module and its schema, which no script is given",
}

// atToken is why a chunk is listed in [suiteDiffers].
const atToken = "the error is at the beginning of the token that it names, and not at its end"

// suiteUnchecked lists the files that go.starlark.net runs in another way. Only the two
// ways of running them here are compared.
var suiteUnchecked = map[string]bool{"benchmark.star": true, "paths.star": true, "function_param.star": true,
	"errors.star": true, "scan.star": true, "resolve.star": true}

// TestStarlarkSuite runs go.starlark.net's own test programs twice, as that project
// does and as the engine does: parsed, stripped of annotations, compiled, and run in a
// thread with its limits. Each chunk must end the same, with the same errors at the
// same positions; and once more with annotations in every function, on the same lines.
func TestStarlarkSuite(t *testing.T) {
	chunks, equal, annotated := 0, 0, 0
	for _, file := range suiteFiles(t) {
		name := filepath.Base(file)
		if why := suiteSkipped[name]; why != "" {
			t.Logf("not run: %s %s", name, why)
			continue
		}
		for _, c := range readChunks(t, file) {
			chunks++
			key := fmt.Sprintf("%s:%d", name, c.line)
			want, got := runNative(c), runOurs(c, c.text)
			if !suiteUnchecked[name] {
				c.check(t, want)
			}
			switch diff := cmp.Diff(want, got); {
			case suiteDiffers[key] != "" && diff == "":
				t.Errorf("%s comes out the same, but is listed as different", key)
			case suiteDiffers[key] != "":
				t.Logf("differs: %s %s", key, suiteDiffers[key])
				continue
			case diff != "":
				t.Errorf("%s: (-native +ours)\n%s", key, diff)
				continue
			}
			equal++
			if with, functions := c.annotated(); functions > 0 {
				annotated++
				if diff := cmp.Diff(want.lines(), runOurs(c, with).lines()); diff != "" {
					t.Errorf("%s with annotations: (-native +ours)\n%s", key, diff)
				}
			}
		}
	}
	t.Logf("%d chunks, %d equal, %d listed as different; %d again with annotations", chunks, equal, len(suiteDiffers), annotated)
	if chunks < 180 || equal+len(suiteDiffers) != chunks {
		t.Errorf("ran %d chunks, want all there are and each accounted for", chunks)
	}
}

// suiteFiles are the files of go.starlark.net's own tests.
func suiteFiles(t *testing.T) []string {
	dir := starlarkTests(t)
	if dir == "" {
		t.Skip("SKIPPED: go.starlark.net's own tests are not in the module cache")
	}
	var files []string
	for _, part := range []string{"starlark", "syntax", "resolve"} {
		found, err := filepath.Glob(filepath.Join(dir, "..", "..", part, "testdata", "*.star"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no tests of %s: %v", part, err)
		}
		files = append(files, found...)
	}
	return files
}

// SuiteChunks calls yield with each chunk that [TestStarlarkSuite] runs, with
// annotations and without.
func SuiteChunks(t *testing.T, yield func(file, text string)) {
	for _, file := range suiteFiles(t) {
		if suiteSkipped[filepath.Base(file)] != "" {
			continue
		}
		for _, c := range readChunks(t, file) {
			yield(c.file, c.text)
			if with, functions := c.annotated(); functions > 0 {
				yield(c.file, with)
			}
		}
	}
}

// SuiteModule has suite.run, which runs a chunk as [TestStarlarkSuite] does and returns
// the outcome as text. A chunk cannot be a script: it uses features that scripts do not
// have, and values that are made in Go.
func SuiteModule() tool.Module {
	text := func(name string) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}, Required: true}
	}
	return tool.Module{Name: "suite", Funcs: []tool.Func{{
		Name: "run", Kind: tool.Pure, Params: []tool.Param{text("file"), text("text")},
		Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			c := chunk{file: e.Args.Text("file"), text: e.Args.Text("text")}
			return tool.Outcome{Value: fmt.Sprintf("%q", runOurs(c, c.text))}, nil
		},
	}}}
}

// A chunk is one program of a test file, with the line numbers of the file. ### marks
// the lines of expected errors.
type chunk struct {
	file string
	text string
	line int // where it begins
	want map[int]string
}

func readChunks(t *testing.T, file string) []chunk {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var chunks []chunk
	line := 1
	for _, text := range strings.Split(string(data), "\n---\n") {
		c := chunk{file: file, text: strings.Repeat("\n", line-1) + text, line: line, want: map[int]string{}}
		for _, l := range strings.Split(text, "\n") {
			if _, pattern, ok := strings.Cut(l, "###"); ok {
				c.want[line] = strings.TrimSpace(pattern)
			}
			line++
		}
		line++
		chunks = append(chunks, c)
	}
	return chunks
}

// annotated returns the chunk with annotations in all its functions.
func (c chunk) annotated() (text string, functions int) {
	text, _, functions = annotateAll(c.file, c.text, ": int", ":list[é, x]", " : str | None")
	return text, functions
}

// check makes sure that the chunk ran natively as its authors expect. Otherwise the
// comparison means nothing.
func (c chunk) check(t *testing.T, o outcome) {
	t.Helper()
	var expected, got []int
	for line := range c.want {
		expected = append(expected, line)
	}
	for _, f := range o.Failed {
		got = append(got, f.innermost())
		pattern, err := strconv.Unquote(c.want[f.innermost()])
		if rx, bad := regexp.Compile(pattern); err != nil || bad != nil || !rx.MatchString(f.Message) {
			t.Errorf("%s:%d: natively the error %q, want one like %s", c.file, f.innermost(), f.Message, c.want[f.innermost()])
		}
	}
	slices.Sort(expected)
	if !slices.Equal(expected, got) || len(o.Asserts) > 0 {
		t.Errorf("%s:%d: natively errors in lines %v, want %v; failed assertions %v: %v", c.file, c.line, got, expected, o.Asserts, o.Failed)
	}
}

// An outcome is the result of a chunk: its error, if any, and the messages of assert.
type outcome struct {
	Failed  []failing
	Asserts []string
}

// A failing is an error with the positions of the calls that led to it, outermost
// first.
type failing struct {
	Message string
	At      []string
}

func (f failing) innermost() int {
	line, _, _ := strings.Cut(f.At[len(f.At)-1], ":")
	n, _ := strconv.Atoi(line)
	return n
}

// lines returns the outcome without columns, which annotations move.
func (o outcome) lines() outcome {
	var moved outcome
	for _, f := range o.Failed {
		g := failing{Message: f.Message}
		for _, at := range f.At {
			line, _, _ := strings.Cut(at, ":")
			g.At = append(g.At, line)
		}
		moved.Failed = append(moved.Failed, g)
	}
	for _, text := range o.Asserts {
		moved.Asserts = append(moved.Asserts, strings.Split(text, ": ")[0])
	}
	return moved
}

func (o *outcome) Error(args ...any) { o.Asserts = append(o.Asserts, fmt.Sprint(args...)) }

func (c chunk) options() *syntax.FileOptions {
	option := func(name string) bool { return strings.Contains(c.text, "option:"+name) }
	return &syntax.FileOptions{
		Set:               option("set"),
		While:             option("while"),
		TopLevelControl:   option("toplevelcontrol"),
		GlobalReassign:    option("globalreassign"),
		LoadBindsGlobally: option("loadbindsglobally"),
		Recursion:         option("recursion"),
	}
}

func runNative(c chunk) outcome {
	var o outcome
	thread := &starlark.Thread{Load: suiteLoad, Print: func(*starlark.Thread, string) {}}
	starlarktest.SetReporter(thread, &o)
	_, err := starlark.ExecFileOptions(c.options(), thread, c.file, c.text, suitePredeclared())
	var eval *starlark.EvalError
	var syn syntax.Error
	var names resolve.ErrorList
	switch {
	case errors.As(err, &eval):
		f := failing{Message: eval.Msg}
		for _, frame := range eval.CallStack {
			if frame.Pos.Filename() == c.file {
				f.At = append(f.At, fmt.Sprintf("%d:%d", frame.Pos.Line, frame.Pos.Col))
			}
		}
		o.Failed = append(o.Failed, f)
	case errors.As(err, &syn):
		o.Failed = append(o.Failed, failing{syn.Msg, []string{fmt.Sprintf("%d:%d", syn.Pos.Line, syn.Pos.Col)}})
	case errors.As(err, &names):
		o.Failed = append(o.Failed, failing{names[0].Msg, []string{fmt.Sprintf("%d:%d", names[0].Pos.Line, names[0].Pos.Col)}})
	}
	return o
}

func runOurs(c chunk, text string) outcome {
	var o outcome
	err := runOursIn(c, text, &o)
	if err == nil {
		return o
	}
	e := value.ErrorOf(err, value.Internal)
	f := failing{Message: e.Message()}
	if e.Kind == value.Failed {
		f.Message = "fail: " + f.Message
	}
	for _, call := range e.Trace {
		if at, ok := strings.CutPrefix(call, c.file+":"); ok {
			at, _, _ = strings.Cut(at, ": in ")
			f.At = append(f.At, at)
		}
	}
	if len(e.Trace) == 0 {
		f.At = []string{fmt.Sprintf("%d:%d", e.Pos.Line, e.Pos.Col)}
	}
	o.Failed = append(o.Failed, f)
	return o
}

// runOursIn is [Language.initialize] with the loads and calls of the suite.
func runOursIn(c chunk, text string, o *outcome) error {
	l := New(nil)
	l.options = c.options()
	for name, v := range suitePredeclared() {
		l.predeclared[name] = v
	}
	file, err := l.parse(c.file, text)
	if err != nil {
		return err
	}
	prog, err := starlark.FileProgram(file.syntax, l.predeclared.Has)
	if err != nil {
		return l.compileError(err)
	}
	r := &script.Run{Ctx: context.Background(), Do: whileLoading}
	r.Limits.Steps = tool.DefaultSteps
	thread := &newStarThread(r, file.path).Thread
	thread.Load = suiteLoad
	starlarktest.SetReporter(thread, o)
	globals, err := prog.Init(thread, l.predeclared)
	if err != nil {
		return scriptError(err, r.Fatal)
	}
	globals.Freeze()
	return nil
}

func suiteLoad(thread *starlark.Thread, module string) (starlark.StringDict, error) {
	switch module {
	case "assert.star":
		return starlarktest.LoadAssertModule()
	case "json.star":
		return starlark.StringDict{"json": json.Module}, nil
	case "time.star":
		return starlark.StringDict{"time": time.Module}, nil
	case "math.star":
		return starlark.StringDict{"math": math.Module}, nil
	}
	return nil, fmt.Errorf("there is no module %s", module)
}

func suitePredeclared() starlark.StringDict {
	return starlark.StringDict{
		"hasfields": starlark.NewBuiltin("hasfields", func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			return &suiteFields{attrs: starlark.StringDict{}}, nil
		}),
		"fibonacci": suiteFibonacci{},
		"struct":    starlark.NewBuiltin("struct", starlarkstruct.Make),
	}
}

// suiteFibonacci is the endless sequence that the suite iterates over.
type suiteFibonacci struct{}

func (suiteFibonacci) Freeze()                    {}
func (suiteFibonacci) String() string             { return "fib" }
func (suiteFibonacci) Type() string               { return "fib" }
func (suiteFibonacci) Truth() starlark.Bool       { return true }
func (suiteFibonacci) Hash() (uint32, error)      { return 0, errors.New("fib is unhashable") }
func (suiteFibonacci) Iterate() starlark.Iterator { return &suiteIterator{0, 1} }

type suiteIterator struct{ x, y int }

func (it *suiteIterator) Next(p *starlark.Value) bool {
	*p = starlark.MakeInt(it.x)
	it.x, it.y = it.y, it.x+it.y
	return true
}
func (it *suiteIterator) Done() {}

// suiteFields is a value with fields that can be set.
type suiteFields struct {
	attrs  starlark.StringDict
	frozen bool
}

func (hf *suiteFields) String() string        { return "hasfields" }
func (hf *suiteFields) Type() string          { return "hasfields" }
func (hf *suiteFields) Truth() starlark.Bool  { return true }
func (hf *suiteFields) Hash() (uint32, error) { return 42, nil }

func (hf *suiteFields) Freeze() {
	if !hf.frozen {
		hf.frozen = true
		hf.attrs.Freeze()
	}
}

func (hf *suiteFields) Attr(name string) (starlark.Value, error) { return hf.attrs[name], nil }

func (hf *suiteFields) SetField(name string, val starlark.Value) error {
	if hf.frozen {
		return errors.New("cannot set field on a frozen hasfields")
	}
	if strings.HasPrefix(name, "no") {
		return starlark.NoSuchAttrError(fmt.Sprintf("no .%s field", name))
	}
	hf.attrs[name] = val
	return nil
}

func (hf *suiteFields) AttrNames() []string { return hf.attrs.Keys() }

// Binary makes list + hasfields 42.
func (hf *suiteFields) Binary(op syntax.Token, y starlark.Value, _ starlark.Side) (starlark.Value, error) {
	if _, ok := y.(*starlark.List); ok && op == syntax.PLUS {
		return starlark.MakeInt(42), nil
	}
	return nil, nil
}
