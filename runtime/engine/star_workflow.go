package engine

import (
	"cmp"

	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// The words that declare what a Starlark file is. A workflow has the fields of
// a tool; its function is main.
const (
	toolWord     = "tool"
	workflowWord = "workflow"
	mainName     = "main"
)

// workflowGroup is the group of a workflow that names none.
const workflowGroup = "workflow"

// isMain says whether what a workflow(…) names is the file's main.
func (f *starFile) isMain(call *syntax.CallExpr, handler *syntax.DefStmt) error {
	if handler.Name.Name == mainName {
		return nil
	}
	start, _ := call.Span()
	return errorAtStar(start, "the function of a workflow is %s, not %s", mainName, handler.Name.Name).
		WithHint("it begins with: def main(…)")
}

// noMain is the error of a workflow without its function.
func (f *starFile) noMain() error {
	e := tool.Errorf(tool.Invalid, "the file has no function %s", mainName).WithHint("it begins with: def main(…)")
	e.Pos = tool.Position{File: f.path}
	return e
}

// workflow makes a tool that was read a workflow, where it was declared as one:
// the hint of that name says so, and is nobody else's to give. Who runs it may
// be a person who knows what it does, so it need not say that.
func (r *fieldReader) workflow(t *tool.Tool) {
	if _, given := t.Hints.Other[workflowWord]; given {
		r.fail("hints", "the hint '%s' is given by cassidy", workflowWord)
	}
	if r.d.word != workflowWord {
		return
	}
	if t.Hints.Other == nil {
		t.Hints.Other = map[string]bool{}
	}
	t.Hints.Other[workflowWord] = true
	if !r.d.fields.Has("group") {
		t.Group = workflowGroup
	}
	t.Description = cmp.Or(t.Description, "Run the workflow '"+t.Name+"'.")
}
