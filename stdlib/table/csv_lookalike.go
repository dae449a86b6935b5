package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/stdlib/internal/csv"
)

// A numberForm is a number format that has to be specified.
type numberForm struct {
	thousands, decimal string
	percent            bool
}

// numberForms returns the formats to look for, each before those that extend it.
func numberForms() []numberForm {
	var forms []numberForm
	for _, percent := range []bool{false, true} {
		forms = append(forms, numberForm{"", ".", percent}, numberForm{"", ",", percent}, numberForm{",", ".", percent},
			numberForm{".", ",", percent}, numberForm{"'", ".", percent}, numberForm{" ", ",", percent})
	}
	return forms[1:] // the first is the default
}

// String returns the arguments that specify the format.
func (n numberForm) String() string {
	var options []string
	if n.decimal != "." {
		options = append(options, fmt.Sprintf("decimal = %q", n.decimal))
	}
	if n.thousands != "" {
		options = append(options, fmt.Sprintf("thousands = %q", n.thousands))
	}
	if n.percent {
		options = append(options, "percent = True")
	}
	return strings.Join(options, ", ")
}

// used reports whether one of the cells has a character that is special in the format.
func (n numberForm) used(cells []string) bool {
	marks := n.thousands
	if n.decimal != "." {
		marks += n.decimal
	}
	if n.percent {
		marks += "%"
	}
	return slices.ContainsFunc(cells, func(s string) bool { return strings.ContainsAny(s, marks) })
}

// lookalike returns the formats in which all cells are numbers, or "". It returns the
// simplest format, and thousands = "," too if the texts fit both.
func lookalike(cells []string) string {
	var found []string
	for _, form := range numberForms() {
		n, err := newNumbers(form.thousands, form.decimal, form.percent)
		if err != nil || !form.used(cells) || !allNumbers(n, cells) {
			continue
		}
		if len(found) == 0 || form.thousands == "," && form.decimal == "." && !form.percent {
			found = append(found, form.String())
		}
	}
	return strings.Join(found, ", or with ")
}

// guessForm takes over the format of numbers in the first rows: see [numbers.guess].
func (f *csvFile) guessForm(b *csv.Rows) {
	const enough = 100
	columns := make([]numberCells, 0, len(f.columns))
	for i, c := range f.columns {
		if c.forced && c.typ == Text {
			continue
		}
		var cells []string
		for k := i; k < len(b.Spans) && len(cells) < enough; k += f.width {
			if s := trimSpaces(b.Cell(b.Spans[k])); s != "" && !f.missing[s] && !isWord(s) && !isSign(s) {
				cells = append(cells, s)
			}
		}
		columns = append(columns, numberCells{c.name, cells})
	}
	n, note := f.numbers.guess(columns)
	if note != "" {
		f.numbers = n
		f.notes = append(f.notes, note)
	}
}

// numberCells are the first cells of a column.
type numberCells struct {
	name  string
	cells []string
}

// guess returns the format of numbers that is not the default and the only one in which some columns make sense, and a note. A
// comma before three digits, as in 1,234, decides nothing. The note is "" if there is no such format.
func (n numbers) guess(columns []numberCells) (numbers, string) {
	var plain, others []numberCells // columns of numbers: in the default format, and in some other one
	for _, c := range columns {
		switch {
		case allNumbers(n, c.cells):
			plain = append(plain, c)
		case slices.ContainsFunc(numberForms(), func(form numberForm) bool { return allNumbers(n.inForm(form), c.cells) }):
			others = append(others, c)
		}
	}
	for _, form := range numberForms() {
		in := n.inForm(form)
		changes := func(c numberCells) bool {
			return slices.ContainsFunc(c.cells, func(s string) bool {
				before, _ := n.float(s)
				after, ok := in.float(s)
				return !ok || after != before && before == before
			})
		}
		if form.percent || slices.ContainsFunc(plain, changes) || slices.ContainsFunc(others, func(c numberCells) bool { return !allNumbers(in, c.cells) }) {
			continue
		}
		for _, c := range others {
			if at := slices.IndexFunc(c.cells, form.decides); at >= 0 {
				return in, fmt.Sprintf("numbers are read with %s, as %s of column %s; to read them otherwise, pass decimal = \".\"", form, quoteCut(c.cells[at]), quoteCut(c.name))
			}
		}
	}
	return n, ""
}

// inForm returns the numbers in a format.
func (n numbers) inForm(form numberForm) numbers {
	in, _ := newNumbers(form.thousands, form.decimal, form.percent) // it is valid
	in.percents = n.percents
	return in
}

// decides reports whether a number of the format is no number in a usual other one.
func (n numberForm) decides(s string) bool {
	groups := 0
	if n.thousands != "" {
		groups = strings.Count(s, n.thousands)
	}
	before, after, point := strings.Cut(s, n.decimal)
	_, fraction := digits(after)
	switch {
	case n.decimal == "," && point:
		return fraction != 3 || groups > 0 || before == "0" || before == "-0"
	case n.decimal == "." && point:
		return groups > 0
	}
	return groups > 1
}

func allNumbers(n numbers, cells []string) bool {
	for _, s := range cells {
		if _, ok := n.float(s); !ok {
			return false
		}
	}
	return len(cells) > 0
}
