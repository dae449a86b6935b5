package table

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/stdlib/internal/csv"
)

// What a file means is a guess where a cell is almost a number. A guess that can change a
// result is always a note of the table: what was read as a number or as missing although it
// is written as something else, and why a column of numbers is a text.

// maxDialled is how many digits a number with a plus may have: a longer one is dialled.
const maxDialled = 6

// A dress is what is written around a number for people.
type dress struct {
	plus, parens, percent bool
	currency              rune // 0 if there is none
}

// undress returns a number without a plus, a currency or percent sign, no-break spaces
// between groups of three digits, or the parentheses of accounting, which make it
// negative. ok is false if the text has none of them.
func undress(s string) (plain string, d dress, ok bool) {
	if s == "" || !dressed(s[0]) && !dressed(s[len(s)-1]) && !(s[0] == '-' && len(s) > 1 && dressed(s[1])) && !strings.ContainsAny(s, groupSpaces) {
		return "", d, false
	}
	rest, minus, signed := s, false, false
	for {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == '(' && !d.parens && !signed && strings.HasSuffix(rest, ")"):
			d.parens, rest = true, rest[1:len(rest)-1]
		case (r == '+' || r == '-' || r == '−') && !signed && !d.parens:
			signed, d.plus, minus, rest = true, r == '+', r != '+', rest[size:]
		case unicode.Is(unicode.Sc, r) && d.currency == 0:
			d.currency, rest = r, trimBlank(rest[size:])
		default:
			last, size := utf8.DecodeLastRuneInString(rest)
			if unicode.Is(unicode.Sc, last) && d.currency == 0 {
				d.currency, rest = last, trimBlank(rest[:len(rest)-size])
				continue
			}
			if last == '%' && !d.percent && d.currency == 0 {
				d.percent, rest = true, trimBlank(rest[:len(rest)-size])
				continue
			}
			if strings.ContainsAny(rest, groupSpaces) {
				spaced := numbers{thousands: " "}
				whole := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool { return r != '.' && r != ',' }))]
				ungrouped, ok := spaced.ungrouped(whole)
				if !ok {
					return "", d, false
				}
				rest = ungrouped + rest[len(whole):]
			}
			_, count := digits(rest)
			switch {
			case rest == "" || rest[0]-'0' > 9 && rest[0] != '.' && rest[0] != ',', d.plus && d.currency == 0 && count == len(rest) && count > maxDialled:
				return "", d, false
			case minus || d.parens:
				rest = "-" + rest
			}
			return rest, d, true
		}
	}
}

// dressed reports whether a byte may begin or end what is written around a number.
func dressed(c byte) bool {
	return c == '+' || c == '(' || c == ')' || c == '$' || c == '%' || c >= utf8.RuneSelf
}

// groupSpaces are the no-break spaces between the groups of digits in texts.
const groupSpaces = "\u00a0\u202f"

func trimBlank(s string) string { return strings.Trim(s, " "+groupSpaces) }

// dressedKind returns the kind of a number that is written for people.
func (n *numbers) dressedKind(s string) kindSet {
	plain, d, ok := undress(s)
	if !ok || d.percent && !n.percents {
		return hasText
	}
	if v, ok := n.bareInteger(plain); ok && !d.percent {
		return kindOfInteger(v) | hasDressed
	} else if ok || n.isFloat(plain) {
		return n.kindOfFloat(plain) | hasDressed
	}
	return hasText
}

// isSign reports whether a text is one of the signs for a missing value in tables for
// people. They are no words for a missing value in a column of nothing else.
func isSign(s string) bool {
	switch s {
	case "-", "--", "–", "—", "#N/A", "n/a":
		return true
	}
	return false
}

// A columnGuess is what was seen in a column that can make its type wrong.
type columnGuess struct {
	sign     string // one of the signs for a missing value
	example  string // a number with a plus or a currency
	negative string // a number in parentheses
	percent  string // a number with a percent sign
	whole    bool   // there are numbers without one
	large    string // a number with more digits than a float keeps
	huge     string // an integer of more than 64 bits, if all values are numbers
	currency rune   // of the first number that has one
	mixed    bool   // there are several currencies
	bare     bool   // there are numbers without parentheses
	unquoted bool   // the first values are numbers without their quotes

	code string // the code of a currency, as in USD, that all the first values have

	counted bool    // the values of a text are counted
	kinds   kindSet // of those that are no texts
	fit     int     // how many these are
	odd     int     // how many texts there are
	text    string  // the first text
	line    int     // its line
}

// number records a number.
func (g *columnGuess) number(s string, kind kindSet) {
	if kind&hasLarge != 0 && g.large == "" {
		g.large = strings.Clone(s)
	}
	if kind&hasDressed == 0 {
		g.bare, g.whole = true, g.whole || s != "0"
		return
	}
	_, d, _ := undress(s)
	g.bare, g.whole = g.bare || !d.parens, g.whole || !d.percent
	switch {
	case d.percent:
		if g.percent == "" {
			g.percent = strings.Clone(s)
		}
	case d.parens && g.negative == "":
		g.negative = strings.Clone(s)
	case !d.parens && g.example == "":
		g.example = strings.Clone(s)
	}
	if d.currency != 0 {
		g.mixed = g.mixed || g.currency != 0 && g.currency != d.currency
		g.currency = d.currency
	}
}

// isText reports whether the numbers are not read as numbers after all.
func (g *columnGuess) isText() bool {
	return g.mixed || g.negative != "" && !g.bare || g.percent != "" && g.whole
}

// count counts the values of some rows of a column of texts.
func (c *csvColumn) count(f *csvFile, b *csv.Rows, column int) {
	for row, k := 0, column; k < len(b.Spans); row, k = row+1, k+f.width {
		raw := b.Cell(b.Spans[k])
		s := trimSpaces(raw)
		if s == "" || f.missing[raw] || f.missing == nil && (isWord(s) || isSign(s)) {
			continue
		}
		if kind := f.numbers.kindOf(s); kind != hasText {
			c.guess.kinds |= kind
			c.guess.fit++
		} else if c.guess.odd++; c.guess.odd == 1 {
			c.guess.text, c.guess.line = strings.Clone(s), b.Lines[row]
		}
	}
}

// lookAlikes looks at the first cells of each column of texts: whether they are numbers in
// a format that must be specified, in quotes, or among others.
func (f *csvFile) lookAlikes(b *csv.Rows, quoted bool) {
	const enough = 100
	for i, c := range f.columns {
		if c.seen&hasText == 0 && (quoted || c.seen&hasQuoted == 0) || c.forced {
			continue
		}
		var cells []string
		fit := 0
		for k := i; k < len(b.Spans) && len(cells) < enough; k += f.width {
			if s := trimSpaces(b.Cell(b.Spans[k])); s != "" && !isWord(s) && !isSign(s) {
				cells = append(cells, s)
				if f.numbers.kindOf(s) != hasText {
					fit++
				}
			}
		}
		if f.numbers.usual {
			c.lookalike = lookalike(cells)
		}
		c.guess.code = codeOf(f.numbers, cells)
		if allNumbers(f.numbers, cells) && fit < len(cells) {
			for _, s := range cells {
				if f.numbers.kindOf(s) == hasText {
					c.guess.huge = strings.Clone(s)
				}
			}
		}
		c.guess.unquoted = c.seen&hasText == 0 && fit == len(cells)
		if c.seen&hasText != 0 && !c.guess.counted && fit > 0 && fit >= len(cells)-fit {
			c.guess.counted = true
			c.count(f, b, i)
		}
	}
}

// codeOf returns the three letters, as of a currency, before or after the number in each
// cell, or "".
func codeOf(n numbers, cells []string) string {
	code := ""
	for _, s := range cells {
		head, tail, _ := strings.Cut(s, " ")
		if n.kindOf(head) != hasText {
			head, tail = tail, head
		}
		if len(head) != 3 || strings.Trim(head, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || code != "" && head != code {
			return ""
		}
		if code = head; tail == "" || lookalike([]string{tail}) == "" && n.kindOf(tail)&(hasInteger|hasFloat) == 0 {
			return ""
		}
	}
	return code
}

// note returns the note about the type of a column, or "". Before the quotes counted, its
// type was found.
func (c *csvColumn) note(found Type) string {
	g, name := &c.guess, quoteCut(c.name)
	switch {
	case c.forced:
	case c.typ != Text:
		var read []string
		if g.example != "" {
			read = append(read, fmt.Sprintf("%s is read as a number", quoteCut(g.example)))
		}
		if g.negative != "" {
			read = append(read, fmt.Sprintf("%s is read as a negative number", quoteCut(g.negative)))
		}
		if g.percent != "" {
			read = append(read, fmt.Sprintf("%s is read as a fraction of 1", quoteCut(g.percent)))
		}
		if g.sign != "" {
			read = append(read, fmt.Sprintf("%s is read as missing", quoteCut(g.sign)))
		}
		if read != nil {
			return fmt.Sprintf("column %s: %s; to keep the texts, pass types = {%q: \"text\"}", name, strings.Join(read, ", "), c.name)
		}
	case c.lookalike != "":
		return fmt.Sprintf("column %s is text, but its first values are numbers: pass %s", name, c.lookalike)
	case g.code != "":
		return fmt.Sprintf("column %s is text: its first values are numbers with %s, which is not read", name, g.code)
	case g.mixed:
		return fmt.Sprintf("column %s is text, because its numbers have several currencies", name)
	case g.negative != "" && !g.bare:
		return fmt.Sprintf("column %s is text, because all its numbers are in parentheses, as in %s", name, quoteCut(g.negative))
	case g.percent != "" && g.whole:
		return fmt.Sprintf("column %s is text, because only some of its numbers have a percent sign, as %s: to read it as a fraction of 1, pass percent = True", name, quoteCut(g.percent))
	case g.large != "" && found == Any && families(c.seen&^(hasQuoted|hasText)) == "numbers":
		return fmt.Sprintf("column %s is text, because %s has more digits than a float keeps: to round it, pass types = {%q: \"float\"}", name, g.large, c.name)
	case g.huge != "" && !(g.odd > 0 && g.fit >= g.odd):
		return fmt.Sprintf("column %s is text, because %s has more than 64 bits: to round it, pass types = {%q: \"float\"}", name, g.huge, c.name)
	case g.unquoted && found != Text && found != Any:
		return fmt.Sprintf("column %s is text, because some values are in quotes: if they are of type %s, pass types = {%q: %q}", name, found, c.name, found)
	case g.odd == 0 && c.seen&hasText == 0 && found == Any:
		return fmt.Sprintf("column %s is text: its values are %s", name, families(c.seen))
	case g.odd > 0 && g.fit >= g.odd:
		text := string(completeRunes([]byte(g.text[:min(len(g.text), 60)])))
		how := fmt.Sprintf("to read it as missing, pass missing = [%q]", text)
		if g.sign != "" {
			how = fmt.Sprintf("to read it as missing, pass missing = [%q, %q]", g.sign, text)
		}
		if _, ok := parseFloat(g.text); ok {
			how = fmt.Sprintf("to read numbers, pass types = {%q: \"float\"}", c.name)
		} else if _, count := digits(g.text); count == len(g.text) {
			how = "zeros at the beginning are kept"
		}
		return fmt.Sprintf("column %s is text: its values are %s, except %d of %d, the first %s on line %d: %s",
			name, families(g.kinds), g.odd, g.odd+g.fit, quoteCut(g.text), g.line, how)
	}
	return ""
}

// notesOfKinds returns the notes about the types of columns whose cells have types of their
// own, in files other than CSV.
func notesOfKinds(names []string, types []Type, columns []kindSet, given map[string]Type) []string {
	var notes []string
	for i, name := range names {
		if _, ok := given[name]; ok {
			continue
		}
		all := families(columns[i])
		switch {
		case types[i] == Any && (strings.Contains(all, " and ") || columns[i]&hasLarge != 0):
			notes = append(notes, fmt.Sprintf("column %s has the type any: its values are %s; SQL compares them as texts", quoteCut(name), all))
		case types[i] != Any && types[i] != Text && columns[i]&hasSign != 0:
			notes = append(notes, fmt.Sprintf("column %s: signs such as \"-\" are read as missing", quoteCut(name)))
		}
	}
	return notes
}

// families names what the values of some kinds are.
func families(s kindSet) string {
	var names []string
	for _, family := range []struct {
		kinds kindSet
		name  string
	}{
		{hasInteger | hasLarge | hasFloat, "numbers"},
		{hasBool, "bools"},
		{hasDate | hasDateTime, "dates or times"},
		{hasInstant, "times with a zone"},
		{hasText | hasDateText | hasDateTimeText | hasInstantText, "texts"},
		{hasOther, "lists, objects or large integers"},
	} {
		if s&family.kinds != 0 {
			names = append(names, family.name)
		}
	}
	return strings.Join(names, " and ")
}
