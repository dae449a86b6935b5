package starlint

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/cassidy-run/cassidy/internal/scan"
)

// find collects the findings in a program that does not parse.
func (h *Program) find() {
	h.tokens = scan.Tokens(h.Text)
	h.reported, h.compared = map[string]bool{}, []int{0}
	h.define()
	for i := range h.tokens {
		if len(h.found) > maxHabits {
			return
		}
		h.operators(i)
		switch h.tokens[i].Kind {
		case scan.Word:
			h.word(i)
		case scan.String:
			h.literal(i)
		default:
			h.sign(i)
		}
	}
}

// define collects the names that the program defines anywhere.
func (h *Program) define() {
	h.defined = map[string]bool{}
	inFor := false
	for i, t := range h.tokens {
		if t.Kind != scan.Word {
			continue
		}
		inFor = t.Text == "for" || inFor && t.Text != "in"
		if inFor || h.is(i-1, "def") || h.is(i-1, "as") || h.is(i+1, "=") {
			h.defined[t.Text] = true
		}
	}
}

// is reports whether the token at i has this text.
func (h *Program) is(i int, text string) bool {
	return i >= 0 && i < len(h.tokens) && h.tokens[i].Text == text
}

// outer reports whether the token at i is not inside of brackets.
func (h *Program) outer(i int) bool { return h.tokens[i].Around < 0 }

// first reports whether a statement begins at i.
func (h *Program) first(i int) bool {
	return h.outer(i) && (i == 0 || h.tokens[i].NewLine || h.outer(i-1) && (h.is(i-1, ";") || h.is(i-1, ":")))
}

// end returns the end of the statement that contains the token at i.
func (h *Program) end(i int) int {
	for i++; i < len(h.tokens); i++ {
		if t := &h.tokens[i]; h.outer(i) && (t.NewLine || t.Kind == ';') {
			break
		}
	}
	return i
}

// longest is the longest part of the program that a finding shows. Nobody copies a
// longer one.
const longest = 160

// source returns the text of the tokens from i up to j. If that is empty, long, or
// spans lines, it returns otherwise.
func (h *Program) source(i, j int, otherwise string) string {
	if i < 0 || j > len(h.tokens) || i >= j {
		return otherwise
	}
	last := &h.tokens[j-1]
	text := h.Text[h.tokens[i].Start : last.Start+len(last.Text)]
	if len(text) > longest || strings.ContainsRune(text, '\n') {
		return otherwise
	}
	return text
}

// addAt adds a finding at the token i.
func (h *Program) addAt(i int, format string, args ...any) {
	h.add(h.tokens[i].At, format, args...)
}

// advise adds the finding of a feature at the token i.
func (h *Program) advise(i int, feature string) {
	h.addAt(i, "%s; %s", feature, Advice(h.Predeclared, feature))
}

// word checks a word.
func (h *Program) word(i int) {
	name := h.tokens[i].Text
	switch {
	case h.is(i-1, "."):
		h.attribute(i)
		return
	case name[0] >= '0' && name[0] <= '9':
		if plain := strings.ReplaceAll(name, "_", ""); plain != name {
			h.addAt(i, "%s has an underscore; write %s", name, plain)
		}
		return
	case h.first(i) && h.statement(i):
		return
	}
	switch name {
	case "is":
		if h.is(i+1, "not") {
			name = "is not"
		}
		h.advise(i, name)
	case "yield", "await", "async":
		h.advise(i, name)
	case "print":
		h.print(i)
	}
	if !h.defined[name] && !h.reported[name] && !h.Predeclared.Has(name) && !starlark.Universe.Has(name) && (h.is(i+1, "(") || h.is(i+1, ".")) {
		if advice := Advice(h.Predeclared, name); advice != "" {
			h.reported[name] = true
			h.addAt(i, "undefined: %s; %s", name, advice)
		}
	}
}

// attribute checks the name after a dot.
func (h *Program) attribute(i int) {
	receiver, name := h.source(i-2, i-1, ""), h.tokens[i].Text
	if m, ok := h.Predeclared[receiver].(starlark.HasAttrs); ok && !h.is(i-3, ".") && !h.defined[receiver] {
		h.checkModule(h.tokens[i].At, receiver, name, m)
	} else if h.is(i+1, "(") {
		h.checkMethod(h.tokens[i].At, name)
	}
}

// statement checks the first word of a statement. It reports whether the word needs no
// further check.
func (h *Program) statement(i int) bool {
	switch text := h.tokens[i].Text; text {
	case "import", "from":
		h.imports(i)
	case "try", "class", "global", "nonlocal":
		h.advise(i, text)
	case "except", "finally": // of a try
	case "raise":
		h.raise(i)
	case "with":
		if h.is(i+1, "open") {
			h.reported["open"] = true
			h.addAt(i, "with open; %s", Advice(h.Predeclared, "open"))
		} else {
			h.advise(i, text)
		}
	case "assert":
		if h.is(i+1, "(") {
			return false
		}
		h.assert(i)
	case "del":
		h.del(i)
	default:
		return h.typed(i)
	}
	return true
}

// imports checks each module of an import statement.
func (h *Program) imports(i int) {
	end := h.end(i)
	for j := i + 1; j < end && len(h.found) <= maxHabits; j++ {
		switch {
		case j == i+1:
			h.imported(i, j)
		case h.is(i, "import") && h.is(j-1, ","):
			h.imported(j, j)
		}
	}
}

// imported reports, at the token i, the module that is imported at j.
func (h *Program) imported(i, j int) {
	name := h.source(j, j+1, "it")
	h.reported[name] = true
	_, isModule := h.Predeclared[name].(starlark.HasAttrs)
	there := "import is not supported; " + name + " is already available: delete the line"
	switch {
	case isModule && h.is(i, "from"):
		h.addAt(i, "%s and write %s", there, h.renamed(name, h.source(j+2, j+3, "name")))
	case isModule && h.is(j+1, "as"):
		h.addAt(i, "%s and write %s for %s", there, name, h.source(j+2, j+3, "it"))
	case isModule:
		h.addAt(i, "%s", there)
	case h.Predeclared.Has(name) || name == "tools" || name == "typing" || name == "__future__":
		h.addAt(i, "import is not supported; delete the line")
	case Advice(h.Predeclared, name) != "":
		h.addAt(i, "import is not supported; %s is not available: %s", name, Advice(h.Predeclared, name))
	default:
		modules := slices.DeleteFunc(h.Predeclared.Keys(), func(name string) bool {
			_, ok := h.Predeclared[name].(starlark.HasAttrs)
			return !ok
		})
		h.addAt(i, "import is not supported; %s is not available: the modules are %s", name, strings.Join(modules, ", "))
	}
}

// raise checks raise Kind(what) and raise without arguments.
func (h *Program) raise(i int) {
	if !h.is(i+2, "(") || h.tokens[i+2].Match < 0 {
		h.advise(i, "raise")
		return
	}
	h.reported[h.tokens[i+1].Text] = true
	h.addAt(i, "raise; write fail(%s)", h.source(i+3, h.tokens[i+2].Match, `"what is wrong"`))
}

func (h *Program) assert(i int) {
	comma, end := i+1, h.end(i)
	for comma < end && !(h.is(comma, ",") && h.outer(comma)) {
		comma++
	}
	h.addAt(i, "assert; write if not (%s): fail(%s)", h.source(i+1, comma, "…"), h.source(comma+1, end, `"what is wrong"`))
}

// del checks del d[key] and del name.
func (h *Program) del(i int) {
	last := h.end(i) - 1
	if open := h.tokens[last].Match; h.is(last, "]") && open > i+1 {
		h.addAt(i, "del; write %s.pop(%s)", h.source(i+1, open, "d"), h.source(open+1, last, "key"))
		return
	}
	h.advise(i, "del")
}

// typed checks for a variable with a type, as in x: int = 3.
func (h *Program) typed(i int) bool {
	name := h.tokens[i].Text
	if !h.is(i+1, ":") || name == "else" || name == "lambda" {
		return false
	}
	end := h.end(i)
	if i+2 >= end {
		return false
	}
	for j := i + 2; j < end; j++ {
		if h.is(j, "=") && h.outer(j) {
			h.addAt(i, "a variable with a type; write %s = %s", name, h.source(j+1, end, "…"))
			return true
		}
	}
	h.addAt(i, "a variable with a type; delete the line, or write %s = None", name)
	return true
}

// print checks for arguments that print does not have.
func (h *Program) print(i int) {
	if !h.is(i+1, "(") {
		return
	}
	for j := i + 2; j < h.tokens[i+1].Match; j++ {
		t := &h.tokens[j]
		if t.Nesting() > 0 {
			j = t.Match
		} else if t.Kind == scan.Word && h.is(j+1, "=") && (h.is(j-1, ",") || h.is(j-1, "(")) {
			h.checkPrint(t.At, t.Text)
		}
	}
}

// sign checks a token that is neither a word nor a string.
func (h *Program) sign(i int) {
	switch text := h.tokens[i].Text; text {
	case "*", "**", "**=":
		h.star(i, text)
	case "{":
		h.set(i)
	case ":=", "...":
		h.advise(i, text)
	case "@":
		if h.first(i) {
			h.advise(i, "a decorator")
		}
	}
}

// star checks a power, or the unpacking of a value.
func (h *Program) star(i int, text string) {
	around := h.tokens[i].Around
	switch begins := i == 0 || i-1 == around || h.is(i-1, ",") || h.first(i); {
	case text != "*" && !begins && !h.is(i-1, "lambda"):
		h.advise(i, "**")
	case !begins:
	case text == "**" && h.is(around, "{"):
		h.addAt(i, "** in a dict; write a | b to join two dicts")
	case text == "*" && h.is(around, "["):
		h.addAt(i, "* in a list; write a + b to join two lists")
	case text == "*" && around < 0 && !h.lambda:
		h.addAt(i, "* in an assignment; write first = values[0] and rest = values[1:]")
	}
}

// set checks { for a set.
func (h *Program) set(i int) {
	last := h.tokens[i].Match
	if last <= i+1 {
		return
	}
	for j := i + 1; j < last; j++ {
		switch {
		case h.tokens[j].Nesting() > 0:
			j = h.tokens[j].Match
		case h.is(j, ":"), h.is(j, "**"):
			return
		}
	}
	h.addAt(i, "a set in braces; write set([%s])", h.source(i+1, last, "…"))
}

// separators are the words that end an operand.
var separators = strings.Fields("and or not if elif else for in is lambda return while yield assert await print def import from as raise")

// operators checks for chains of comparisons and of assignments.
func (h *Program) operators(i int) {
	t := &h.tokens[i]
	h.lambda = t.Text == "lambda" || h.lambda && !t.NewLine
	last := len(h.compared) - 1
	if last == 0 && (t.NewLine || t.Kind == ';') {
		h.compared[0], h.assigned = 0, false
	}
	switch {
	case t.Nesting() > 0:
		h.compared = append(h.compared, 0)
	case t.Nesting() < 0:
		h.compared = h.compared[:max(last, 1)]
	case t.Kind == scan.Word && slices.Contains(separators, t.Text), t.Kind == ',', t.Kind == ':', t.Kind == ';':
		h.compared[last] = 0
	case slices.Contains([]string{"<", ">", "==", "!=", "<=", ">="}, t.Text):
		if h.compared[last]++; h.compared[last] == 2 {
			h.addAt(i, "chained comparison; write a < b and b < c")
		}
	case t.Kind == '=':
		h.compared[last] = 0
		if last == 0 && h.assigned && !h.lambda {
			h.addAt(i, "chained assignment; write a = x and b = x on separate lines")
		}
		h.assigned = h.assigned || last == 0
	}
}
