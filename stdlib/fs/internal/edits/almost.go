package edits

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A likeness is a kind of characters that a reader does not tell from others, or that do
// not survive copying.
type likeness struct {
	name string
	is   func(r rune) bool
	as   string // what the characters are compared as; compatible for their usual forms
}

// compatible stands for another text for each character.
const compatible = "\x00"

func oneOf(chars string) func(rune) bool {
	return func(r rune) bool { return strings.ContainsRune(chars, r) }
}

// likenesses returns the kinds. A character that is not of a kind that is looked for is
// compared as itself.
func likenesses() []likeness {
	noBreak := oneOf("\u00a0\u202f\u2007")
	return []likeness{
		{"fullwidth or other compatibility characters", isCompatible, compatible},
		{"no-break spaces", noBreak, " "},
		{"special spaces", func(r rune) bool { return r != ' ' && unicode.Is(unicode.Zs, r) && !noBreak(r) }, " "},
		{"curly quotes", oneOf("‘’‚‛"), "'"},
		{"curly quotes", oneOf("“”„‟"), `"`},
		{"long dashes", func(r rune) bool { return r == '−' || r != '-' && unicode.Is(unicode.Pd, r) }, "-"},
		{"an ellipsis", oneOf("…"), "..."},
		{"invisible characters", func(r rune) bool {
			return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
		}, ""},
		{"decomposed accents", func(r rune) bool { return unicode.Is(unicode.Mn, r) }, ""},
		{"different spaces", oneOf(" \t\r"), " "},
	}
}

// The last two kinds of likenesses are compared in their own ways.
const ownWays = 2

// isCompatible reports whether a character is another form of usual ones. Most letters are not looked up.
func isCompatible(r rune) bool {
	return (r < 0x400 || r >= 0x2000 && r < 0x3400 || r >= 0xf900) && !norm.NFKC.IsNormalString(string(r)) && norm.NFC.IsNormalString(string(r))
}

// numbered is what read_file and search_files show in front of a line.
var numbered = regexp.MustCompile(`^(?:[^\s:]+:)? *\d+(?:\t|:|\||→)|^[^\s:]+-\d+-`)

// withoutNumbers removes the number in front of each line, or returns "".
func withoutNumbers(old string) string {
	lines := strings.Split(old, "\n")
	for i, line := range lines {
		n := len(numbered.FindString(line))
		if n == 0 && line != "" {
			return ""
		}
		lines[i] = line[n:]
	}
	return strings.Join(lines, "\n")
}

// escapes are ways in which a text may have been escaped once too often, by name.
var escapes = []struct {
	name string
	undo func(string) string
}{
	{`with line breaks, tabs and quotes in place of \n, \t and \": escape them once less`, strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace},
	{"without the escapes of HTML: pass < for &lt; and & for &amp;", html.UnescapeString},
	{"without the line numbers: leave them out", withoutNumbers},
}

// almostMatch returns a hint for a text that is not there: what differs, if another text
// looks like it, or else what is nearest. Both have LF.
func almostMatch(text, old string) string {
	const copied = "copy the text from the file exactly"
	if len(text) <= maxDiffedText && len(old) <= maxDiffedText {
		found := alike(text, old)
		if bare := withoutNumbers(old); found == nil && bare != "" {
			if found = alike(text, bare); found != nil {
				found.differs = append([]string{"without the line numbers"}, found.differs...)
			}
		}
		if found != nil {
			how := copied
			switch {
			case found.escaped != "":
				how = "pass it as " + found.escaped
			case len(found.differs) == 1 && strings.HasSuffix(found.differs[0], "numbers"):
				how = "leave them out"
			default:
				if where := nearest(text, old); where != "" {
					how = "it " + where
				}
			}
			return fmt.Sprintf("line %d has the text %s: %s", found.line, strings.Join(found.differs, " and "), how)
		}
	}
	for _, e := range escapes {
		if bare := e.undo(old); bare != old && strings.TrimSpace(bare) != "" {
			if at := strings.Index(text, bare); at >= 0 {
				return fmt.Sprintf("line %d has the text %s", 1+strings.Count(text[:at], "\n"), e.name)
			}
		}
	}
	if where := nearest(text, old); where != "" {
		return "the nearest text " + where
	}
	return "read the file, and copy the text from it exactly"
}

// A lookalike is a text in a file that looks like the one that was searched for.
type lookalike struct {
	line    int
	differs []string
	escaped string // the text, if it is short and cannot be copied
}

// alike returns the first text that looks like another, or nil.
func alike(text, old string) *lookalike {
	kinds := likenesses()
	on := make([]bool, len(kinds))
	for i := range on {
		on[i] = true
	}
	find := func() (at int, as string) {
		as, _ = fold(old, kinds, on, nil)
		if strings.TrimSpace(as) == "" {
			return -1, ""
		}
		all, _ := fold(text, kinds, on, nil)
		return strings.Index(all, as), as
	}
	if at, _ := find(); at < 0 {
		return nil
	}
	for i := range on { // only the kinds that are needed
		on[i] = false
		if at, _ := find(); at < 0 {
			on[i] = true
		}
	}
	at, as := find()
	_, from := fold(text, kinds, on, make([]int32, 0, len(text)))
	start, last := int(from[at]), int(from[at+len(as)-1])
	_, size := utf8.DecodeRuneInString(text[last:])
	have := text[start : last+size]
	found := &lookalike{line: 1 + strings.Count(text[:start], "\n")}
	copied := true
	for i, k := range kinds {
		if !on[i] {
			continue
		}
		what := "with " + k.name
		if i < len(kinds)-1 {
			copied = false
			if !strings.ContainsFunc(have, k.is) {
				what = "without " + k.name
			}
		}
		if n := len(found.differs); n == 0 || found.differs[n-1] != what {
			found.differs = append(found.differs, what)
		}
	}
	const short = 200
	if !copied && len(have) <= short {
		found.escaped = escaped(have, kinds[:len(kinds)-1])
	}
	return found
}

// fold returns a text in which the characters of some kinds are compared as others. If from
// is not nil, it also returns where each byte comes from.
func fold(text string, kinds []likeness, on []bool, from []int32) (string, []int32) {
	spaces, accents := len(kinds)-1, len(kinds)-ownWays
	b := make([]byte, 0, len(text))
	put := func(s string, at int) {
		b = append(b, s...)
		for range len(s) * min(1, cap(from)) {
			from = append(from, int32(at))
		}
	}
	space := -1 // where spaces began that are not yet written
	for at, r := range text {
		as := text[at:min(at+utf8.RuneLen(r), len(text))]
		if r >= utf8.RuneSelf {
			for i, k := range kinds[:accents] {
				if on[i] && k.is(r) {
					if as = k.as; as == compatible {
						as = norm.NFKC.String(string(r))
					}
					break
				}
			}
			if on[accents] {
				as = norm.NFD.String(as)
			}
		}
		switch {
		case as == "\n":
			space = -1
			put(as, at)
		case as == "\r" && strings.HasPrefix(text[at+1:], "\n"):
		case on[spaces] && (as == " " || as == "\t" || as == "\r"):
			if n := len(b); space < 0 && n > 0 && b[n-1] != '\n' {
				space = at
			}
		default:
			if space >= 0 && as != "" {
				put(" ", space)
				space = -1
			}
			put(as, at)
		}
	}
	return string(b), from
}

// escaped quotes a text, with escapes for the characters that look like others.
func escaped(text string, kinds []likeness) string {
	var b strings.Builder
	for _, r := range text {
		hide := unicode.IsControl(r)
		for _, k := range kinds {
			hide = hide || k.is(r)
		}
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case hide && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}
