package star

import (
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// mainName is the function of a workflow.
const mainName = "main"

// isMain says whether what a workflow(…) names is the file's main.
func (f *file) isMain(call *syntax.CallExpr, handler *syntax.DefStmt) error {
	if handler.Name.Name == mainName {
		return nil
	}
	start, _ := call.Span()
	return errorAt(start, "the function of a workflow is %s, not %s", mainName, handler.Name.Name).
		WithHint("it begins with: def main(…)")
}

// noMain is the error of a workflow without its function.
func (f *file) noMain() error {
	e := value.Errorf(value.Invalid, "the file has no function %s", mainName).WithHint("it begins with: def main(…)")
	e.Pos = value.Position{File: f.path}
	return e
}
