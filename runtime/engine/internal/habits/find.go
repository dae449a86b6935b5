package habits

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/cassidy-run/cassidy/internal/scan"
)

// find reads the program and collects what it finds, at the places that count.
func (h *Program) find(only map[scan.Place]bool) {
	h.only, h.told = only, map[string]bool{}
	h.scan()
	h.relate()
	h.define()
	h.chains = []chain{{}}
	for i := range h.tokens {
		t := &h.tokens[i]
		if len(h.found) > maxHabits {
			return
		}
		h.chain(i)
		switch t.kind {
		case scan.Word:
			h.word(i)
		case scan.String:
			h.literal(i)
		default:
			h.sign(i)
		}
	}
	h.endChain(len(h.tokens))
}

// scan takes the text apart.
func (h *Program) scan() {
	s := scan.New(h.Text)
	h.tokens = make([]lexeme, 0, len(h.Text)/3)
	up := int32(-1)
	for {
		t := s.Next()
		if t.Kind == scan.EndOfText {
			return
		}
		i := len(h.tokens)
		l := lexeme{kind: t.Kind, start: int32(s.Start), size: int32(len(t.Text)), line: int32(t.At.Line), col: int32(t.At.Col),
			up: up, match: -1, gap: t.Gap, newLine: t.NewLine}
		switch t.Nesting() {
		case 1:
			up = int32(i)
		case -1:
			if up >= 0 {
				l.match, l.up = up, h.tokens[up].up
				h.tokens[up].match, up = int32(i), l.up
			}
		}
		l.lambda = t.Text == "lambda" || i > 0 && !t.NewLine && h.tokens[i-1].lambda
		h.tokens = append(h.tokens, l)
	}
}

// said returns the token at i as it is written.
func (h *Program) said(i int) string {
	t := &h.tokens[i]
	return h.Text[t.start : t.start+t.size]
}

// nesting is 1 for an opening bracket, -1 for a closing one, else 0.
func (l *lexeme) nesting() int { return scan.Token{Kind: l.kind}.Nesting() }

// relate notes of each token what others say of it: where its statement ends,
// and which comparison it is.
func (h *Program) relate() {
	end := int32(len(h.tokens))
	for i := len(h.tokens) - 1; i >= 0; i-- {
		t := &h.tokens[i]
		t.end = end
		if t.up < 0 && (t.newLine || t.kind == ';') {
			end = int32(i)
		}
	}
	for i := range h.tokens {
		h.tokens[i].compares = int8(h.comparison(i))
	}
}

// placeOf returns where the token at i stands.
func (h *Program) placeOf(i int) scan.Place {
	return scan.Place{Line: int(h.tokens[i].line), Col: int(h.tokens[i].col)}
}

// match returns the other bracket of the one at i, or -1.
func (h *Program) match(i int) int { return int(h.tokens[i].match) }

// end returns where the statement ends that the token at i is of.
func (h *Program) end(i int) int { return int(h.tokens[i].end) }

// define collects the names that the program defines, wherever it does.
func (h *Program) define() {
	h.defined = map[string]bool{}
	inFor := false
	for i := range h.tokens {
		t := &h.tokens[i]
		if t.kind != scan.Word {
			continue
		}
		inFor = h.said(i) == "for" || inFor && h.said(i) != "in"
		if inFor || h.is(i-1, "def") || h.is(i-1, "as") || h.is(i+1, "=") && !h.is(i+2, "=") {
			h.defined[h.said(i)] = true
		}
	}
}

// is reports whether the token at i is written so.
func (h *Program) is(i int, text string) bool {
	return i >= 0 && i < len(h.tokens) && h.said(i) == text
}

// joined reports whether the tokens from i on are these characters, with
// nothing between them.
func (h *Program) joined(i int, text string) bool {
	for j := range len(text) {
		if !h.is(i+j, text[j:j+1]) || j > 0 && h.tokens[i+j].gap {
			return false
		}
	}
	return true
}

// first reports whether a statement begins at i.
func (h *Program) first(i int) bool {
	t := &h.tokens[i]
	return t.up < 0 && (i == 0 || t.newLine || h.tokens[i-1].up < 0 && (h.is(i-1, ";") || h.is(i-1, ":")))
}

// longest is how long a part of the program may be to be shown: what is longer
// is not copied by anyone.
const longest = 160

// source returns the text of the tokens from i up to j, or otherwise where
// that is empty, long, or on more than one line.
func (h *Program) source(i, j int, otherwise string) string {
	if i < 0 || j > len(h.tokens) || i >= j {
		return otherwise
	}
	last := &h.tokens[j-1]
	text := h.Text[h.tokens[i].start : last.start+last.size]
	if len(text) > longest || strings.ContainsRune(text, '\n') {
		return otherwise
	}
	return text
}

// add notes a finding at the token i.
func (h *Program) add(i int, format string, args ...any) {
	at := h.placeOf(i)
	if h.only == nil || h.only[at] {
		h.found = append(h.found, habit{at, fmt.Sprintf(format, args...)})
	}
}

// word looks at a word.
func (h *Program) word(i int) {
	name := h.said(i)
	switch {
	case h.is(i-1, "."):
		h.attribute(i)
		return
	case name[0] >= '0' && name[0] <= '9':
		if plain := strings.ReplaceAll(name, "_", ""); plain != name {
			h.add(i, "%s has an underscore; write %s", name, plain)
		}
		return
	case h.first(i) && h.statement(i):
		return
	}
	switch name {
	case "is":
		if h.is(i+1, "not") {
			h.add(i, "is not; write !=")
		} else {
			h.add(i, "is; write ==")
		}
	case "yield":
		h.add(i, "yield; append to a list and return it")
	case "await", "async":
		h.add(i, "%s; leave it out: a call waits for its result", name)
	case "print":
		h.print(i)
	}
	h.name(i)
}

// name looks at a name that has no meaning here, where it is used. Where the
// program has been resolved, that says which these are.
func (h *Program) name(i int) {
	name := h.said(i)
	if h.only != nil || h.defined[name] || h.told[name] || h.Given.Has(name) || starlark.Universe.Has(name) || !h.is(i+1, "(") && !h.is(i+1, ".") {
		return
	}
	if advice := h.advice(name); advice != "" {
		h.told[name] = true
		h.add(i, "undefined: %s; %s", name, advice)
	}
}

// statement looks at the first word of a statement, and says whether that was
// all there is to say of the word.
func (h *Program) statement(i int) bool {
	if h.only != nil && !h.only[h.placeOf(i)] {
		return false
	}
	end := h.end(i)
	switch said := h.said(i); said {
	case "import", "from":
		h.imports(i, end)
	case "try":
		h.add(i, `try; write r = attempt(fn, arg) and look at r["ok"], r["value"] and r["error"]`)
	case "except", "finally": // of a try
	case "raise":
		h.raise(i, end)
	case "with":
		if h.is(i+1, "open") {
			h.told["open"] = true
			h.add(i, "with open; %s", h.advice("open"))
		} else {
			h.add(i, "with; leave it out: nothing needs to be closed")
		}
	case "class":
		h.add(i, "class; use functions, and dicts for what they work on")
	case "global", "nonlocal":
		h.add(i, `%s; keep it in a dict, as in state = {"n": 0}, and write state["n"] += 1`, said)
	case "assert":
		if h.is(i+1, "(") {
			return false
		}
		h.assert(i, end)
	case "del":
		h.del(i, end)
	default:
		return h.typed(i, end)
	}
	return true
}

// imports looks at a statement that imports: each of its modules.
func (h *Program) imports(i, end int) {
	for j := i + 1; j < end; j++ {
		switch {
		case j == i+1:
			h.imported(i, j)
		case len(h.found) > maxHabits:
			return
		case h.is(i, "import") && h.is(j-1, ","):
			h.imported(j, j)
		}
	}
}

// imported tells at the token i of the module that is imported at j.
func (h *Program) imported(i, j int) {
	name := h.source(j, j+1, "it")
	h.told[name] = true
	_, isModule := h.Given[name].(starlark.HasAttrs)
	switch {
	case isModule && h.is(i, "from"):
		h.add(i, "import; %s is there already: delete the line and write %s", name, h.renamed(name, h.source(j+2, j+3, "name")))
	case isModule && h.is(j+1, "as"):
		h.add(i, "import; %s is there already: delete the line and write %s for %s", name, name, h.source(j+2, j+3, "it"))
	case isModule:
		h.add(i, "import; %s is there already: delete the line", name)
	case h.Given.Has(name) || name == "tools" || name == "typing" || name == "__future__":
		h.add(i, "import; delete the line")
	case h.advice(name) != "":
		h.add(i, "import; there is no %s: %s", name, h.advice(name))
	default:
		h.add(i, "import; there is no %s: the modules are %s", name, strings.Join(h.modules(), ", "))
	}
}

func (h *Program) modules() []string {
	var names []string
	for _, name := range h.Given.Keys() {
		if _, ok := h.Given[name].(starlark.HasAttrs); ok {
			names = append(names, name)
		}
	}
	return names
}

// raise looks at raise Kind(what) and raise alone.
func (h *Program) raise(i, end int) {
	if h.is(i+2, "(") && h.match(i+2) >= 0 {
		h.told[h.said(i+1)] = true
		h.add(i, "raise; write fail(%s)", h.source(i+3, h.match(i+2), `"what is wrong"`))
		return
	}
	h.add(i, `raise; write fail("what is wrong")`)
}

func (h *Program) assert(i, end int) {
	comma := i + 1
	for comma < end && !(h.is(comma, ",") && h.tokens[comma].up < 0) {
		comma++
	}
	h.add(i, "assert; write if not (%s): fail(%s)", h.source(i+1, comma, "…"), h.source(comma+1, end, `"what is wrong"`))
}

// del looks at del d[key] and del name.
func (h *Program) del(i, end int) {
	if open := h.match(end - 1); h.is(end-1, "]") && open > i+1 {
		h.add(i, "del; write %s.pop(%s)", h.source(i+1, open, "d"), h.source(open+1, end-1, "key"))
		return
	}
	h.add(i, "del; leave the line out, or build a new list or dict without it")
}

// typed looks at a variable with a type, as in x: int = 3.
func (h *Program) typed(i, end int) bool {
	name := h.said(i)
	if !h.is(i+1, ":") || h.joined(i+1, ":=") || i+2 >= end || slices.Contains([]string{"else", "lambda"}, name) {
		return false
	}
	for j := i + 2; j < end; j++ {
		if h.is(j, "=") && h.tokens[j].up < 0 {
			h.add(i, "a variable with a type; write %s = %s", name, h.source(j+1, end, "…"))
			return true
		}
	}
	h.add(i, "a variable with a type; delete the line, or write %s = None", name)
	return true
}

// print looks for what print does not take.
func (h *Program) print(i int) {
	if !h.is(i+1, "(") {
		return
	}
	last := h.match(i + 1)
	for j := i + 2; j < last; j++ {
		t := h.tokens[j]
		if t.nesting() > 0 {
			j = h.match(j)
		} else if t.kind == scan.Word && h.said(j) != "sep" && h.is(j+1, "=") && !h.is(j+2, "=") && (h.is(j-1, ",") || h.is(j-1, "(")) {
			h.add(j, "print takes no %s; leave %s= out: each print is a line", h.said(j), h.said(j))
		}
	}
}

// sign looks at a character that is no word and no string.
func (h *Program) sign(i int) {
	switch h.said(i) {
	case "*":
		h.star(i)
	case "{":
		h.set(i)
	case ":":
		if h.joined(i, ":=") {
			h.add(i, ":=; write %s = … on a line of its own above", h.source(i-1, i, "x"))
		}
	case "@":
		if h.first(i) {
			h.add(i, "a decorator; delete the line")
		}
	case ".":
		if h.joined(i, "...") && (i == 0 || !h.is(i-1, ".")) {
			h.add(i, "...; write pass, or None for a value")
		}
	}
}

// operand reports whether the token at i ends a value.
func (h *Program) operand(i int) bool {
	if i < 0 {
		return false
	}
	switch t := &h.tokens[i]; t.kind {
	case scan.Word:
		return !slices.Contains(separators, h.said(i))
	case scan.String, ')', ']', '}':
		return true
	}
	return false
}

// star looks at what begins with *: a power, or the unpacking of a value.
func (h *Program) star(i int) {
	t := &h.tokens[i]
	if h.joined(i-1, "**") {
		return
	}
	outer := ""
	if t.up >= 0 {
		outer = h.said(int(t.up))
	}
	begins := i == 0 || t.up >= 0 && i-1 == int(t.up) || h.is(i-1, ",") || h.first(i)
	switch double := h.joined(i, "**"); {
	case double && h.operand(i-1) && h.is(i+2, "="):
		h.add(i, "**; %s", h.power(h.before(i), h.behind(i+3), " = "))
	case double && h.operand(i-1):
		h.add(i, "**; %s", h.power(h.before(i), h.behind(i+2), ""))
	case double && outer == "{" && begins:
		h.add(i, "** in a dict; write a | b to join two dicts")
	case double || !begins:
	case outer == "[":
		h.add(i, "* in a list; write a + b to join two lists")
	case outer == "" && !t.lambda:
		h.add(i, "* in an assignment; write first = values[0] and rest = values[1:]")
	}
}

// before returns the value before the token i, where it is a name or in
// parentheses, else x.
func (h *Program) before(i int) string {
	from := i - 1
	if h.is(from, ")") {
		from = h.match(from)
	}
	if from < 0 || h.is(from-1, ".") || h.is(i-1, ")") && h.operand(from-1) || !h.is(i-1, ")") && h.tokens[from].kind != scan.Word {
		return "x"
	}
	return h.source(from, i, "x")
}

// behind returns the value at the token i, where it is a name or a whole
// number, else y.
func (h *Program) behind(i int) string {
	if i >= len(h.tokens) || h.tokens[i].kind != scan.Word || h.is(i+1, ".") || h.is(i+1, "(") || h.is(i+1, "[") {
		return "y"
	}
	return h.said(i)
}

// power is what to write for x ** y, or for x **= y.
func (h *Program) power(x, y, assigned string) string {
	if assigned != "" {
		assigned = x + assigned
	}
	switch {
	case y == "2":
		return "write " + assigned + x + " * " + x
	case h.Given.Has("math"):
		return fmt.Sprintf("write %smath.pow(%s, %s)", assigned, x, y)
	}
	return "multiply, in a loop if need be"
}

// set looks at { that opens a set.
func (h *Program) set(i int) {
	last := h.match(i)
	if last <= i+1 {
		return
	}
	for j := i + 1; j < last; j++ {
		switch {
		case h.tokens[j].nesting() > 0:
			j = h.match(j)
		case h.is(j, ":"), h.joined(j, "**"):
			return
		}
	}
	h.add(i, "a set in braces; write set([%s])", h.source(i+1, last, "…"))
}

// separators are the words that end an operand.
var separators = []string{"and", "or", "not", "if", "elif", "else", "for", "in", "is", "lambda", "return", "while",
	"yield", "assert", "await", "print", "def", "import", "from", "as", "raise"}

// chain follows the comparisons of an expression.
func (h *Program) chain(i int) {
	t := &h.tokens[i]
	last := len(h.chains) - 1
	if last == 0 && (t.newLine || t.kind == ';') {
		h.endChain(i)
		h.chains[0] = chain{from: i}
	}
	switch {
	case t.nesting() > 0:
		h.chains = append(h.chains, chain{from: i + 1})
	case t.nesting() < 0:
		h.endChain(i)
		h.chains = h.chains[:max(last, 1)]
	case t.kind == scan.Word && slices.Contains(separators, h.said(i)), t.kind == ',', t.kind == ':', t.kind == ';':
		h.endChain(i)
		h.chains[last].from = i + 1
	case t.compares > 0:
		h.chains[last].ops = append(h.chains[last].ops, i)
	case t.kind == '=' && (i == 0 || t.gap || h.tokens[i-1].compares < 2):
		h.endChain(i)
		h.chains[last].from = i + 1
		if last == 0 && h.chains[0].assigns && !t.lambda {
			h.add(i, "two assignments in one; write one a line")
		}
		h.chains[0].assigns = h.chains[0].assigns || last == 0
	}
}

// comparison returns how many characters a comparison at i has, or 0. It knows
// that of the token before.
func (h *Program) comparison(i int) int {
	equals := h.is(i+1, "=") && !h.tokens[i+1].gap
	switch said := h.said(i); said {
	case "<", ">":
		switch {
		case h.joined(i, said+said), h.joined(i-1, said+said), h.joined(i-1, "->"):
			return 0
		case equals:
			return 2
		}
		return 1
	case "=", "!":
		if equals && (i == 0 || h.tokens[i].gap || h.tokens[i-1].compares < 2) {
			return 2
		}
	}
	return 0
}

// endChain ends the comparisons before the token i.
func (h *Program) endChain(i int) {
	c := &h.chains[len(h.chains)-1]
	if len(c.ops) > 1 {
		h.add(c.ops[1], "a chain of comparisons; write %s", h.apart(*c, i))
	}
	c.ops = c.ops[:0]
}

// apart writes a chain of comparisons as several that are joined by and.
func (h *Program) apart(c chain, end int) string {
	const otherwise = "a < b and b < c"
	if len(c.ops) > 4 {
		return otherwise
	}
	var parts []string
	from := c.from
	for n, op := range c.ops {
		to := end
		if n+1 < len(c.ops) {
			to = c.ops[n+1]
		}
		part := h.source(from, to, "")
		if part == "" {
			return otherwise
		}
		parts = append(parts, part)
		from = op + int(h.tokens[op].compares)
	}
	return strings.Join(parts, " and ")
}
