package star

import (
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// isMain checks that a workflow's function is the file's main.
func (f *file) isMain(call *syntax.CallExpr, handler *syntax.DefStmt) error {
	if handler.Name.Name == scan.MainName {
		return nil
	}
	start, _ := call.Span()
	return errorAt(start, "the function of a workflow should be %s but got %s", scan.MainName, handler.Name.Name).
		WithHint("begin the function with: def main(…)")
}

// noMain returns the error of a workflow without main.
func (f *file) noMain() error {
	e := value.Errorf(value.Invalid, "the file has no function %s", scan.MainName).WithHint("begin the function with: def main(…)")
	e.Pos = value.Position{File: f.path}
	return e
}
