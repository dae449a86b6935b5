package cassidy_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/sourcetest"
)

// oddWords are words that readers of comments, messages and docs do not expect; see
// "Language" in CONTRIBUTING.md for what to write instead.
var oddWords = regexp.MustCompile(`(?i)\b(lend|lends|lent|stranger|strangers|mend|mends|mended|goes on|go on|take back|takes back|taken back|` +
	`is none|are none|keeps silent|wholly|for good|was told|is told|is said|tells|what is away|found away|of which|of no account|` +
	`keep the books|kept the books)\b`)

// maxOddWords is how many lines of 1,000 in comments, strings and docs may have one.
const maxOddWords = 3

// TestWords counts odd words in the comments, the string literals, the docs, and the scripts of
// the repository, examples included.
// `make words` lists where they are.
func TestWords(t *testing.T) {
	lines, hits := 0, map[string]int{}
	read := func(name string, line int, text string) {
		for s := range strings.Lines(text) {
			lines++
			if word := oddWords.FindString(s); word != "" {
				hits[path.Dir(name)]++
				if testing.Verbose() {
					t.Logf("%s:%d: %s", name, line, strings.TrimSpace(s))
				}
			}
			line++
		}
	}
	for _, f := range sourcetest.Files(t, ".") {
		for _, group := range f.AST.Comments {
			read(filepath.ToSlash(f.Name), f.Set.Position(group.Pos()).Line, group.Text())
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && lit.Pos() > f.AST.Name.End() {
				read(filepath.ToSlash(f.Name), f.Set.Position(lit.Pos()).Line, lit.Value)
			}
			return true
		})
	}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".ci" || d.Name() == "testdata"):
			return fs.SkipDir
		case path.Ext(name) != ".md" && path.Ext(name) != ".star" && path.Ext(name) != ".lua":
			return nil
		}
		text, err := os.ReadFile(name)
		read(filepath.ToSlash(name), 1, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	t.Logf("%d lines", lines)
	for dir, n := range hits {
		total += n
		t.Logf("%4d %s", n, dir)
	}
	if total*1000 > lines*maxOddWords {
		t.Errorf("%d of %d lines in comments, strings and docs have odd words, more than %d of 1,000: run make words", total, lines, maxOddWords)
	}
}
