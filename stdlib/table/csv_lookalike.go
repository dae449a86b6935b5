package table

import (
	"fmt"
	"slices"
	"strings"
)

// A numberForm is a way of writing numbers that has to be said.
type numberForm struct {
	thousands, decimal string
	percent            bool
}

// numberForms are those that are looked for, the plainer before what they are
// part of.
func numberForms() []numberForm {
	var forms []numberForm
	for _, percent := range []bool{false, true} {
		forms = append(forms, numberForm{"", ".", percent}, numberForm{"", ",", percent}, numberForm{",", ".", percent},
			numberForm{".", ",", percent}, numberForm{"'", ".", percent}, numberForm{" ", ",", percent})
	}
	return forms[1:] // the first need not be said
}

// String is the form as a caller says it.
func (n numberForm) String() string {
	var said []string
	if n.decimal != "." {
		said = append(said, fmt.Sprintf("decimal = %q", n.decimal))
	}
	if n.thousands != "" {
		said = append(said, fmt.Sprintf("thousands = %q", n.thousands))
	}
	if n.percent {
		said = append(said, "percent = True")
	}
	return strings.Join(said, ", ")
}

// used reports whether one of the cells has what is special about the form.
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

// lookalike says how some cells would be read as numbers, or "". Of two forms the
// plainer is named, and both where neither is.
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

func allNumbers(n numbers, cells []string) bool {
	for _, s := range cells {
		if _, ok := n.float(s); !ok {
			return false
		}
	}
	return len(cells) > 0
}

// lookAlikes notes of each column of texts how it might be numbers, by its first
// cells.
func (f *csvFile) lookAlikes(b *csvRows) {
	const enough = 100
	if !f.numbers.usual {
		return // the caller has said how numbers are written
	}
	for i, c := range f.columns {
		if c.seen&seenText == 0 || c.forced {
			continue
		}
		var cells []string
		for k := i; k < len(b.spans) && len(cells) < enough; k += b.width {
			if s := trimSpaces(b.cell(b.spans[k], f.quote)); s != "" && !isWord(s) {
				cells = append(cells, s)
			}
		}
		c.lookalike = lookalike(cells)
	}
}
