package fs

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Bounds of the diff that an edit gives: a diff of more than that nobody reads,
// and making one of a file of millions of lines takes many times its size.
const (
	fsDiffedText  = 1 << 20
	fsDiffedEdits = 1000
	fsShownDiff   = 64 << 10
	fsShownLines  = 10 // how many line numbers an error gives
	fsGuessed     = 50 // lines of a text that is not there, for a guess where it might be
)

func (w *Files) editFunc() tool.Func {
	return w.fsWriteFunc(w.filePath, (*look).edit, tool.Func{
		Name: "edit",
		Doc:  "Replace a text in a file by another. It must be there exactly once, unless all are to be replaced.",
		Params: []tool.Param{
			tool.Required("path", tool.TypeString, "the file"),
			tool.Required("old", tool.TypeString, "the text as it is in the file, with its spaces and line ends"),
			tool.Required("new", tool.TypeString, "what to put in its place"),
			tool.Optional("replace_all", tool.TypeBoolean, false, "replace it wherever it is"),
		},
		Returns: `{"path", "replacements": how many, "diff": unified diff}`,
	})
}

func (l *look) edit(args *value.Dict) (value.Value, error) {
	old, becomes := args.Text("old"), args.Text("new")
	switch {
	case old == "":
		return nil, value.Errorf(value.Invalid, "argument 'old' is empty").WithHint("fs.write writes a whole file, fs.append at its end")
	case old == becomes:
		return nil, value.Errorf(value.Invalid, "arguments 'old' and 'new' are the same")
	}
	s, err := l.toWrite(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.kind() == fsNothing {
		l.sawNothing(s)
		return nil, s.missing()
	}
	st, err := s.now()
	switch {
	case err != nil:
		return nil, err
	case st.Dir:
		return nil, s.isFolder()
	case !utf8.Valid(st.Data):
		return nil, fsNotText(l.w.Shown(s.asked))
	}
	text, shown := string(st.Data), l.w.Shown(s.asked)
	n, err := fsMatches(shown, text, old, args.Bool("replace_all"))
	if err != nil {
		return nil, err
	}
	if size := int64(len(text)) + int64(n)*int64(len(becomes)-len(old)); size > l.w.limits.Write {
		return nil, fsLimit(value.LimitWrites, "%s would be larger than %s", shown, fsSize(l.w.limits.Write))
	}
	plan := l.plan()
	plan.add(s.path, st, fsFileState([]byte(strings.ReplaceAll(text, old, becomes)), st.Mode))
	if err := plan.stage(); err != nil {
		return nil, err
	}
	return value.NewDict("path", shown, "replacements", int64(n), "diff", fsEditDiff(shown, text, old, becomes, n)), nil
}

// fsMatches counts a text in another, and refuses a number that was not meant.
func fsMatches(shown, text, old string, all bool) (int, error) {
	n := strings.Count(text, old)
	switch {
	case n == 0:
		return 0, value.Errorf(value.Failed, "the old text is not in %s", shown).WithHint("%s", fsAlmost(text, old))
	case n > 1 && !all:
		return 0, value.Errorf(value.Failed, "the old text is in %s %d times, at lines %s", shown, n, fsMatchLines(text, old)).
			WithHint("give more of the text around the one that is meant, or replace_all=True")
	}
	return n, nil
}

// fsMatchLines lists the lines at which the first matches begin.
func fsMatchLines(text, old string) string {
	var lines []string
	line, from := 1, 0
	for {
		i := strings.Index(text[from:], old)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		if len(lines) == fsShownLines {
			return strings.Join(lines, ", ") + ", …"
		}
		line += strings.Count(text[from:from+i], "\n")
		lines = append(lines, strconv.Itoa(line))
		line += strings.Count(old, "\n")
		from += i + len(old)
	}
}

// fsAlmost says what may be wrong with a text that is not there: most often
// its spaces or its line ends.
func fsAlmost(text, old string) string {
	if strings.Contains(text, strings.ReplaceAll(old, "\n", "\r\n")) {
		return `the lines of the file end in "\r\n"`
	}
	want := fsTrimmedLines(old)
	have := fsTrimmedLines(text)
	if len(want) > fsGuessed {
		have = nil
	}
	for i := 0; i+len(want) <= len(have); i++ {
		if fsLinesMatch(have[i:], want) {
			return fmt.Sprintf("with other spaces it is there at line %d", i+1)
		}
	}
	return "read the file, and give the text exactly as it is there"
}

func fsTrimmedLines(text string) []string {
	if len(text) > fsDiffedText {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return lines
}

func fsLinesMatch(have, want []string) bool {
	blank := true
	for i, line := range want {
		if have[i] != line {
			return false
		}
		blank = blank && line == ""
	}
	return !blank
}

// fsEditDiff shows what an edit did. The places are known, so nothing has to be
// compared.
func fsEditDiff(shown, text, old, becomes string, n int) string {
	if len(text) > fsDiffedText || n > fsDiffedEdits {
		return fmt.Sprintf("(%d replacements in %d bytes: too many for a diff)", n, len(text))
	}
	edits := make([]udiff.Edit, 0, n)
	for from := 0; ; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		start := from + i
		from = start + len(old)
		edits = append(edits, udiff.Edit{Start: start, End: from, New: becomes})
	}
	diff, err := udiff.ToUnified("a/"+shown, "b/"+shown, text, edits, udiff.DefaultContextLines)
	if err != nil {
		return fmt.Sprintf("(no diff: %v)", err)
	}
	if len(diff) > fsShownDiff {
		diff = diff[:strings.LastIndexByte(diff[:fsShownDiff], '\n')+1] + "(the diff goes on)\n"
	}
	return diff
}
