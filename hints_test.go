package cassidy_test

import (
	"go/ast"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/hint"
)

// TestHintsForModels checks for every hint in the source that what a model gets of it has no advice
// that only a person can follow, and that what a person gets has none for programmers.
func TestHintsForModels(t *testing.T) {
	t.Parallel()
	advice := regexp.MustCompile(`cassidy [a-z-]|--[a-z]|config\.yaml|(user's|your) config|in Go,|Options\.|\bterminal\b|~/|export [A-Z]`)
	code := regexp.MustCompile(`\b(fs|data|json|http|time|shell|re|text|random|table|base64|csv|t)\.[a-z_]+\(|\b[a-z_]+ ?= ?(True|False|None|\[|\{|"|%q)`)
	mayStay := regexp.MustCompile(`git config --list|--local|--flag`) // models run these commands
	seen := 0
	for where, text := range hintsOf(t) {
		seen++
		if left := hint.For(text, hint.Models); advice.MatchString(mayStay.ReplaceAllString(left, "")) {
			t.Errorf("%s: a model gets the hint %q", where, left)
		}
		if left := hint.For(text, hint.Models); strings.HasPrefix(where, "stdlib") && code.MatchString(left) {
			t.Errorf("%s: a model gets the hint %q, which is written in a script language", where, left)
		}
		if left := hint.For(text, hint.People); strings.Contains(left, "; in Go,") {
			t.Errorf("%s: a person gets the hint %q", where, left)
		}
	}
	if seen < 500 {
		t.Errorf("%d hints found, want those of all packages", seen)
	}
}

// hintsOf returns the texts that are passed to WithHint, by file and line.
func hintsOf(t *testing.T) map[string]string {
	t.Helper()
	hints := map[string]string{}
	for _, f := range goFiles(t) {
		if f.Test || strings.HasPrefix(f.Dir, "cmd") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if fn, ok := call.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "WithHint" {
				hints[f.Where(call.Args[0])] = literal(call.Args[0])
			}
			return true
		})
	}
	return hints
}

// literal returns the text of the literals in an expression.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}
