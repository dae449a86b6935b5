package main

import (
	"go/ast"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/internal/sourcetest"
)

// TestMarksOnce checks that no text is made visible before it is passed to a function that does so
// itself: the marks in it would be marked again.
func TestMarksOnce(t *testing.T) {
	t.Parallel()
	messages := []string{"Note", "Log", "Debug", "Errorf", "WithHint", "MarkUntrusted"} // errors are shown by Report
	marks := []string{"Visible", "VisibleLine", "Brief"}
	seen := 0
	files, err := sourcetest.Files("../internal")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains(messages, calledName(call)) {
				return true
			}
			seen++
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					if inner, ok := n.(*ast.CallExpr); ok && slices.Contains(marks, calledName(inner)) {
						t.Errorf("%s: %s gets a text of %s, and marks it again", f.Where(inner), calledName(call), calledName(inner))
					}
					return true
				})
			}
			return true
		})
	}
	if seen < 300 {
		t.Errorf("%d messages found, want those of all commands", seen)
	}
}

// calledName returns the name of the function or the method that is called.
func calledName(c *ast.CallExpr) string {
	switch fn := c.Fun.(type) {
	case *ast.SelectorExpr:
		return fn.Sel.Name
	case *ast.Ident:
		return fn.Name
	}
	return ""
}
