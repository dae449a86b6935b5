package check_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/cassidy-run/cassidy/internal/check"
)

// walkArchives checks the scripts of the archives of tests whose names match a pattern, and returns how
// many there were. The scripts are those that the commands of an archive load; see [loaded]. Their
// functions may have no docstrings, since they are as short as possible.
func walkArchives(t *testing.T, c *check.Checker, pattern string) (files int) {
	t.Helper()
	archives, err := filepath.Glob(pattern)
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives %s: %v", pattern, err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		folder, err := txtar.FS(archive)
		if err == nil {
			err = os.CopyFS(dir, folder)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if !loaded(string(archive.Comment), f.Name, string(f.Data)) {
				continue
			}
			files++
			for _, d := range c.File(filepath.Join(dir, f.Name), string(f.Data)) {
				if d.Code != "missing-docstring" {
					t.Errorf("%s: %s:%d:%d: %s", filepath.Base(name), f.Name, d.Pos.Line, d.Pos.Col, format(d))
				}
			}
		}
	}
	return files
}

// loaded reports whether the commands of an archive load a script where it is, and expect no fault in it:
// it is in the folder .cassidy, or a command names it. But no expected output has a position in it, and
// if a command that must fail names it, another one that succeeds does, too.
func loaded(commands, name, text string) bool {
	base, ext := filepath.Base(name), filepath.Ext(name)
	inProject := strings.Contains("/"+name, "/.cassidy/")
	isTool := ext == ".md" && inProject && strings.HasPrefix(text, "---") && strings.Contains(name, "tools/")
	if ext != ".star" && ext != ".lua" && !isTool {
		return false
	}
	stem := regexp.QuoteMeta(strings.TrimSuffix(base, ext))
	call := stem
	if !inProject {
		call = regexp.QuoteMeta(name)
	}
	word := regexp.MustCompile(`(^|[^\w-])` + call + `($|[^\w-])`)
	position := regexp.MustCompile(stem + `\\?` + regexp.QuoteMeta(ext) + `:`)
	succeeds, fails := false, false
	for line := range strings.Lines(commands) {
		command, rest, _ := strings.Cut(strings.TrimPrefix(line, "! "), " ")
		switch {
		case (command == "stdout" || command == "stderr") && position.MatchString(rest):
			return false
		case command != "exec" && command != "cassidy" || !word.MatchString(rest):
		case strings.HasPrefix(line, "! "):
			fails = true
		default:
			succeeds = true
		}
	}
	return succeeds || inProject && !fails
}
