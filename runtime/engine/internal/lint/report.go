package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Pos is a position in the text that a parser read: a line, and a column in characters, both
// from 1.
type Pos struct{ Line, Col int }

// A Range is a part of that text. End is exclusive; the zero End stands for the word at Start.
type Range struct{ Start, End Pos }

// maxFaults is how many faults of one file are listed. The others are counted: nobody reads them, and a
// file of usual size can have ten thousands.
const maxFaults = 100

// A Report collects the faults of a file.
type Report struct {
	*Text
	Known *Known
	List  []diagnostic.Diagnostic
	seen  map[string]bool
	meant map[string]bool             // the names that faults suggest
	more  map[diagnostic.Severity]int // how many faults are not listed
}

// NewReport returns a report without faults.
func NewReport(text *Text, known *Known) *Report {
	return &Report{Text: text, Known: known, seen: map[string]bool{}, meant: map[string]bool{}, more: map[diagnostic.Severity]int{}}
}

// Span returns the span of a range.
func (r *Report) Span(at Range) diagnostic.Span {
	start := r.Offset(at.Start.Line, at.Start.Col)
	if at.End == (Pos{}) {
		return r.Word(start)
	}
	return diagnostic.Span{Start: start, End: max(start, r.Offset(at.End.Line, at.End.Col))}
}

// A Fault is a fault at a range.
type Fault struct {
	At      Range
	Warning bool
	Code    string
	Message string
	Hint    string
	Rename  string   // what replaces the range, if that certainly fixes the fault
	Similar []string // the names that may replace the range
	Fix     *diagnostic.Fix
}

// Add adds a fault, unless there is one with the same code at the same place.
func (r *Report) Add(f Fault) {
	severity := diagnostic.Error
	if f.Warning {
		severity = diagnostic.Warning
	}
	if r.full() { // its place would cost more than the count
		r.leaveOut(fmt.Sprint(f.At.Start, f.Code), severity)
		return
	}
	for _, name := range f.Similar {
		r.meant[name] = true
	}
	if f.Rename != "" && f.Fix == nil {
		r.meant[f.Rename] = true
		if span, ok := r.renamed(f.At, f.Rename); ok && r.isMisspelled(f.At, f.Rename) {
			f.Fix = &diagnostic.Fix{Title: fmt.Sprintf("write %s", f.Rename), Edits: []diagnostic.Edit{{Span: span, Text: f.Rename}}}
		}
	}
	d := r.At(r.Span(f.At), severity, f.Code, f.Message)
	d.Hint, d.Fix = f.Hint, f.Fix
	r.AddDiagnostic(d)
}

// renamed returns what a name replaces: a name without quotes leaves the quotes of a text. ok is false if the text
// cannot be replaced.
func (r *Report) renamed(at Range, name string) (span diagnostic.Span, ok bool) {
	span = r.Span(at)
	old := r.Source[span.Start:span.End]
	switch quoted := quotedLength(old) == len(old) && old != ""; {
	case quoted && quotedLength(name) == 0:
		return diagnostic.Span{Start: span.Start + 1, End: span.End - 1}, true
	case quoted || at.End != (Pos{}):
		return span, true
	}
	return span, strings.IndexFunc(old, func(r rune) bool { return !isNameRune(r) }) < 0
}

// isMisspelled reports whether a name certainly stands for the one that it resembles. A name that
// resembles a constant may be that of a missing variable, such as nope, which resembles None.
func (r *Report) isMisspelled(at Range, meant string) bool {
	switch meant {
	case "None", "True", "False", "nil", "true", "false":
		s := r.Span(at)
		return strings.EqualFold(r.Source[s.Start:s.End], meant)
	}
	return true
}

// AddDiagnostic is Add for a diagnostic.
func (r *Report) AddDiagnostic(d diagnostic.Diagnostic) {
	key := fmt.Sprint(d.Span.Start, d.Code)
	if d.Code == diagnostic.MissingNeed { // a call may lack several
		key += d.Message
	}
	if r.full() {
		r.leaveOut(key, d.Severity)
		return
	}
	if !r.seen[key] {
		r.seen[key] = true
		r.List = append(r.List, d)
	}
}

// SetHint sets the hint of a fault that is listed.
func (r *Report) SetHint(at Pos, code, hint string) {
	start := r.Offset(at.Line, at.Col)
	for i := range r.List {
		if d := &r.List[i]; d.Span.Start == start && d.Code == code {
			d.Hint = hint
		}
	}
}

// leaveOut counts a fault that is not listed, once.
func (r *Report) leaveOut(key string, s diagnostic.Severity) {
	if !r.seen[key] {
		r.seen[key] = true
		r.more[s]++
	}
}

// Close adds how many faults are not listed, and returns all in the order of their places.
func (r *Report) Close() []diagnostic.Diagnostic {
	diagnostic.Sort(r.List)
	for _, s := range []diagnostic.Severity{diagnostic.Error, diagnostic.Warning} {
		if n := r.more[s]; n > 0 {
			end := len(r.Source)
			d := r.At(diagnostic.Span{Start: end, End: end}, s, diagnostic.MoreFaults, fmt.Sprintf("%d more %ss are not listed", n, s))
			d.Hint, d.More = "correct the listed faults first", n
			r.List = append(r.List, d)
		}
	}
	return r.List
}

// KeepUncertainNeeds removes the fixes that change needs if the file has other errors or unknown names.
// What the tool uses is known only when these are corrected: a misspelled function uses nothing.
func (r *Report) KeepUncertainNeeds() {
	isNeed := func(d *diagnostic.Diagnostic) bool {
		return d.Code == diagnostic.MissingNeed || d.Code == diagnostic.UnusedNeed
	}
	if r.more[diagnostic.Error] == 0 && !slices.ContainsFunc(r.List, func(d diagnostic.Diagnostic) bool {
		return !isNeed(&d) && (d.Severity == diagnostic.Error || strings.HasPrefix(d.Code, "unknown-"))
	}) {
		return
	}
	for i := range r.List {
		if d := &r.List[i]; isNeed(d) {
			d.Fix = nil
			if d.Code == diagnostic.UnusedNeed {
				d.Hint = "correct the other faults first: the corrected code may use it"
			}
		}
	}
}

// WrongResult returns why a handler cannot return a value, or "" if it can. name is that of the tool.
func WrongResult(name string, returns *tool.Type, v value.Value) string {
	t := tool.Tool{Name: name, Returns: returns}
	if _, err := t.CheckResult(v); err != nil {
		return value.ErrorOf(err, value.Invalid).Message()
	}
	return ""
}

// Meant reports whether a fault suggests a name, so that the name would be used otherwise.
func (r *Report) Meant(name string) bool { return r.meant[name] }

// full reports whether no more faults are reported.
func (r *Report) full() bool { return len(r.List) >= maxFaults }

// AddError adds an error that names a position in the file.
func (r *Report) AddError(err error, code string) {
	if err != nil {
		d := r.Error(err, code)
		r.locate(&d, code != diagnostic.Syntax && value.ErrorOf(err, value.Invalid).Pos.Col == 0)
		r.AddDiagnostic(d)
	}
}

// HasErrorAt reports whether a line has an error.
func (r *Report) HasErrorAt(line int) bool {
	for _, d := range r.List {
		if d.Severity == diagnostic.Error && d.Pos.Line == line {
			return true
		}
	}
	return false
}

// Declaration reports what is wrong with a declaration, and returns the tool. complete says that
// no part of the declaration is missing because it could not be read.
func (r *Report) Declaration(d *script.Declaration, stem string, complete bool) tool.Tool {
	t, problems := d.Read(stem)
	var described map[string]Pos
	for _, p := range problems {
		switch {
		case p.Warning:
			f := Fault{Warning: true, Code: p.Code, Message: p.Message(), Hint: p.Hint, At: RangeOf(p.Pos)}
			if p.Code == diagnostic.DocstringArgs {
				if described == nil {
					described = r.described(d)
				}
				f.At = RangeOf(d.Pos)
				if at, ok := described[p.Name]; ok {
					f.At = Range{Start: at}
				}
			}
			r.warning(f, p.Insert, d)
		case complete || t.Description != "" && p.Code != diagnostic.Example:
			r.AddError(p.Error, p.Code)
		}
	}
	return t
}

// Undescribed warns of parameters that the documentation of a handler lacks, if it describes others. hint
// has a place for the name.
func (r *Report) Undescribed(d *script.Declaration, t *tool.Tool, doc, hint string) {
	if !d.Doc.Describes() {
		return
	}
	for _, p := range t.Params {
		i := slices.IndexFunc(d.Signature, func(s script.SigParam) bool { return s.Name == p.Name })
		if p.Description == "" && !p.FromHost && i >= 0 {
			r.Add(Fault{At: RangeOf(d.Signature[i].Pos), Warning: true, Code: diagnostic.MissingDoc, Message: fmt.Sprintf("%s does not describe '%s'", doc, p.Name),
				Hint: fmt.Sprintf(hint, p.Name)})
		}
	}
}

// warning reports a warning of a declaration. insert is what the fix inserts, or "".
func (r *Report) warning(f Fault, insert string, d *script.Declaration) {
	if f.At.Start.Line == 0 {
		f.At = RangeOf(d.Pos)
	}
	if insert != "" {
		end := r.Span(f.At).End
		f.Fix = &diagnostic.Fix{Title: "insert " + strings.TrimSpace(insert), Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: end, End: end}, Text: insert}}}
	}
	if f.Code == diagnostic.UnknownType {
		d := r.At(r.Span(f.At), diagnostic.Warning, f.Code, f.Message)
		d.Hint = f.Hint
		r.locate(&d, f.At.Start.Col == 0)
		r.AddDiagnostic(d)
		return
	}
	r.Add(f)
}

// described returns where a docstring describes each name: the first line that begins with it after the handler, as in
// "name: …" or "name (type): …".
func (r *Report) described(d *script.Declaration) map[string]Pos {
	begin := 1
	if len(d.Signature) > 0 {
		begin = max(d.Signature[0].Pos.Line, 1)
	}
	found := map[string]Pos{}
	for n := begin; n <= r.Lines(); n++ {
		line := r.Line(n)
		word := strings.TrimLeft(line, " \t*")
		name, _, colon := strings.Cut(word, ":")
		typed, _, bracket := strings.Cut(word, " (")
		for _, one := range []struct {
			name string
			ok   bool
		}{{strings.TrimRight(name, " "), colon}, {typed, bracket}} {
			if _, known := found[one.name]; one.ok && !known {
				found[one.name] = Pos{n, 1 + utf8.RuneCountInString(line[:len(line)-len(word)])}
			}
		}
	}
	return found
}

// RangeOf returns the range of a position that a declaration has.
func RangeOf(p value.Position) Range { return Range{Start: Pos{p.Line, p.Col}} }
