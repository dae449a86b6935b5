package tool

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// bfclDir holds the data of the Berkeley Function Calling Leaderboard, which
// lies beside the project and is no part of it.
const bfclDir = "../../../shared/data/bfcl"

// bfclContradictions are the questions for which the data accept what their own
// schemas refuse: how many of the ways to write the call fail, and why. The
// check is not loosened for them.
var bfclContradictions = map[string]struct {
	fail   int
	reason string
}{
	"simple_python_149": {1, `company_names is a list of strings, and [["Apple"], ["Microsoft"]] is accepted`},
	"simple_python_17":  {1, "formatted is required, and may be left out"},
	"simple_python_200": {6, "fuel_efficiency is required, and may be left out, in the first way too"},
	"simple_python_307": {1, "venue is a string, and true is accepted"},
	"simple_python_358": {2, `diet has an enum with "Gluten Free", and "GF" and "gluten free" are accepted`},
	"parallel_88":       {1, "initial_velocity is required, and may be left out"},
	"multiple_76":       {1, `material has an enum with "Bronze", and "bronze" is accepted`},
}

// A bfclQuestion is one line of the data: functions, and where there is an
// answer, the calls that are right.
type bfclQuestion struct {
	id    string
	tools map[string]*Tool // by the function's name, which may be dotted
	calls []bfclCall
}

// A bfclCall holds, for each argument, the values that are accepted; "" among
// them means that it may be left out.
type bfclCall struct {
	function string
	args     *value.Dict
}

func TestBFCL(t *testing.T) {
	files := []string{"simple_python", "multiple", "parallel", "irrelevance"}
	questions, functions, calls, alternatives := 0, 0, 0, 0
	wrong := map[string][]string{}
	for _, name := range files {
		for _, q := range readBFCL(t, name) {
			questions++
			functions += len(q.tools)
			for _, call := range q.calls {
				calls++
				n, problems := checkBFCL(q.tools[call.function], call)
				alternatives += n
				if len(problems) == n {
					t.Errorf("%s: none of the %d ways to write the call passes: %v", q.id, n, problems)
				}
				wrong[q.id] = append(wrong[q.id], problems...)
			}
		}
	}
	for id, problems := range wrong {
		if known := bfclContradictions[id]; len(problems) != known.fail {
			t.Errorf("%s: %d ways to write the call fail, want %d (%s):\n%s", id, len(problems), known.fail, known.reason, strings.Join(problems, "\n"))
		}
	}
	t.Logf("%d questions, %d functions loaded, %d calls checked in %d ways; the data of %d questions contradict themselves",
		questions, functions, calls, alternatives, len(bfclContradictions))
	if questions != 240+200+200+400 {
		t.Errorf("read %d questions, want %d", questions, 240+200+200+400)
	}
}

// checkBFCL checks a call with the first accepted value of each argument, and
// then with every other accepted value in turn. It returns in how many ways it
// wrote the call, and what was refused.
func checkBFCL(tool *Tool, call bfclCall) (ways int, problems []string) {
	if tool == nil {
		return 0, []string{"there is no function " + call.function}
	}
	check := func(args *value.Dict) {
		ways++
		if _, err := tool.Check(args); err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", value.FormatJSON(args, ""), err))
		}
	}
	first := firstAccepted(call.args)
	check(first)
	for k, accepted := range call.args.All() {
		items, _ := value.Elements(accepted)
		for _, item := range items {
			for _, v := range concreteValues(item) {
				args := &value.Dict{}
				for name, other := range first.All() {
					if name != k {
						args.Put(name.(string), other)
					}
				}
				if v != omitted {
					args.Put(k.(string), v)
				}
				check(args)
			}
		}
	}
	return ways, problems
}

// omitted stands for an argument that is left out.
var omitted = value.Value("")

// firstAccepted builds the arguments of the first accepted values; what may be
// left out is, if that comes first.
func firstAccepted(args *value.Dict) *value.Dict {
	d := &value.Dict{}
	for k, accepted := range args.All() {
		items, _ := value.Elements(accepted)
		if len(items) == 0 {
			continue
		}
		if v := concreteValues(items[0])[0]; v != omitted {
			d.Put(k.(string), v)
		}
	}
	return d
}

// concreteValues turns an accepted value into values that can be passed. In an
// accepted dict each field again holds the list of its accepted values, and so
// do the dicts of a list; each alternative of a field is tried in turn.
func concreteValues(v value.Value) []value.Value {
	switch v := v.(type) {
	case *value.Dict:
		first := firstAccepted(v)
		all := []value.Value{first}
		for k, accepted := range v.All() {
			items, ok := value.Elements(accepted)
			if !ok {
				return []value.Value{v} // written out
			}
			for _, item := range items {
				for _, c := range concreteValues(item) {
					other := &value.Dict{}
					for name, x := range first.All() {
						other.Put(name.(string), x)
					}
					if c != omitted {
						other.Put(k.(string), c)
					}
					all = append(all, other)
				}
			}
		}
		return all
	case value.List:
		first, all := make(value.List, len(v)), []value.Value{}
		for i, item := range v {
			first[i] = concreteValues(item)[0]
		}
		all = append(all, first)
		for i, item := range v {
			for _, c := range concreteValues(item)[1:] {
				other := append(value.List{}, first...)
				other[i] = c
				all = append(all, other)
			}
		}
		return all
	}
	return []value.Value{v}
}

// readBFCL reads one file of questions and its answers, if there are any.
func readBFCL(t *testing.T, name string) []bfclQuestion {
	t.Helper()
	file := "BFCL_v4_" + name + ".json"
	answers := map[string][]bfclCall{}
	if name != "irrelevance" {
		for _, line := range readLines(t, filepath.Join(bfclDir, "possible_answer", file)) {
			truth, _ := line.Get("ground_truth")
			items, _ := value.Elements(truth)
			for _, item := range items {
				for function, args := range item.(*value.Dict).All() {
					answers[line.Text("id")] = append(answers[line.Text("id")], bfclCall{function.(string), args.(*value.Dict)})
				}
			}
		}
	}
	var questions []bfclQuestion
	for _, line := range readLines(t, filepath.Join(bfclDir, file)) {
		q := bfclQuestion{id: line.Text("id"), tools: map[string]*Tool{}, calls: answers[line.Text("id")]}
		functions, _ := line.Get("function")
		items, _ := value.Elements(functions)
		for _, item := range items {
			f := item.(*value.Dict)
			schema, _ := f.Get("parameters")
			params, err := ParamsFromSchema(schema.(*value.Dict))
			if err != nil {
				t.Errorf("%s: %s: %v", q.id, f.Text("name"), err)
				continue
			}
			for _, p := range params {
				if !knownDeep(p.Type) {
					t.Errorf("%s: %s: the type of %s is not known: %s", q.id, f.Text("name"), p.Name, p.Type)
				}
			}
			q.tools[f.Text("name")] = &Tool{Name: f.Text("name"), Description: f.Text("description"), Params: params}
		}
		questions = append(questions, q)
	}
	return questions
}

func knownDeep(t Type) bool {
	for _, inner := range []*Type{t.Items, t.Values} {
		if inner != nil && !knownDeep(*inner) {
			return false
		}
	}
	for _, f := range t.Fields {
		if !knownDeep(f.Type) {
			return false
		}
	}
	return t.Known()
}

// readLines reads a file with one JSON object a line.
func readLines(t *testing.T, path string) (lines []*value.Dict) {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("the BFCL data are not beside the project: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		v, err := value.ParseJSON(s.Bytes())
		if err != nil {
			t.Fatalf("%s:%d: %v", path, len(lines)+1, err)
		}
		lines = append(lines, v.(*value.Dict))
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}
