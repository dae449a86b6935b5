// Package shell is what scripts can do with other programs: take a command line apart,
// and run a command in the folder of a project.
//
// A command runs in the ways in which it only reads, as a table knows them, or as a rule
// of the user allows. The launcher that is given confines it.
package shell

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// longestLine is how long a command line may be: longer than people and
// models write, and short enough that what it nests fits on a stack.
const longestLine = 32 << 10

// Split returns the function shell.split, which is pure: it runs nothing.
func Split() tool.Module {
	return row.Pure(tool.Module{Name: "shell", Doc: "Commands: programs that are installed on the system.", Funcs: []tool.Func{{
		Name: "split",
		Doc: "Split a command line into arguments like a shell. The line must be one command without variables, patterns, pipes " +
			"or redirections. Other lines need a shell.",
		Params:  []tool.Param{tool.Required("line", tool.TypeString, "The command line, as in git log -n 5 'my file'.")},
		Returns: `the dict {"argv": the list for shell.run}. If the line needs a shell, the dict is {"dynamic": the reason}, with a reason such as "the line has a pipe"`,
		Do: row.Do(func(a *value.Dict) (value.Value, error) {
			argv, why, err := splitLine(a.Text("line"))
			switch {
			case err != nil:
				return nil, err
			case why != "":
				return value.NewDict("dynamic", why), nil
			}
			list := make(value.List, len(argv))
			for i, word := range argv {
				list[i] = word
			}
			return value.NewDict("argv", list), nil
		}),
	}}})
}

// splitLine gives the words of a command line, or why they are known to a shell
// alone.
func splitLine(line string) (argv []string, dynamic string, err error) {
	if len(line) > longestLine {
		return nil, "", row.Limit("the command line is longer than %d KB", longestLine>>10)
	}
	if strings.ContainsRune(line, 0) {
		return nil, "", row.Invalid("the command line contains a NUL character")
	}
	if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return nil, "the line has a control character", nil // which each shell reads in its own way
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return nil, "", row.Invalid("invalid command line: %s", text).WithHint("use the syntax of sh, without [[ ]], arrays and <( ) of bash")
	}
	if len(file.Stmts) == 0 {
		return nil, "", row.Invalid("the command line is empty").WithHint("write a command, as in git status")
	}
	if len(file.Stmts) > 1 {
		return nil, "the line has several commands", nil
	}
	call, why := simpleCall(file.Stmts[0])
	if why != "" {
		return nil, why, nil
	}
	for _, word := range call.Args {
		text, why := staticWord(word)
		if why != "" {
			return nil, why, nil
		}
		argv = append(argv, text)
	}
	if slices.Contains(builtins(), argv[0]) {
		return nil, argv[0] + " is a builtin of the shell", nil
	}
	return argv, "", nil
}

// simpleCall gives the one command that a statement is, or why it is more.
func simpleCall(s *syntax.Stmt) (*syntax.CallExpr, string) {
	switch {
	case s.Negated:
		return nil, "the line negates the exit code with !"
	case s.Background || s.Coprocess || s.Disown:
		return nil, "the line runs a command in the background"
	case len(s.Redirs) > 0:
		return nil, "the line has a redirection"
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 {
			return nil, "the line sets a variable"
		}
		return c, ""
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			return nil, "the line has a pipe"
		}
		return nil, "the line has several commands"
	}
	return nil, "the line has shell syntax, such as if or ( )"
}

// staticWord gives the text of a word, or why only the shell knows it.
func staticWord(w *syntax.Word) (text, dynamic string) {
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if why := b.Len() == 0 && i == 0 && strings.HasPrefix(p.Value, "~"); why {
				return "", "the line has a home folder (~)"
			}
			if why := litMeans(p.Value); why != "" {
				return "", why
			}
			b.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", "the line has a quote that begins with $"
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", "the line has a quote that begins with $"
			}
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", "the line has a variable or substitution ($)"
				}
				b.WriteString(unescape(lit.Value, "$`\"\\\n"))
			}
		default:
			return "", "the line has a variable or substitution ($)"
		}
	}
	return b.String(), ""
}

// braces are what some shells take for several words: {a,b} and {1..9}.
var braces = compiled(`\{[^{}]*(,|\.\.)[^{}]*\}|\{[^{}]*,`)

// litMeans returns what text without quotes means to a shell beside itself.
func litMeans(text string) string {
	bare := strings.Builder{}
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++ // what follows means itself
			continue
		}
		bare.WriteByte(text[i])
	}
	switch {
	case strings.ContainsAny(bare.String(), "*?["):
		return "the line has a file pattern"
	case braces().MatchString(bare.String()):
		return "the line has a brace expansion"
	}
	return ""
}

// unescape takes away the backslashes that say that what follows means itself:
// all, or those before one of some characters. A line that continues after a
// backslash is one.
func unescape(text, only string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (only == "" || strings.IndexByte(only, text[i+1]) >= 0) {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// builtins lists the commands that change or ask the shell itself, and are
// no programs.
func builtins() []string {
	return []string{
		".", ":", "alias", "bg", "break", "builtin", "cd", "command", "continue", "declare", "dirs", "eval", "exec", "exit", "export", "fc", "fg", "getopts", "hash", "history",
		"jobs", "let", "local", "popd", "pushd", "read", "readonly", "return", "set", "shift", "shopt", "source", "time", "times", "trap", "type", "typeset", "ulimit", "umask",
		"unalias", "unset", "wait",
	}
}
