// Package text is what scripts can do with texts: measure, wrap, search, compare and
// read pages.
package text

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Text returns the module text.
func Text() tool.Module {
	return tool.Module{
		Name:  "text",
		Doc:   "Measures, compares and shapes text, at a speed that a script does not reach.",
		Funcs: slices.Concat(textMeasures(), textLayouts(), textEdits(), textColumns()),
	}
}

func textMeasures() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text.")
	return []tool.Func{
		{
			Name: "count",
			Doc: "Counts what a text holds. Words are what white space separates; a last line without a line break " +
				"counts as a line.",
			Params:  []tool.Param{text},
			Returns: `a dict {"words", "lines", "characters", "bytes"}`,
			Do:      row.Do(textCount),
		},
		{
			Name: "frequencies",
			Doc:  "Counts how often each word occurs, words being what white space separates.",
			Params: []tool.Param{
				text,
				tool.Optional("limit", tool.TypeInteger, int64(0), "Give only this many of the most frequent words; 0 means all."),
				tool.Optional("fold", tool.TypeBoolean, false, "Count words as the same that differ in case or in the punctuation around them."),
			},
			Returns: "a dict of words and how often they occur, the most frequent first, then in order of appearance",
			Do:      row.Do(textFrequencies),
		},
		{
			Name: "similarity",
			Doc: "Says how alike two short texts are: 1 less the share of characters that must be changed, added or " +
				"removed to turn one into the other. Texts may have 10,000 characters.",
			Params: []tool.Param{
				tool.Required("a", tool.TypeString, "One text."),
				tool.Required("b", tool.TypeString, "The other."),
			},
			Returns: "a number from 0 (nothing in common) to 1 (the same)",
			Do:      row.Do(textSimilarity),
		},
		{
			Name:    "width",
			Doc:     "Says how many columns a line takes on a terminal: 2 for East Asian characters and emoji, 0 for combining marks.",
			Params:  []tool.Param{text},
			Returns: "the number of columns",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return int64(textWidth(a.Text("text"))), nil }),
		},
	}
}

func textLayouts() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text.")
	return []tool.Func{
		{
			Name:    "lines",
			Doc:     "Splits a text into lines at LF and CRLF. A line break at the end begins no further line.",
			Params:  []tool.Param{text},
			Returns: "a list of lines without their line breaks",
			Do:      row.Do(textLines),
		},
		{
			Name: "wrap",
			Doc: "Breaks lines at spaces so that none is wider than width. Line breaks that are there stay; a word " +
				"that is wider has a line of its own.",
			Params: []tool.Param{
				text,
				row.Between(tool.Optional("width", tool.TypeInteger, int64(80), "How many columns a line may take."), 1, row.MaxText),
			},
			Returns: "the text with more line breaks",
			Do:      row.Do(textWrap),
		},
		{
			Name:    "dedent",
			Doc:     "Removes the indentation that all lines have in common; lines of white space alone become empty.",
			Params:  []tool.Param{text},
			Returns: "the text, moved to the left",
			Do:      row.Do(textDedent),
		},
		{
			Name: "indent",
			Doc:  "Puts a prefix before each line that is not blank.",
			Params: []tool.Param{
				text,
				tool.Optional("prefix", tool.TypeString, "    ", "What to put before each line."),
			},
			Returns: "the text with the prefix on each line",
			Do:      row.Do(textIndent),
		},
	}
}

func textEdits() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text.")
	return []tool.Func{
		{
			Name: "truncate",
			Doc:  "Cuts a text to at most limit characters, the suffix included.",
			Params: []tool.Param{
				text,
				row.Between(tool.Required("limit", tool.TypeInteger, "How many characters the result may have."), 0, math.MaxInt32),
				tool.Optional("suffix", tool.TypeString, "…", "What shows that something was cut."),
			},
			Returns: "the text itself if it is short enough, else its beginning and the suffix",
			Do:      row.Do(textTruncate),
		},
		{
			Name: "slice",
			Doc: "Takes a part of a text by characters, where the languages themselves count bytes: a match of re " +
				"fits it. Negative positions count from the end.",
			Params: []tool.Param{
				text,
				tool.Optional("start", tool.TypeInteger, int64(0), "The first character to take, counted from 0."),
				tool.Maybe("end", tool.TypeInteger, "The first character to leave; without it, the rest is taken."),
			},
			Returns: "the part of the text; empty where there is none",
			Do:      row.Do(textSlice),
		},
		{
			Name:    "normalize_space",
			Doc:     "Replaces every run of white space, line breaks too, by one space, and removes it at both ends.",
			Params:  []tool.Param{text},
			Returns: "the text on one line",
			Do: row.Do(func(a *value.Dict) (value.Value, error) {
				return strings.Join(strings.Fields(a.Text("text")), " "), nil
			}),
		},
		{
			Name: "slug",
			Doc: "Makes a name for addresses and files: lower-case letters and digits, joined by the separator. Accents " +
				"of Latin letters are dropped (é is e, ß is ss); letters of other scripts stay.",
			Params: []tool.Param{
				text,
				tool.Optional("separator", tool.TypeString, "-", "What stands for everything between words."),
			},
			Returns: "the slug; empty if the text holds no letter or digit",
			Do:      row.Do(textSlug),
		},
	}
}

func textCount(a *value.Dict) (value.Value, error) {
	text := a.Text("text")
	lines := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		lines++
	}
	return value.NewDict("words", int64(textWords(text)), "lines", int64(lines),
		"characters", int64(utf8.RuneCountInString(text)), "bytes", int64(len(text))), nil
}

// textWords counts words. It is the loop that scripts cannot run a million
// times, so it takes no branch that depends on the text while that is ASCII.
func textWords(text string) int {
	words := 0
	wasSpace := uint8(1)
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			space := textSpaces[c]
			words += int(wasSpace &^ space)
			wasSpace = space
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		space := uint8(0)
		if unicode.IsSpace(r) {
			space = 1
		}
		words += int(wasSpace &^ space)
		wasSpace = space
		i += size
	}
	return words
}

// textSpaces holds 1 for each ASCII character that is white space.
var textSpaces = [utf8.RuneSelf]uint8{'\t': 1, '\n': 1, '\v': 1, '\f': 1, '\r': 1, ' ': 1}

type textWord struct {
	text  string
	count int64
}

func textFrequencies(a *value.Dict) (value.Value, error) {
	limit, err := row.Size(a, "limit", math.MaxInt32)
	if err != nil {
		return nil, err
	}
	fold := a.Bool("fold")
	var words []textWord
	index := map[string]int{}
	for word := range strings.FieldsSeq(a.Text("text")) {
		if fold {
			if word = textFold(word); word == "" {
				continue
			}
		}
		i, ok := index[word]
		if !ok {
			if i = len(words); i == row.MaxValues {
				return nil, row.Limit("the text holds more than %d different words", row.MaxValues)
			}
			index[word] = i
			words = append(words, textWord{text: word})
		}
		words[i].count++
	}
	slices.SortStableFunc(words, func(a, b textWord) int { return int(b.count - a.count) })
	if limit > 0 {
		words = words[:min(limit, len(words))]
	}
	d := &value.Dict{}
	for _, w := range words {
		d.Put(w.text, w.count)
	}
	return d, nil
}

// textFold takes case and surrounding punctuation from a word.
func textFold(word string) string {
	return strings.ToLower(strings.TrimFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}))
}

// textMaxSimilar is how many characters texts may have whose similarity is
// asked: the time grows with the product of both, to a tenth of a second.
const textMaxSimilar = 10_000

// textSimilarity keeps one row of the table of edit distances.
func textSimilarity(args *value.Dict) (value.Value, error) {
	a, b := []rune(args.Text("a")), []rune(args.Text("b"))
	if max(len(a), len(b)) > textMaxSimilar {
		e := value.Errorf(value.Limit, "a text of more than %d characters", textMaxSimilar)
		e.Limit = value.LimitLength
		return nil, e.WithHint("compare parts of the texts, or use diff.stats, which compares lines")
	}
	if len(a) == 0 && len(b) == 0 {
		return 1.0, nil
	}
	row := make([]int32, len(b)+1)
	for j := range row {
		row[j] = int32(j)
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = int32(i + 1)
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return 1 - float64(row[len(b)])/float64(max(len(a), len(b))), nil
}

// textSplit splits a text into lines without their line breaks.
func textSplit(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}

func textLines(a *value.Dict) (value.Value, error) {
	text := a.Text("text")
	if strings.Count(text, "\n") >= row.MaxValues {
		return nil, row.TooMany()
	}
	return row.List(textSplit(text)), nil
}

func textWrap(a *value.Dict) (value.Value, error) {
	width := int(a.Int("width"))
	var b row.Builder
	for line := range strings.Lines(a.Text("text")) {
		body := strings.TrimRight(line, "\r\n")
		if textWidth(body) > width {
			textWrapLine(&b, body, width)
		} else {
			b.Add(body)
		}
		b.Add(line[len(body):])
	}
	return b.Text()
}

// textWrapLine writes one line, broken at spaces; its indentation stays.
func textWrapLine(b *row.Builder, line string, width int) {
	trimmed := strings.TrimLeftFunc(line, unicode.IsSpace)
	indent := line[:len(line)-len(trimmed)]
	column := textWidth(indent)
	b.Add(indent)
	first := true
	for word := range strings.FieldsSeq(trimmed) {
		w := textWidth(word)
		switch {
		case first:
		case column+1+w <= width:
			b.Add(" ")
			column++
		default:
			b.Add("\n")
			column = 0
		}
		first = false
		b.Add(word)
		column += w
	}
}

func textDedent(a *value.Dict) (value.Value, error) {
	text := a.Text("text")
	common, found := "", false
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " \t")
		if strings.TrimRight(body, "\r\n") == "" {
			continue
		}
		margin := line[:len(line)-len(body)]
		if !found {
			common, found = margin, true
		}
		n := 0
		for n < min(len(common), len(margin)) && common[n] == margin[n] {
			n++
		}
		common = common[:n]
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if body := strings.TrimLeft(line, " \t"); strings.TrimRight(body, "\r\n") == "" {
			b.WriteString(body)
			continue
		}
		b.WriteString(line[len(common):])
	}
	return b.String(), nil
}

func textIndent(a *value.Dict) (value.Value, error) {
	prefix := a.Text("prefix")
	var b row.Builder
	for line := range strings.Lines(a.Text("text")) {
		if strings.TrimSpace(line) != "" {
			b.Add(prefix)
		}
		if b.Add(line); b.Full {
			break
		}
	}
	return b.Text()
}

func textTruncate(a *value.Dict) (value.Value, error) {
	text, suffix := a.Text("text"), a.Text("suffix")
	limit := int(a.Int("limit"))
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text, nil
	}
	keep := limit - utf8.RuneCountInString(suffix)
	if keep < 0 {
		return row.Head(suffix, limit), nil
	}
	return row.Head(text, keep) + suffix, nil
}

func textSlice(a *value.Dict) (value.Value, error) {
	text := a.Text("text")
	length := int64(utf8.RuneCountInString(text))
	start, err := textPosition(row.Arg(a, "start"), length)
	if err != nil {
		return nil, err
	}
	end := length
	if v := row.Arg(a, "end"); v != nil {
		if end, err = textPosition(v, length); err != nil {
			return nil, err
		}
	}
	if end <= start {
		return "", nil
	}
	head := row.Head(text, int(end))
	return head[len(row.Head(head, int(start))):], nil
}

// textPosition brings a position into a text of a length, as Python does.
func textPosition(v value.Value, length int64) (int64, error) {
	n, ok := v.(int64)
	if !ok {
		return 0, row.Invalid("a position should be a small integer (got %s)", value.FormatJSON(v, ""))
	}
	if n < 0 {
		n = max(0, n+length)
	}
	return min(n, length), nil
}
