package scripttest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/callback"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// moduleName is the module that a test gets as its parameter.
const moduleName = "t"

// A row is a function of t.
type row struct {
	tool.Func
	do func(ctx context.Context, x *test, args *value.Dict) (tool.Outcome, error)
}

// Module describes the functions of t, for those who check or show test files. Their Do only checks the
// arguments. Some arguments may be missing.
func Module() tool.Module {
	m := testModules(nil)[0]
	for i := range m.Funcs {
		m.Funcs[i].Do = func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			return tool.Outcome{}, checkArguments(m.Funcs[i].Name, e.Args)
		}
	}
	return m
}

// testModules returns the module t, and the effect with which the engine returns the results of
// functions.
func testModules(s *slot) []tool.Module {
	m := tool.Module{Name: moduleName, Doc: "Tests: fakes of effects, calls, and checks of results. Only functions of test files have it, as their parameter t."}
	for _, r := range rows() {
		f, do := r.Func, r.do
		f.Kind = tool.Recorded
		f.Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			x, err := s.running()
			if err == nil && g.Call.ID != x.id {
				err = value.Errorf(value.Denied, "t is only available in the functions of test files")
			}
			if err == nil {
				err = checkArguments(f.Name, e.Args)
			}
			if err != nil {
				return tool.Outcome{}, err
			}
			return do(ctx, x, e.Args)
		}
		m.Funcs = append(m.Funcs, f)
	}
	result := callback.Row()
	result.Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		x, err := s.running()
		if err == nil && g.Call.ID != x.id {
			err = value.Errorf(value.Denied, "no function of the script was called")
		}
		if err != nil {
			return tool.Outcome{}, err
		}
		return x.call(ctx, e.Args)
	}
	return []tool.Module{m, {Name: callback.Module, Funcs: []tool.Func{result}}}
}

// define returns a row that sets fakes. It fails while a call is running, so that no fake changes
// while it is used.
func define(name, doc string, params []tool.Param, set func(x *test, args *value.Dict) error) row {
	return row{tool.Func{Name: name, Doc: doc, Params: params, Returns: "nothing", Callbacks: true}, func(_ context.Context, x *test, args *value.Dict) (tool.Outcome, error) {
		if err := x.idle("change fakes"); err != nil {
			return tool.Outcome{}, err
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		return tool.Outcome{}, set(x, args)
	}}
}

func dictParam(name, doc string) []tool.Param {
	return []tool.Param{tool.Required(name, tool.TypeObject, doc)}
}

const results = "a value, a list of values for one use after another, or a function"

// rows returns the functions of t.
func rows() []row { return slices.Concat(fakeRows(), callRows(), checkRows()) }

// fakeRows returns the functions that set fakes.
func fakeRows() []row {
	files := tool.Optional("files", tool.TypeObject, &value.Dict{}, "texts or bytes by the paths of files; a path that ends in / is an empty folder")
	from := tool.Optional("folder", tool.TypeString, "", "a folder in .cassidy/tests, whose files are copied into the project")
	copied := tool.Optional("copy", tool.TypeArray, value.List{}, "files and folders of the real project that are copied to the same paths")
	copied.Type.Items = &tool.Type{Name: tool.TypeString}
	return []row{
		define("fs", "Replace the files of the project, which is a temporary folder. Then effects on files read and change these files.", []tool.Param{files, from, copied}, func(x *test, args *value.Dict) error {
			return x.setFiles(args)
		}),
		define("http", `Set the responses of servers: by "METHOD URL" or the URL, in which * stands for any text. A URL without a query fakes all queries. A response is a text, bytes, a dict with status, headers, and body or json, or a dict with error; or a list of responses, or a function of the request.`,
			dictParam("responses", results), func(x *test, args *value.Dict) error { return x.setHTTP(dictOf(args, "responses")) }),
		define("shell", `Set the results of commands: by the command line or the program, in which * stands for any text. A result is the standard output, or a dict with exit_code, stdout and stderr; or a list of results, or a function of the command.`,
			dictParam("commands", results), func(x *test, args *value.Dict) error { return x.setShell(dictOf(args, "commands")) }),
		define("effect", "Set the results of other effects by their names, such as those that a program has added, or replace those of any effect.",
			dictParam("results", results), func(x *test, args *value.Dict) error {
				x.effect = set(dictOf(args, "results"))
				return nil
			}),
		define("env", "Set environment variables. None means that a variable is not set.", dictParam("variables", "values by name"), func(x *test, args *value.Dict) error {
			return x.setEnv(dictOf(args, "variables"))
		}),
		define("secret", "Set secrets. A tool gets a placeholder, and so do the fakes of http. None means that a secret has no value.", dictParam("values", "values by name, of at least 8 bytes"), func(x *test, args *value.Dict) error {
			return x.setSecrets(dictOf(args, "values"))
		}),
		define("clock", "Set the time that tools see. It does not advance by itself: time.sleep advances it, without waiting.", []tool.Param{tool.Required("time", tool.TypeString, "a time as in RFC 3339")}, func(x *test, args *value.Dict) error {
			now, err := time.Parse(time.RFC3339Nano, args.Text("time"))
			x.now = now
			return err
		}),
		define("random", "Set the seed of random numbers.", []tool.Param{tool.Required("seed", tool.TypeInteger, "the seed")}, func(x *test, args *value.Dict) error {
			seed := args.Int("seed")
			x.seed = &seed
			return nil
		}),
		define("model", "Set the replies of the model, for model.ask. A reply is a text, or a function of the messages.", []tool.Param{tool.Required("replies", tool.TypeAny, "a list of replies, or one function")}, func(x *test, args *value.Dict) error {
			v, _ := args.Get("replies")
			x.fakes.model = &fake{key: "model", v: v}
			return nil
		}),
		define("answer", "Set the answers to the next questions of human.ask and human.confirm.", []tool.Param{tool.Required("answers", tool.TypeAny, "a text or a bool, or a list of answers")}, func(x *test, args *value.Dict) error {
			v, _ := args.Get("answers")
			if list, ok := value.Elements(v); ok {
				x.answers = append(x.answers, list...)
			} else {
				x.answers = append(x.answers, v)
			}
			return nil
		}),
		define("replay", "Take the results of effects from a fixture in .cassidy/tests: from one that cassidy test --record writes, or one of cassidy runs export.", []tool.Param{tool.Required("file", tool.TypeString, "the name of the fixture")}, func(x *test, args *value.Dict) error {
			return x.setReplay(args.Text("file"))
		}),
	}
}

// callRows returns the functions that call tools, workflows and functions of the test.
func callRows() []row {
	name := tool.Required("name", tool.TypeString, "the name of the tool")
	match := tool.Optional("match", tool.TypeString, "", "a regular expression that must match a part of the error")
	errorType := tool.Optional("error_type", tool.TypeString, "", "the expected type of the error, such as validation_error")
	advice := tool.Optional("hint", tool.TypeString, "", "a regular expression that must match a part of the hint")
	what := tool.Required("what", tool.TypeAny, "the name of a tool, or a function without parameters")
	return []row{
		{tool.Func{Name: "call", Doc: "Call a tool, and return its result. If the call fails, the test fails.", Params: []tool.Param{name}, Rest: "args", Returns: "the result of the tool", Callbacks: true}, func(ctx context.Context, x *test, args *value.Dict) (tool.Outcome, error) {
			return x.begin(ctx, x.caller(args.Text("name"), dictOf(args, "args")), x.succeed(args.Text("name")))
		}},
		{tool.Func{Name: "run", Doc: "Run a workflow, and return its result. If it fails, the test fails.", Params: []tool.Param{tool.Required("workflow", tool.TypeString, "the name of the workflow")}, Rest: "args", Returns: "the result of the workflow", Callbacks: true}, func(ctx context.Context, x *test, args *value.Dict) (tool.Outcome, error) {
			name := args.Text("workflow")
			return x.begin(ctx, x.runner(name, dictOf(args, "args")), x.succeed(name))
		}},
		{tool.Func{Name: "fails", Doc: "Call a tool, or a function, that must fail.", Params: []tool.Param{what, match, errorType, advice}, Rest: "args", Returns: `a dict {"error", "error_type", "hint"}`, Callbacks: true}, func(ctx context.Context, x *test, args *value.Dict) (tool.Outcome, error) {
			return x.expectFailure(ctx, args, nil)
		}},
		{tool.Func{Name: "denied", Doc: "Call a tool, or a function, that must be refused: because of the needs of the tool, or by the sandbox.", Params: []tool.Param{what, match}, Rest: "args", Returns: `a dict {"error", "error_type", "hint"}`, Callbacks: true}, func(ctx context.Context, x *test, args *value.Dict) (tool.Outcome, error) {
			return x.expectFailure(ctx, args, []string{value.Denied.Type(), value.Security.Type()})
		}},
		{tool.Func{Name: "table", Doc: "Call a function with each case of a list. All cases run, even if one fails.", Params: []tool.Param{
			tool.Required("cases", tool.TypeArray, "the cases; a dict may have a name"), tool.Required("check", tool.TypeAny, "a function of a case"),
		}, Returns: "nothing", Callbacks: true}, func(ctx context.Context, x *test, args *value.Dict) (tool.Outcome, error) {
			check, _ := args.Get("check")
			fn, ok := callback.Of(check)
			if !ok {
				return tool.Outcome{}, value.Errorf(value.Invalid, "argument 'check' should be a function but got %s", value.TypeOf(check))
			}
			return x.table(fn, args.Elements("cases"), 0, nil)
		}},
	}
}

// checkRows returns the functions that check and return results, effects and files.
func checkRows() []row {
	return []row{
		{tool.Func{Name: "eq", Doc: "Fail unless two values are equal, and show the difference.", Params: []tool.Param{
			tool.Required("got", tool.TypeAny, "the value"), tool.Required("want", tool.TypeAny, "the expected value"), tool.Optional("message", tool.TypeString, "", "a text before the difference"),
		}, Returns: "nothing"}, func(_ context.Context, _ *test, args *value.Dict) (tool.Outcome, error) {
			got, _ := args.Get("got")
			want, _ := args.Get("want")
			if same(got, want) {
				return tool.Outcome{}, nil
			}
			text := "the values differ"
			if m := args.Text("message"); m != "" {
				text = m
			}
			return tool.Outcome{}, value.Errorf(value.Failed, "%s (-want +got):\n%s", text, Diff(want, got))
		}},
		{tool.Func{Name: "golden", Doc: "Compare a value with a file in .cassidy/tests, which cassidy test --update writes.", Params: []tool.Param{
			tool.Required("name", tool.TypeString, "the name of the file"), tool.Required("value", tool.TypeAny, "the value"),
		}, Returns: "nothing"}, func(_ context.Context, x *test, args *value.Dict) (tool.Outcome, error) {
			v, _ := args.Get("value")
			return tool.Outcome{}, x.golden(args.Text("name"), v)
		}},
		{tool.Func{Name: "effects", Doc: "Return the effects of the calls so far, in order.", Params: []tool.Param{
			tool.Optional("func", tool.TypeString, "", "only the effects with this name, such as http.get, or of this module, such as http"),
		}, Returns: `a list of dicts {"func", "args", "tool"}; args has no arguments that are the default`}, func(_ context.Context, x *test, args *value.Dict) (tool.Outcome, error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			list := value.List{}
			for _, e := range x.effects {
				if of, name := args.Text("func"), e.(*value.Dict).Text("func"); of == "" || of == name || strings.HasPrefix(name, of+".") {
					list = append(list, e)
				}
			}
			return tool.Outcome{Value: list}, nil
		}},
		{tool.Func{Name: "read", Doc: "Read a file of the project.", Params: []tool.Param{tool.Required("path", tool.TypeString, "the path of the file")}, Returns: "the text, or bytes if the file is not text"}, func(_ context.Context, x *test, args *value.Dict) (tool.Outcome, error) {
			v, err := x.readFile(args.Text("path"))
			return tool.Outcome{Value: v}, err
		}},
		{tool.Func{Name: "files", Doc: "List the files of the project.", Returns: "the paths, sorted"}, func(_ context.Context, x *test, _ *value.Dict) (tool.Outcome, error) {
			v, err := x.listFiles()
			return tool.Outcome{Value: v}, err
		}},
		{tool.Func{Name: "dir", Doc: "Return the path of the project's folder.", Returns: "the path"}, func(_ context.Context, x *test, _ *value.Dict) (tool.Outcome, error) {
			return tool.Outcome{Value: x.slot.project()}, nil
		}},
	}
}

func dictOf(args *value.Dict, name string) *value.Dict {
	v, _ := args.Get(name)
	d, _ := v.(*value.Dict)
	return d.OrEmpty()
}

// onlyValues fails if an argument is or contains a function.
func onlyValues(name string, args *value.Dict) error {
	for k, v := range args.All() {
		if hasFunction(v) {
			return value.Errorf(value.Invalid, "argument '%v' of %s contains a function, but tools and workflows accept only data", k, name).
				WithHint("pass the result of the function")
		}
	}
	return nil
}

// hasFunction reports whether a value is or contains a function of the script.
func hasFunction(v value.Value) bool {
	if _, ok := callback.Of(v); ok {
		return true
	}
	if d, ok := v.(*value.Dict); ok {
		for _, item := range d.All() {
			if hasFunction(item) {
				return true
			}
		}
		return false
	}
	items, _ := value.Elements(v)
	return slices.ContainsFunc(items, hasFunction)
}

// caller returns a function that calls a tool. A call that the test cannot make, such as that of an
// untrusted tool, is a mistake of the test.
func (x *test) caller(name string, args *value.Dict) func(context.Context) (tool.Result, error) {
	return func(ctx context.Context) (tool.Result, error) {
		if err := x.slot.suite.files.refusal(name, false); err != nil {
			return tool.Result{}, x.invalidate(err)
		}
		if _, err := x.slot.host.Tool(name); err != nil {
			return tool.Result{}, x.invalidate(err)
		}
		if err := x.prepare(ctx, Recording{Name: name, Args: args}); err != nil {
			return tool.Result{}, x.invalidate(err)
		}
		return x.slot.host.Call(ctx, tool.Call{Tool: name, Args: args, Caller: tool.ByPerson})
	}
}

// runner returns a function that runs a workflow. It is like [test.caller].
func (x *test) runner(name string, args *value.Dict) func(context.Context) (tool.Result, error) {
	return func(ctx context.Context) (tool.Result, error) {
		if err := x.slot.suite.files.refusal(name, true); err != nil {
			return tool.Result{}, x.invalidate(err)
		}
		if err := x.checkWorkflow(ctx, name); err != nil {
			return tool.Result{}, x.invalidate(err)
		}
		if err := x.prepare(ctx, Recording{Name: name, Workflow: true, Args: args}); err != nil {
			return tool.Result{}, x.invalidate(err)
		}
		return x.slot.host.Run(ctx, name, args)
	}
}

// checkWorkflow fails if there is no workflow with the name, or if its file is invalid.
func (x *test) checkWorkflow(ctx context.Context, name string) error {
	w, err := project.FindWorkflow(x.slot.suite.source(), &trust.Scope{TrustOnce: true}, name)
	if err != nil {
		return err
	}
	return w.Describe(ctx, x.slot.host.Describe)
}

// prepare checks the arguments of a call, and records the call if the test records a fixture.
func (x *test) prepare(ctx context.Context, r Recording) error {
	if err := onlyValues(r.Name, r.Args); err != nil {
		return err
	}
	return x.record(ctx, r)
}

// refuseCalls fails if an effect would call a tool that a test cannot use. That is a mistake of the
// test, even if the tool that requests the effect expects the error.
func (x *test) refuseCalls(e tool.Effect) error {
	names := []value.Value{e.Args.Text("name")}
	for _, c := range e.Args.Elements("calls") {
		if parts, ok := value.Elements(c); ok && len(parts) > 0 {
			names = append(names, parts[0])
		}
	}
	for _, name := range names {
		text, _ := name.(string)
		if err := x.slot.suite.files.refusal(text, false); err != nil {
			return x.invalidate(err)
		}
	}
	return nil
}

// succeed returns the outcome of a call that must succeed.
func (x *test) succeed(name string) func(tool.Result, error) (tool.Outcome, error) {
	return func(r tool.Result, err error) (tool.Outcome, error) {
		if err != nil {
			return tool.Outcome{}, x.callFailed(name, err)
		}
		return tool.Outcome{Value: callback.Result(r.Value)}, nil
	}
}

// expectFailure calls a tool or a function that must fail, with one of the kinds of errors.
func (x *test) expectFailure(ctx context.Context, args *value.Dict, kinds []string) (tool.Outcome, error) {
	pattern, err := regexp.Compile(args.Text("match"))
	if err != nil {
		return tool.Outcome{}, err
	}
	advice, err := regexp.Compile(args.Text("hint"))
	if err != nil {
		return tool.Outcome{}, err
	}
	wantType := args.Text("error_type")
	check := func(name string, v value.Value, failure error) (tool.Outcome, error) {
		if failure == nil {
			return tool.Outcome{}, value.Errorf(value.Failed, "%s should fail but returned %s", name, brief(v))
		}
		e := value.ErrorOf(failure, value.Failed)
		switch {
		case kinds != nil && !slices.Contains(kinds, e.Kind.Type()):
			return tool.Outcome{}, value.Errorf(value.Failed, "%s should be denied but failed with another error: %s: %s", name, e.Kind.Type(), e.Message())
		case !pattern.MatchString(e.Message()):
			return tool.Outcome{}, value.Errorf(value.Failed, "the error of %s does not match %q: %s: %s", name, pattern, e.Kind.Type(), e.Message())
		case wantType != "" && wantType != e.Kind.Type():
			return tool.Outcome{}, value.Errorf(value.Failed, "the error of %s should have the type %s: %s: %s", name, wantType, e.Kind.Type(), e.Message())
		case !advice.MatchString(e.Hint):
			return tool.Outcome{}, value.Errorf(value.Failed, "the hint of %s does not match %q: %q", name, advice, e.Hint)
		}
		return tool.Outcome{Value: value.NewDict("error", e.Message(), "error_type", e.Kind.Type(), "hint", e.Hint)}, nil
	}
	what, _ := args.Get("what")
	if fn, ok := callback.Of(what); ok {
		x.frames = append(x.frames, func(_ context.Context, v value.Value, failure error) (tool.Outcome, error) {
			if missing := x.unfaked(); missing != nil {
				return tool.Outcome{}, missing
			}
			return check("the function", v, failure)
		})
		return tool.Outcome{Value: callback.Request{Func: fn}.Value()}, nil
	}
	name, ok := what.(string)
	if !ok {
		return tool.Outcome{}, value.Errorf(value.Invalid, "argument 'what' should be a function or the name of a tool but got %s", value.TypeOf(what))
	}
	return x.begin(ctx, x.caller(name, dictOf(args, "args")), func(r tool.Result, err error) (tool.Outcome, error) {
		return check(name, r.Value, err)
	})
}

// maxFailed is how many failed cases of a table an error shows.
const maxFailed = 20

// table calls a function with the cases from i on.
func (x *test) table(fn callback.Func, cases []value.Value, i int, failed []string) (tool.Outcome, error) {
	if i == len(cases) {
		if len(failed) == 0 {
			return tool.Outcome{}, nil
		}
		text := strings.Join(failed[:min(len(failed), maxFailed)], "\n")
		if more := len(failed) - maxFailed; more > 0 {
			text += fmt.Sprintf("\n(%d more)", more)
		}
		return tool.Outcome{}, value.Errorf(value.Failed, "%d of %d cases failed:\n%s", len(failed), len(cases), text)
	}
	x.frames = append(x.frames, func(_ context.Context, _ value.Value, failure error) (tool.Outcome, error) {
		if missing := x.unfaked(); missing != nil {
			return tool.Outcome{}, missing // the other cases would only repeat it
		}
		if failure != nil {
			failed = append(failed, fmt.Sprintf("%s: %s", caseName(cases[i], i), value.ErrorOf(failure, value.Failed).Message()))
		}
		return x.table(fn, cases, i+1, failed)
	})
	return tool.Outcome{Value: callback.Request{Func: fn, Args: cases[i : i+1]}.Value()}, nil
}

// caseName names a case of a table.
func caseName(c value.Value, i int) string {
	if d, ok := c.(*value.Dict); ok {
		if name := d.Text("name"); name != "" {
			return name
		}
	}
	return fmt.Sprintf("case %d, %s", i+1, brief(c))
}

// brief returns the beginning of a value.
func brief(v value.Value) string {
	text := []rune(value.FormatJSON(v, ""))
	if len(text) > 100 {
		return string(text[:100]) + "…"
	}
	return string(text)
}
