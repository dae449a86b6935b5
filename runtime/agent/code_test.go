package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// coded makes a model decide by programs.
func coded(s *stage, o *agent.Options) {
	if err := agent.RegisterCode(s.Host); err != nil {
		s.t.Fatal(err)
	}
	if o.Format == "" {
		o.Format = decision.Code
	}
}

// program is a reply with one.
func program(lines ...string) string {
	return "```starlark\n" + strings.Join(lines, "\n") + "\n```"
}

func TestTranscriptsOfPrograms(t *testing.T) {
	t.Parallel()
	run(t, []transcript{{
		name: "code", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, before: coded, process: true, replies: play{
			"I count the lines.\n\n" + program(`lines = 0`, `for name in ["a.txt", "b.txt"]:`, `    lines += len(read_file(filepath = name).splitlines())`, `print("counted")`, `lines`),
			"TASK COMPLETE: there are three",
		}},
		check: func(t *testing.T, s *stage, _ *agent.Reply) {
			for _, m := range s.session.Messages() {
				if strings.Contains(m.Text, "second") {
					t.Errorf("what the program read is in the conversation: %s", m.Text)
				}
			}
		},
	}, {
		name: "code_fails", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, before: coded, process: true, approve: host.ApproveAll(), replies: play{
			program(`text = read_file(filepath = "a.txt")`, `write_file(filepath = "c.txt", content = text)`, `print("copied")`, `fields = text.split("\n")`, `fields[17]`),
			program(`names = ["a.txt", "none.txt"]`, `def size(name):`, `    return len(read_file(name))`, ``, `sizes = [size(name) for name in names]`),
			program(`[attempt(read_file, filepath = name)["ok"] for name in ["a.txt", "none.txt"]]`),
			done,
		}},
		check: func(t *testing.T, s *stage, _ *agent.Reply) {
			if !strings.Contains(s.file("c.txt"), "second") {
				t.Errorf("c.txt = %q, want it written before the program failed", s.file("c.txt"))
			}
		},
	}, {
		name: "code_refused", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, before: coded, approve: host.ApproverFunc(no), replies: play{
			program(`for i in range(1000):`, `    attempt(write_file, filepath = "n%d.txt" % i, content = "x")`), done,
		}},
		check: func(t *testing.T, s *stage, r *agent.Reply) {
			if s.file("n0.txt") != "none" || len(r.Calls) != 1 || r.Calls[0].Success {
				t.Errorf("n0.txt = %q, calls = %+v; want the program ended after three refusals", s.file("n0.txt"), r.Calls)
			}
		},
	}, {
		name: "code_as_a_tool", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, before: coded, options: agent.Options{Format: decision.PureJSON, Tools: []string{"read_file", "execute_code"}}, replies: play{
			call("execute_code", "code", `len(read_file("b.txt"))`), program("read_file(filepath = 'a.txt')") + "\n\n" + done,
		}},
	}, {
		name: "code_reminded", reason: agent.ReasonFinal,
		setting: setting{files: twoFiles, before: coded, native: true, replies: play{"I would read a.txt.", done}},
	}})
}

// TestWhatAModelIsToldOfItsProgram checks what comes back of programs that do not
// end well.
func TestWhatAModelIsToldOfItsProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, code string
		kind       value.Kind
		has        []string
		not        string
	}{
		{"Python", "import os\nx = [n for n in os.listdir('.')]\nprint(f'{x}')", value.Invalid, []string{"line 1: ", "\nline 3: ", "No tool was called."}, "of your program"},
		{"no program", "x = (", value.Invalid, []string{"No tool was called."}, ""},
		{"its own fault", "x = 1\n\nx[3]", value.Internal, []string{"line 3 of your program: ", "\n    x[3]\n"}, ""},
		{"in a function", "def f():\n    fail('no')\n\nf()", value.Failed, []string{"line 2 of your program: no\n    fail('no')\n"}, ""},
		{"a call", "print('so far')\nread_file('a.txt')\nread_file('x.txt')\nread_file('b.txt')", value.Failed, []string{
			"File not found: x.txt", "\n1. read_file(filepath = \"a.txt\") ok\n2. read_file(filepath = \"x.txt\") failed: File not found: x.txt\n", "\n\nIt printed:\nso far"}, "b.txt"},
		{"no end", "for i in range(1000000000):\n    pass", value.Limit, []string{"steps", "No tool was called."}, ""},
		{"a long result", "'x' * 2000000", value.Limit, []string{"the result is"}, ""},
		{"a long error", "fail('x' * 9000)", value.Failed, []string{"line 1 of your program: xxx", "x…", "\n\nNo tool was called."}, ""},
		{"a long way", "for i in range(25):\n    print('p' * 90)\n    attempt(read_file, 'x' * 500)\nfail('y' * 9000)", value.Failed, []string{
			"of your program: yyy", "the program made 25 calls", "\n6. read_file(", "\n25. read_file(", "\nIt printed:\nppp", "more lines: print less]"}, "\n5. "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{files: twoFiles, before: coded})
			_, err := s.Call(context.Background(), tool.Call{Tool: "execute_code", Args: value.NewDict("code", c.code), Caller: tool.ByPerson})
			if value.KindOf(err) != c.kind {
				t.Fatalf("it failed with %v, a %s, want one of kind %s", err, value.KindOf(err), c.kind)
			}
			for _, want := range c.has {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("it failed with %v, want %q in it", err, want)
				}
			}
			if c.not != "" && strings.Contains(err.Error(), c.not) {
				t.Errorf("it failed with %v, want no %q in it", err, c.not)
			}
		})
	}
}

// TestProgramsThatWait checks that what is no failure of a program is passed up as
// it is.
func TestProgramsThatWait(t *testing.T) {
	t.Parallel()
	unrecorded := value.Errorf(value.Conflict, "another effect")
	unrecorded.Limit = value.LimitRecord
	for _, want := range []*value.Error{value.Errorf(value.Parked, "nobody is there"), unrecorded} {
		s := newStage(t, setting{before: coded})
		err := s.Register(tool.Tool{Name: "wait", Description: "Wait."}, func(context.Context, *value.Dict) (value.Value, error) { return nil, want })
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Call(context.Background(), tool.Call{Tool: "execute_code", Args: value.NewDict("code", "attempt(wait)\n1"), Caller: tool.ByPerson})
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != want.Kind || e.Limit != want.Limit || e.Message() != want.Message() {
			t.Errorf("a call that ends with %v ends its program with %v", want, err)
		}
	}
}

// TestOnlyTheCallersTools checks what a program may do: what its model may, and
// nothing by itself.
func TestOnlyTheCallersTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, code, want string }{
		{"offered", `len(read_file("a.txt"))`, "RESULT (execute_code):\n26"},
		{"by the module", `len(tools.read_file(filepath = "a.txt"))`, "RESULT (execute_code):\n26"},
		{"several at a time", `[r["ok"] for r in tools.call_all([("read_file", {"filepath": n}) for n in ["a.txt", "x.txt"]])]`, "[true, false]"},
		{"not offered", `tools.call("list_files")`, "list_files"},
		{"itself", `tools.call("execute_code", code = "1")`, "execute_code"},
		{"an effect", `fs.read("a.txt")`, "fs.read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{files: twoFiles, before: coded, options: agent.Options{Tools: []string{"read_file"}}, replies: play{program(c.code), done}})
			r, err := s.turn(context.Background(), "do it")
			if err != nil || len(r.Calls) != 1 {
				t.Fatalf("the turn gave %+v, %v", r, err)
			}
			allowed := strings.HasPrefix(c.want, "RESULT") || strings.HasPrefix(c.want, "[")
			told := s.session.Messages()[2].Text
			if r.Calls[0].Success != allowed || !strings.Contains(strings.ReplaceAll(told, "  ", ""), c.want) {
				t.Errorf("success = %v, want %v, and the model is told %q, want %q in it", r.Calls[0].Success, allowed, told, c.want)
			}
			if !allowed && !strings.Contains(told, "may not") {
				t.Errorf("the model is told %q, want it refused", told)
			}
		})
	}
}

// TestWhoIsOfferedPrograms checks that execute_code is there where it is asked
// for alone.
func TestWhoIsOfferedPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format decision.Format
		words  []string
		want   bool
	}{
		{decision.PureJSON, []string{"auto"}, false}, {decision.PureJSON, []string{"@context"}, false}, {decision.PureJSON, []string{"read_file"}, false},
		{decision.PureJSON, []string{"auto", "execute_code"}, true}, {decision.XMLJSON, []string{"execute-code"}, true},
		{decision.Code, []string{"auto"}, true}, {decision.Code, []string{"read_file"}, true}, {decision.Code, []string{"execute_code"}, true}, {decision.Code, []string{}, false},
	} {
		s := newStage(t, setting{before: func(s *stage, o *agent.Options) {
			o.Format, o.Tools = c.format, c.words
			if err := agent.Register(s.Host, func() (*agent.Options, error) { return o, nil }); err != nil {
				t.Fatal(err)
			}
			coded(s, o)
		}})
		n := 0
		for _, x := range s.session.Agent().Tools() {
			if x.Name == "execute_code" {
				n++
			}
		}
		if n > 1 || n == 1 != c.want {
			t.Errorf("format %s, tools %q: execute_code is offered %d times, want %v", c.format, c.words, n, c.want)
		}
	}
	s := newStage(t, setting{})
	_, err := agent.New(s.Host, &agent.Options{Model: s.model(false, nil), Format: decision.Code})
	if value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "needs the tool execute_code, which is not registered") {
		t.Errorf("without the tool, New gave %v", err)
	}
}

// TestProgramsOfNobody checks that a program can be run without an agent, and
// that what two of them do at a time is kept apart.
func TestProgramsOfNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{files: twoFiles, before: coded, process: true})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			code := fmt.Sprintf("print('p%d')\nfor i in range(30):\n    read_file(filepath = 'a.txt', limit = %d)\n", i, i+1)
			if i%2 == 1 {
				code += "fail('enough')"
			}
			r, err := s.Call(context.Background(), tool.Call{Tool: "execute_code", Args: value.NewDict("code", code), Caller: tool.ByPerson})
			if i%2 == 0 {
				if d, _ := r.Value.(*value.Dict); err != nil || d.Text("output") != fmt.Sprintf("p%d", i) {
					t.Errorf("program %d gave %v, %v, want what it printed", i, r.Value, err)
				}
				return
			}
			mine := fmt.Sprintf(`11. read_file(filepath = "a.txt", limit = %d) ok`, i+1)
			if err == nil || strings.Count(err.Error(), mine[3:]) != 20 || !strings.Contains(err.Error(), "the program made 30 calls") || !strings.Contains(err.Error(), mine) {
				t.Errorf("program %d failed with %v, want its last twenty calls", i, err)
			}
		})
	}
	all.Wait()
}

// TestWhatAProgramPrints checks how much of it a model is told.
func TestWhatAProgramPrints(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{before: coded})
	for _, c := range []struct {
		name, code, begins, ends string
		most                     int
	}{
		{"little", `print("a", 1)`, "a 1", "a 1", 3},
		{"many lines", "for i in range(100):\n    print(i)", "0\n1\n", "\n63\n[… 36 more lines: print less]", 300},
		{"lines at once", `print("x\n" * 100)`, "x\nx\n", "[… 37 more lines: print less]", 300},
		{"a long line", `print("x" * 9000)`, "[… 1 more lines: print less]", "", 100},
		{"long lines", "for i in range(20):\n    print('x' * 1000)", "xxx", "[… 12 more lines: print less]", 8300},
	} {
		r, err := s.Call(context.Background(), tool.Call{Tool: "execute_code", Args: value.NewDict("code", c.code), Caller: tool.ByPerson})
		d, _ := r.Value.(*value.Dict)
		out := d.Text("output")
		if err != nil || !strings.HasPrefix(out, c.begins) || !strings.HasSuffix(out, c.ends) || len(out) > c.most {
			t.Errorf("%s: %q, %v; want %q … %q, at most %d bytes", c.name, out, err, c.begins, c.ends, c.most)
		}
	}
}

// TestAProgramCostsOnlyItsResult compares what a model's conversation takes that
// has a hundred files read: by a program, and call by call.
func TestAProgramCostsOnlyItsResult(t *testing.T) {
	t.Parallel()
	const files = 100
	set := setting{files: map[string]string{}, options: agent.Options{Tools: []string{"read_file"}, Iterations: files + 1}}
	var single play
	for i := range files {
		name := fmt.Sprintf("f%03d.txt", i)
		set.files[name] = strings.Repeat(fmt.Sprintf("line of file %d\n", i), 20)
		single = append(single, call("read_file", "filepath", name))
	}
	used := func(set setting) int {
		s := newStage(t, set)
		r, err := s.session.Send(context.Background(), "count the lines of all files")
		if err != nil || r.Text != "2000" {
			t.Fatalf("the turn gave %+v, %v", r, err)
		}
		n, _ := s.session.Usage()
		return n
	}
	byCall := set
	byCall.replies = append(single, "TASK COMPLETE: 2000")
	byCode := set
	byCode.before = coded
	byCode.replies = play{
		program(`n = 0`, `for i in range(100):`, `    n += len(read_file(filepath = "f" + ("00" + str(i))[-3:] + ".txt").strip().splitlines())`, `n`),
		"TASK COMPLETE: 2000",
	}
	n, m := used(byCode), used(byCall)
	t.Logf("code: %d tokens, call by call: %d tokens", n, m)
	if n*10 >= m {
		t.Errorf("a program takes %d tokens, and the same call by call %d: want less than a tenth", n, m)
	}
}
