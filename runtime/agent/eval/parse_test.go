package eval_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent/eval"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestParseFaults checks that all faults of a file are reported, each with its line.
func TestParseFaults(t *testing.T) {
	const file = `name: shop
modles: [a]
formats: [pure_jsn, markdown]
repeat: 0
limits: {timeout: 5, cots: 1}
tasks:
  - name: a/b
    task: Do it
    files: {"../x": y}
    checks:
      - answr: x
      - answer: {}
      - answer: {matches: '('}
      - file: {contains: x}
      - command: {exit_code: 300}
  - name: c
    folder: ../other
    chekcs: []
  - name: c
    task: ""
  - 7
`
	want := []string{
		"2: unknown key 'modles'; did you mean \"models\"?",
		"3: unknown format \"pure_jsn\"; did you mean \"pure_json\"?",
		"4: 'repeat' should be a number from 1 to 100 but got 0",
		"5: 'timeout' should be a positive duration but got 5",
		"5: unknown key 'cots'; did you mean \"cost\"?",
		"7: the task name \"a/b\" contains a slash or a line break",
		"9: invalid path \"../x\"",
		"11: unknown key 'answr'; did you mean \"answer\"?",
		"12: 'answer' has no condition",
		"13: 'matches' is not a regular expression: missing closing )",
		"14: the check 'file' has no key 'path'",
		"15: 'exit_code' should be a number from 0 to 255 but got 300",
		"15: the check 'command' has no key 'run'",
		"16: the task \"c\" has no key 'task'",
		"17: invalid folder \"../other\"",
		"18: unknown key 'chekcs'; did you mean \"checks\"?",
		"19: two tasks have the name \"c\"",
		"20: 'task' is empty",
		"21: 'tasks[3]' should be an object with the keys name, task and checks, but got integer",
	}
	_, err := eval.Parse("e.yaml", file)
	var faults eval.Faults
	if !errors.As(err, &faults) || !errors.Is(err, value.ErrInvalid) {
		t.Fatalf("error = %v", err)
	}
	var got []string
	for _, f := range faults {
		if f.Pos.File != "e.yaml" {
			t.Errorf("the file of %v is %q", f, f.Pos.File)
		}
		if strings.Contains(f.Message(), "unknown") && !strings.Contains(f.Hint, ", ") {
			t.Errorf("the hint of %v is %q", f, f.Hint)
		}
		got = append(got, fmt.Sprintf("%d: %s", f.Pos.Line, f.Message()))
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("missing: %s", want[i])
		case i >= len(want) || !strings.HasPrefix(got[i], want[i]):
			t.Errorf("fault %d:\n got %s\nwant %s", i, got[i], want[min(i, len(want)-1)])
		}
	}
}

// TestParseWrongFiles checks files that are no eval file at all.
func TestParseWrongFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":            "'the file' should be an object",
		"- a":         "'the file' should be an object",
		"name: x":     "'tasks' is missing",
		"tasks: []":   "the list 'tasks' is empty",
		"tasks: x":    "'tasks' should be a list of tasks",
		"tasks: [{}]": "the task has no key 'name'",
		"a: [":        "invalid YAML",
		"tasks: [{name: a, task: b, checks: [{}]}]":          "a check is empty",
		"tasks: [{name: a, task: b, files: {a: x, a/b: y}}]": `the files "a/b" and "a" cannot both exist`,
	} {
		if _, err := eval.Parse("e.yaml", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want %q", text, err, want)
		}
	}
}

// TestParse checks that a task takes what it does not set itself from the top of the file.
func TestParse(t *testing.T) {
	s := suite(t, `
tools: [read_file]
limits: {iterations: 3, cost: 1, timeout: 90s}
files: {a.txt: common, b.txt: common}
tasks:
- name: a
  task: Do it
- name: b
  task: Do it
  tools: none
  limits: {iterations: 7}
  files: {b.txt: own}
`)
	a, b := s.Tasks[0], s.Tasks[1]
	if a.Limits.Iterations != 3 || a.Limits.CostUSD != 1 || len(a.Tools) != 1 || a.Files["b.txt"] != "common" {
		t.Errorf("task a = %+v", a)
	}
	if b.Limits.Iterations != 7 || b.Limits.CostUSD != 1 || b.Limits.Timeout != a.Limits.Timeout || b.Tools == nil || len(b.Tools) != 0 ||
		b.Files["a.txt"] != "common" || b.Files["b.txt"] != "own" {
		t.Errorf("task b = %+v", b)
	}
}

// TestOneSlipIsOneFault checks that a misspelled key is not also reported as missing.
func TestOneSlipIsOneFault(t *testing.T) {
	_, err := eval.Parse("e.yaml", "taks: []")
	if err == nil || strings.Contains(err.Error(), "missing") {
		t.Errorf("taks: %v", err)
	}
	_, err = eval.Parse("e.yaml", "tasks: [{nam: a, tsk: b, checks: [{answer: {contain: x}}]}]")
	var faults eval.Faults
	if !errors.As(err, &faults) || len(faults) != 3 {
		t.Errorf("%d faults, want one for each slip: %v", len(faults), err)
	}
}
