package engine

import (
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Known is what is known besides a file that is checked.
type Known = lint.Known

// An Entry is a function of a file that the host calls by its name.
type Entry = lint.Entry

// A Kind says what a file is for.
type Kind = lint.Kind

// The kinds of files.
const (
	KindTool     = lint.KindTool
	KindWorkflow = lint.KindWorkflow
	KindPolicy   = lint.KindPolicy
	KindHooks    = lint.KindHooks
	KindLibrary  = lint.KindLibrary
	KindTest     = lint.KindTest
	KindScript   = lint.KindScript
)

// Check returns the faults of a file that can be found without running it, sorted by their place.
// What is not certain is no fault. Nil means a zero [Known].
func (e *Engine) Check(s tool.Script, k *Known) []diagnostic.Diagnostic {
	if k == nil {
		k = &Known{}
	}
	text := lint.NewText(s.Path, s.Source)
	lang, err := e.language(s.Path)
	if err == nil {
		err = CheckSize(s)
	}
	if err != nil {
		return text.Errors(err, diagnostic.InvalidFile)
	}
	r := lint.NewReport(text, k)
	src := script.Source{Path: s.Path, Text: s.Source, Libs: s.Libs}
	if checked, ok := lang.(lint.Language); ok {
		checked.Check(src, r)
	} else if _, err := lang.Declare(src); err != nil {
		r.AddError(err, diagnostic.InvalidFile)
	}
	r.KeepUncertainNeeds()
	return r.Close()
}

// Format returns a script in its standard format: Starlark as buildifier formats it, and the
// Starlark block of a Markdown file. It fails if the file does not parse, and for other files.
func (e *Engine) Format(s tool.Script) (string, error) {
	lang, err := e.language(s.Path)
	if err == nil {
		err = CheckSize(s)
	}
	if err != nil {
		return "", err
	}
	formatter, ok := lang.(lint.Formatter)
	if !ok {
		return "", located(value.Errorf(value.Invalid, "only Starlark can be formatted"), s.Path)
	}
	text, err := formatter.Format(script.Source{Path: s.Path, Text: s.Source})
	if err != nil {
		return "", located(err, s.Path)
	}
	return text, nil
}
