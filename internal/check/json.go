package check

import (
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// JSON describes a fault for a program. text is the text of its file.
func JSON(d *diagnostic.Diagnostic, text string) *value.Dict {
	end := diagnostic.At(d.Pos.File, text, d.Span.End)
	o := value.NewDict("file", d.Pos.File, "line", int64(d.Pos.Line), "column", int64(d.Pos.Col), "end_line", int64(end.Line), "end_column", int64(end.Col),
		"severity", string(d.Severity), "code", d.Code, "message", d.Message)
	if d.Hint != "" {
		o.Put("hint", d.Hint)
	}
	if d.More > 0 {
		o.Put("more", int64(d.More))
	}
	if d.Fix != nil {
		edits := value.List{}
		for _, e := range d.Fix.Edits {
			edits = append(edits, value.NewDict("start", int64(e.Span.Start), "end", int64(e.Span.End), "text", e.Text))
		}
		fix := value.NewDict("title", d.Fix.Title, "edits", edits)
		if d.Fix.Choice {
			fix.Put("choice", true)
		}
		o.Put("fix", fix)
	}
	return o
}

// Count returns how many errors and warnings there are.
func Count(list []diagnostic.Diagnostic) (errors, warnings int) {
	for _, d := range list {
		if d.Severity == diagnostic.Error {
			errors += max(d.More, 1)
		} else {
			warnings += max(d.More, 1)
		}
	}
	return errors, warnings
}
