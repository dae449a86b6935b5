// Package text is what scripts can do with texts: measure, wrap, search, compare and
// read pages. Its functions are pure, and safe for concurrent use.
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

// Text returns the module text: count, similarity, wrap, slice, slug, table and others.
func Text() tool.Module {
	return row.Pure(tool.Module{
		Name:  "text",
		Doc:   "Measure, compare and format text, faster than a script can.",
		Funcs: slices.Concat(measures(), layouts(), edits(), columnFuncs()),
	})
}

func measures() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text.")
	return []tool.Func{
		{
			Name: "count",
			Doc: "Count the words, lines, characters and bytes of a text. Words are separated by white space. A last line without " +
				"a line break counts as a line.",
			Params:  []tool.Param{text},
			Returns: `a dict {"words", "lines", "characters", "bytes"}`,
			Do:      row.Do(count),
		},
		{
			Name: "frequencies",
			Doc:  "Count how often each word occurs. Words are separated by white space.",
			Params: []tool.Param{
				text,
				tool.Optional("limit", tool.TypeInteger, int64(0), "The maximum number of words, the most frequent first; 0 means all."),
				tool.Optional("fold", tool.TypeBoolean, false, "Ignore case and surrounding punctuation when words are compared."),
			},
			Returns: "a dict from words to counts, the most frequent first; equally frequent words are in order of appearance",
			Do:      row.Do(frequencies),
		},
		{
			Name: "similarity",
			Doc: "Return the similarity of two texts: 1 minus the fraction of characters that differ. Changed, added and " +
				"removed characters count as different. A text may have at most 10,000 characters.",
			Params: []tool.Param{
				tool.Required("a", tool.TypeString, "The first text."),
				tool.Required("b", tool.TypeString, "The second text."),
			},
			Returns: "a number from 0 (nothing in common) to 1 (equal)",
			Do:      row.Do(similarity),
		},
		{
			Name:    "width",
			Doc:     "Return the number of terminal columns of a line. East Asian characters and emoji take 2 columns. Combining marks take 0 columns.",
			Params:  []tool.Param{text},
			Returns: "the number of columns",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return int64(displayWidth(a.Text("text"))), nil }),
		},
	}
}

func layouts() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text.")
	return []tool.Func{
		{
			Name:    "lines",
			Doc:     "Split a text into lines at LF and CRLF. A line break at the end does not add an empty line.",
			Params:  []tool.Param{text},
			Returns: "a list of lines without their line breaks",
			Do:      row.Do(lines),
		},
		{
			Name: "wrap",
			Doc: "Wrap lines at spaces to at most width columns. Existing line breaks are kept. A word that is too wide gets " +
				"a separate line.",
			Params: []tool.Param{
				text,
				row.Between(tool.Optional("width", tool.TypeInteger, int64(80), "The maximum number of columns of a line."), 1, row.MaxText),
			},
			Returns: "the wrapped text",
			Do:      row.Do(wrap),
		},
		{
			Name:    "dedent",
			Doc:     "Remove the common indentation of all lines. Lines with only white space become empty.",
			Params:  []tool.Param{text},
			Returns: "the text without the common indentation",
			Do:      row.Do(dedent),
		},
		{
			Name: "indent",
			Doc:  "Put a prefix before each line that is not blank.",
			Params: []tool.Param{
				text,
				tool.Optional("prefix", tool.TypeString, "    ", "The prefix."),
			},
			Returns: "the indented text",
			Do:      row.Do(indent),
		},
	}
}

func edits() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text.")
	return []tool.Func{
		{
			Name: "truncate",
			Doc:  "Shorten a text to at most limit characters, including the suffix.",
			Params: []tool.Param{
				text,
				row.Between(tool.Required("limit", tool.TypeInteger, "The maximum number of characters."), 0, math.MaxInt32),
				tool.Optional("suffix", tool.TypeString, "…", "The end of a shortened text."),
			},
			Returns: "the text, or its beginning and the suffix if the text is too long",
			Do:      row.Do(truncate),
		},
		{
			Name: "slice",
			Doc: "Return a part of a text. Positions count characters, as in the matches of module re. Slices in Starlark and Lua " +
				"count bytes instead. Negative positions count from the end.",
			Params: []tool.Param{
				text,
				tool.Optional("start", tool.TypeInteger, int64(0), "The position of the first character, from 0."),
				tool.Maybe("end", tool.TypeInteger, "The position after the last character. Default: the end of the text."),
			},
			Returns: "the part of the text, or an empty text if the positions select nothing",
			Do:      row.Do(slice),
		},
		{
			Name:    "normalize_space",
			Doc:     "Replace white space, including line breaks, with single spaces. Remove white space at both ends.",
			Params:  []tool.Param{text},
			Returns: "the text on one line",
			Do: row.Do(func(a *value.Dict) (value.Value, error) {
				return strings.Join(strings.Fields(a.Text("text")), " "), nil
			}),
		},
		{
			Name: "slug",
			Doc: "Convert a text to a name for URLs and files. The name has the words of the text in lower-case letters and digits. The separator joins the words. Accents " +
				"of Latin letters are removed (é becomes e, ß becomes ss). Letters of other scripts are kept.",
			Params: []tool.Param{
				text,
				tool.Optional("separator", tool.TypeString, "-", "The separator between words."),
			},
			Returns: "the slug, or an empty text if the text has no letters or digits",
			Do:      row.Do(slug),
		},
	}
}

func count(a *value.Dict) (value.Value, error) {
	text := a.Text("text")
	lines := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		lines++
	}
	return value.NewDict("words", int64(countWords(text)), "lines", int64(lines),
		"characters", int64(utf8.RuneCountInString(text)), "bytes", int64(len(text))), nil
}

// countWords counts words. For speed, the loop has no branch that depends on the text as long
// as that is ASCII.
func countWords(text string) int {
	words := 0
	wasSpace := uint8(1)
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			space := asciiSpaces[c]
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

// asciiSpaces holds 1 for each ASCII character that is white space.
var asciiSpaces = [utf8.RuneSelf]uint8{'\t': 1, '\n': 1, '\v': 1, '\f': 1, '\r': 1, ' ': 1}

type wordCount struct {
	text  string
	count int64
}

func frequencies(a *value.Dict) (value.Value, error) {
	limit, err := row.Size(a, "limit", math.MaxInt32)
	if err != nil {
		return nil, err
	}
	fold := a.Bool("fold")
	var words []wordCount
	index := map[string]int{}
	for word := range strings.FieldsSeq(a.Text("text")) {
		if fold {
			if word = foldWord(word); word == "" {
				continue
			}
		}
		i, ok := index[word]
		if !ok {
			if i = len(words); i == row.MaxValues {
				return nil, row.Limit("the text has more than %d different words", row.MaxValues)
			}
			index[word] = i
			words = append(words, wordCount{text: word})
		}
		words[i].count++
	}
	slices.SortStableFunc(words, func(a, b wordCount) int { return int(b.count - a.count) })
	if limit > 0 {
		words = words[:min(limit, len(words))]
	}
	d := &value.Dict{}
	for _, w := range words {
		d.Put(w.text, w.count)
	}
	return d, nil
}

// foldWord removes case and surrounding punctuation from a word.
func foldWord(word string) string {
	return strings.ToLower(strings.TrimFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}))
}

// maxSimilar is how many characters texts may have whose similarity is computed: the time
// grows with the product of both lengths, to a tenth of a second.
const maxSimilar = 10_000

// similarity computes the edit distance, with one row of the table at a time.
func similarity(args *value.Dict) (value.Value, error) {
	a, b := []rune(args.Text("a")), []rune(args.Text("b"))
	if max(len(a), len(b)) > maxSimilar {
		return nil, value.Errorf(value.Limit, "the text is longer than %d characters", maxSimilar).WithLimit(value.LimitLength).
			WithHint("compare parts of the texts, or use diff.stats, which compares lines")
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

// splitLines splits a text into lines without their line breaks.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}

func lines(a *value.Dict) (value.Value, error) {
	text := a.Text("text")
	if strings.Count(text, "\n") >= row.MaxValues {
		return nil, row.TooMany()
	}
	return row.List(splitLines(text)), nil
}

func wrap(a *value.Dict) (value.Value, error) {
	width := int(a.Int("width"))
	var b row.Builder
	for line := range strings.Lines(a.Text("text")) {
		body := strings.TrimRight(line, "\r\n")
		if displayWidth(body) > width {
			wrapLine(&b, body, width)
		} else {
			b.Add(body)
		}
		b.Add(line[len(body):])
	}
	return b.Text()
}

// wrapLine writes one line, broken at spaces. Its indentation stays.
func wrapLine(b *row.Builder, line string, width int) {
	trimmed := strings.TrimLeftFunc(line, unicode.IsSpace)
	indent := line[:len(line)-len(trimmed)]
	column := displayWidth(indent)
	b.Add(indent)
	first := true
	for word := range strings.FieldsSeq(trimmed) {
		w := displayWidth(word)
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

func dedent(a *value.Dict) (value.Value, error) {
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

func indent(a *value.Dict) (value.Value, error) {
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

func truncate(a *value.Dict) (value.Value, error) {
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

func slice(a *value.Dict) (value.Value, error) {
	text := a.Text("text")
	length := int64(utf8.RuneCountInString(text))
	start, err := position(row.Arg(a, "start"), length)
	if err != nil {
		return nil, err
	}
	end := length
	if v := row.Arg(a, "end"); v != nil {
		if end, err = position(v, length); err != nil {
			return nil, err
		}
	}
	if end <= start {
		return "", nil
	}
	head := row.Head(text, int(end))
	return head[len(row.Head(head, int(start))):], nil
}

// position returns a position in a text of a length, with Python's rules.
func position(v value.Value, length int64) (int64, error) {
	n, ok := v.(int64)
	if !ok {
		return 0, row.Invalid("invalid position: expected an integer of at most 64 bits but got %s", value.FormatJSON(v, ""))
	}
	if n < 0 {
		n = max(0, n+length)
	}
	return min(n, length), nil
}
