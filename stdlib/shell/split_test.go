package shell

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestShellSplit(t *testing.T) {
	t.Parallel()
	words := func(w ...string) value.Value { return value.NewDict("argv", argvOf(w...)) }
	why := func(text string) value.Value { return value.NewDict("dynamic", text) }
	rowtest.Table(t, []tool.Module{Split()}, false, []rowtest.Case{
		{Fn: "shell.split", Args: []any{"ls"}, Want: words("ls")},
		{Fn: "shell.split", Args: []any{"  git  log -n 5\t--oneline  "}, Want: words("git", "log", "-n", "5", "--oneline")},
		{Fn: "shell.split", Args: []any{"grep 'a b' \"c d\" e\\ f"}, Want: words("grep", "a b", "c d", "e f")},
		{Fn: "shell.split", Args: []any{`echo "a'b" 'a"b' a'b'"c"d`}, Want: words("echo", "a'b", `a"b`, "abcd")},
		{Fn: "shell.split", Args: []any{`echo "\$x \"y\" \n \\ \a" '\$' \$x \* \~`}, Want: words("echo", `$x "y" \n \ \a`, `\$`, "$x", "*", "~")},
		{Fn: "shell.split", Args: []any{`echo '' ""`}, Want: words("echo", "", "")},
		{Fn: "shell.split", Args: []any{"echo é '日本'"}, Want: words("echo", "é", "日本")},
		{Fn: "shell.split", Args: []any{"echo '\x1b'"}, Want: why("the line has a control character")},
		{Fn: "shell.split", Args: []any{"a\rb"}, Want: why("the line has a control character")},
		{Fn: "shell.split", Args: []any{"ls # a comment; rm x"}, Want: words("ls")},
		{Fn: "shell.split", Args: []any{"ls a\\\nb"}, Want: words("ls", "ab")},
		{Fn: "shell.split", Args: []any{"git show HEAD@{1} a{b} x~ a=b --c=~d"}, Want: words("git", "show", "HEAD@{1}", "a{b}", "x~", "a=b", "--c=~d")},
		{Fn: "shell.split", Args: []any{"'ls' -l"}, Want: words("ls", "-l")},
		{Fn: "shell.split", Args: []any{"echo '*' \"?\" '{a,b}' \\{a,b\\}"}, Want: words("echo", "*", "?", "{a,b}", "{a,b}")},
		{Fn: "shell.split", Args: []any{"a | b"}, Want: why("the line has a pipe")},
		{Fn: "shell.split", Args: []any{"a && b"}, Want: why("the line has several commands")},
		{Fn: "shell.split", Args: []any{"a || b"}, Want: why("the line has several commands")},
		{Fn: "shell.split", Args: []any{"a; b"}, Want: why("the line has several commands")},
		{Fn: "shell.split", Args: []any{"a\nb"}, Want: why("the line has several commands")},
		{Fn: "shell.split", Args: []any{"a &"}, Want: why("the line runs a command in the background")},
		{Fn: "shell.split", Args: []any{"! a"}, Want: why("the line negates the exit code with !")},
		{Fn: "shell.split", Args: []any{"a > b"}, Want: why("the line has a redirection")},
		{Fn: "shell.split", Args: []any{"a < b"}, Want: why("the line has a redirection")},
		{Fn: "shell.split", Args: []any{"a 2>&1"}, Want: why("the line has a redirection")},
		{Fn: "shell.split", Args: []any{"a <<X\nb\nX\n"}, Want: why("the line has a redirection")},
		{Fn: "shell.split", Args: []any{"> a"}, Want: why("the line has a redirection")},
		{Fn: "shell.split", Args: []any{"A=b c"}, Want: why("the line sets a variable")},
		{Fn: "shell.split", Args: []any{"A=b"}, Want: why("the line sets a variable")},
		{Fn: "shell.split", Args: []any{"echo $HOME"}, Want: why("the line has a variable or substitution ($)")},
		{Fn: "shell.split", Args: []any{`echo "$(id)"`}, Want: why("the line has a variable or substitution ($)")},
		{Fn: "shell.split", Args: []any{"echo `id`"}, Want: why("the line has a variable or substitution ($)")},
		{Fn: "shell.split", Args: []any{"echo $((1+1))"}, Want: why("the line has a variable or substitution ($)")},
		{Fn: "shell.split", Args: []any{"$cmd x"}, Want: why("the line has a variable or substitution ($)")},
		{Fn: "shell.split", Args: []any{"ls *.go"}, Want: why("the line has a file pattern")},
		{Fn: "shell.split", Args: []any{"ls a?"}, Want: why("the line has a file pattern")},
		{Fn: "shell.split", Args: []any{"ls [ab]"}, Want: why("the line has a file pattern")},
		{Fn: "shell.split", Args: []any{"ls {a,b}"}, Want: why("the line has a brace expansion")},
		{Fn: "shell.split", Args: []any{"ls {1..3}"}, Want: why("the line has a brace expansion")},
		{Fn: "shell.split", Args: []any{"ls ~/x"}, Want: why("the line has a home folder (~)")},
		{Fn: "shell.split", Args: []any{"cd x"}, Want: why("cd is a builtin of the shell")},
		{Fn: "shell.split", Args: []any{"export A=b"}, Want: why("export is a builtin of the shell")},
		{Fn: "shell.split", Args: []any{"(ls)"}, Want: why("the line has shell syntax, such as if or ( )")},
		{Fn: "shell.split", Args: []any{"{ ls; }"}, Want: why("the line has shell syntax, such as if or ( )")},
		{Fn: "shell.split", Args: []any{"if a; then b; fi"}, Want: why("the line has shell syntax, such as if or ( )")},
		{Fn: "shell.split", Args: []any{"f() { ls; }"}, Want: why("the line has shell syntax, such as if or ( )")},
		{Fn: "shell.split", Args: []any{""}, Err: "the command line is empty"},
		{Fn: "shell.split", Args: []any{" # x"}, Err: "the command line is empty"},
		{Fn: "shell.split", Args: []any{"echo 'a"}, Err: "invalid command line: 1:6: reached EOF without closing quote"},
		{Fn: "shell.split", Args: []any{"a | | b"}, Err: "invalid command line"},
		{Fn: "shell.split", Args: []any{"ls\x00"}, Err: "NUL"},
		{Fn: "shell.split", Args: []any{strings.Repeat("x", 33<<10)}, Err: "longer than 32 KB"},
	})
}

// TestShellSplitDeep checks that the longest lines that nest are answered in
// time, and on the stack that there is.
func TestShellSplitDeep(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	for _, part := range []string{"(", "$((", "$(", "`", "${a:-", "\"$(", "{ ", "! ", "if a; then ", "while a; do ", "case a in a) ", "a|", "a&&", "a;", "\\\n", "'", "<<a ", "f() ", "a\n", "\"", "[", "{a,", "#"} {
		line := strings.Repeat(part, longestLine/len(part))
		late := time.AfterFunc(2*time.Minute, func() { panic(fmt.Sprintf("%q, so often, takes two minutes", part)) })
		_, _, _ = splitLine(line)
		late.Stop()
	}
}

// FuzzSplit checks what is taken for static against a real shell: it must come
// to the same words.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"echo a 'b c' \"d\\\"\" \\e", "a\\\nb", "x\\", "a#b #c", "{a", "a=b", "\"\\\n\"", "'\\'", "~", "a~", "!", "\\~", "-n", "a\rb", "\v", "é\\é", "{a,b", "a,}", "$", "\"$\"", "a$", "((", "((((", "$(($((", "if a; then"} {
		f.Add(seed)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		f.Skip("THIS MACHINE HAS NO sh")
	}
	f.Fuzz(func(t *testing.T, line string) {
		late := time.AfterFunc(2*time.Minute, func() { panic(fmt.Sprintf("%.100q (%d bytes) takes two minutes", line, len(line))) })
		argv, dynamic, err := splitLine(line)
		late.Stop()
		if err != nil || dynamic != "" {
			return
		}
		first, _, _ := strings.Cut(line, "\n")
		if first = strings.TrimSpace(first); first == "" || first[0] == '#' {
			return // x would stand before an empty line, and be a command of its own
		}
		// The shell says what it takes the words for; it runs nothing else.
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, sh, "-c", `x() { for i in "$@"; do printf '%s\0' "$i"; done; }`+"\nx "+line)
		cmd.Env = []string{"HOME=/home/me", "LC_ALL=C"}
		out, err := cmd.Output()
		if want := strings.Join(argv, "\x00") + "\x00"; err != nil || string(out) != want {
			t.Errorf("%q: split into %q, the shell %q, %v", line, want, out, err)
		}
	})
}

// argvOf makes a command line a list, one word an argument.
func argvOf(words ...string) value.List {
	list := make(value.List, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}
