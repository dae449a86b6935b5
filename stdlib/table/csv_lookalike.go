package table

import (
	"fmt"
	"slices"
	"strings"
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

func allNumbers(n numbers, cells []string) bool {
	for _, s := range cells {
		if _, ok := n.float(s); !ok {
			return false
		}
	}
	return len(cells) > 0
}
