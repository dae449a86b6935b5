package stdlib

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestShellSplit(t *testing.T) {
	words := func(w ...string) value.Value { return value.NewDict("argv", argvOf(w...)) }
	why := func(text string) value.Value { return value.NewDict("dynamic", text) }
	pureTable(t, false, []pureCase{
		{"shell.split", []any{"ls"}, words("ls"), ""},
		{"shell.split", []any{"  git  log -n 5\t--oneline  "}, words("git", "log", "-n", "5", "--oneline"), ""},
		{"shell.split", []any{"grep 'a b' \"c d\" e\\ f"}, words("grep", "a b", "c d", "e f"), ""},
		{"shell.split", []any{`echo "a'b" 'a"b' a'b'"c"d`}, words("echo", "a'b", `a"b`, "abcd"), ""},
		{"shell.split", []any{`echo "\$x \"y\" \n \\ \a" '\$' \$x \* \~`}, words("echo", `$x "y" \n \ \a`, `\$`, "$x", "*", "~"), ""},
		{"shell.split", []any{`echo '' ""`}, words("echo", "", ""), ""},
		{"shell.split", []any{"echo é '日本'"}, words("echo", "é", "日本"), ""},
		{"shell.split", []any{"echo '\x1b'"}, why("it has a control character"), ""},
		{"shell.split", []any{"a\rb"}, why("it has a control character"), ""},
		{"shell.split", []any{"ls # a comment; rm x"}, words("ls"), ""},
		{"shell.split", []any{"ls a\\\nb"}, words("ls", "ab"), ""},
		{"shell.split", []any{"git show HEAD@{1} a{b} x~ a=b --c=~d"}, words("git", "show", "HEAD@{1}", "a{b}", "x~", "a=b", "--c=~d"), ""},
		{"shell.split", []any{"'ls' -l"}, words("ls", "-l"), ""},
		{"shell.split", []any{"echo '*' \"?\" '{a,b}' \\{a,b\\}"}, words("echo", "*", "?", "{a,b}", "{a,b}"), ""},
		{"shell.split", []any{"a | b"}, why("it has a pipe"), ""},
		{"shell.split", []any{"a && b"}, why("it has several commands"), ""},
		{"shell.split", []any{"a || b"}, why("it has several commands"), ""},
		{"shell.split", []any{"a; b"}, why("it has several commands"), ""},
		{"shell.split", []any{"a\nb"}, why("it has several commands"), ""},
		{"shell.split", []any{"a &"}, why("it runs in the background"), ""},
		{"shell.split", []any{"! a"}, why("its exit code is negated"), ""},
		{"shell.split", []any{"a > b"}, why("it has a redirection"), ""},
		{"shell.split", []any{"a < b"}, why("it has a redirection"), ""},
		{"shell.split", []any{"a 2>&1"}, why("it has a redirection"), ""},
		{"shell.split", []any{"a <<X\nb\nX\n"}, why("it has a redirection"), ""},
		{"shell.split", []any{"> a"}, why("it has a redirection"), ""},
		{"shell.split", []any{"A=b c"}, why("it sets a variable"), ""},
		{"shell.split", []any{"A=b"}, why("it sets a variable"), ""},
		{"shell.split", []any{"echo $HOME"}, why("it has a variable or another substitution"), ""},
		{"shell.split", []any{`echo "$(id)"`}, why("it has a variable or another substitution"), ""},
		{"shell.split", []any{"echo `id`"}, why("it has a variable or another substitution"), ""},
		{"shell.split", []any{"echo $((1+1))"}, why("it has a variable or another substitution"), ""},
		{"shell.split", []any{"$cmd x"}, why("it has a variable or another substitution"), ""},
		{"shell.split", []any{"ls *.go"}, why("it has a pattern for names of files"), ""},
		{"shell.split", []any{"ls a?"}, why("it has a pattern for names of files"), ""},
		{"shell.split", []any{"ls [ab]"}, why("it has a pattern for names of files"), ""},
		{"shell.split", []any{"ls {a,b}"}, why("it has braces that stand for several words"), ""},
		{"shell.split", []any{"ls {1..3}"}, why("it has braces that stand for several words"), ""},
		{"shell.split", []any{"ls ~/x"}, why("it names a home folder by ~"), ""},
		{"shell.split", []any{"cd x"}, why("cd is a part of the shell"), ""},
		{"shell.split", []any{"export A=b"}, why("export is a part of the shell"), ""},
		{"shell.split", []any{"(ls)"}, why("it is a program for the shell"), ""},
		{"shell.split", []any{"{ ls; }"}, why("it is a program for the shell"), ""},
		{"shell.split", []any{"if a; then b; fi"}, why("it is a program for the shell"), ""},
		{"shell.split", []any{"f() { ls; }"}, why("it is a program for the shell"), ""},
		{"shell.split", []any{""}, nil, "the command line is empty"},
		{"shell.split", []any{" # x"}, nil, "the command line is empty"},
		{"shell.split", []any{"echo 'a"}, nil, "this is no command line: 1:6: reached EOF without closing quote"},
		{"shell.split", []any{"a | | b"}, nil, "this is no command line"},
		{"shell.split", []any{"ls\x00"}, nil, "NUL"},
		{"shell.split", []any{strings.Repeat("x", 33<<10)}, nil, "longer than 32 KB"},
	})
}

// TestShellSplitDeep checks that the longest lines that nest are answered in
// time, and on the stack that there is.
func TestShellSplitDeep(t *testing.T) {
	for _, part := range []string{"(", "$((", "$(", "`", "${a:-", "\"$(", "{ ", "! ", "if a; then ", "while a; do ", "case a in a) ", "a|", "a&&", "a;", "\\\n", "'", "<<a ", "f() ", "a\n", "\"", "[", "{a,", "#"} {
		line := strings.Repeat(part, shellLongestLine/len(part))
		start := time.Now()
		_, _, _ = splitLine(line)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q, so often: it took %v", part, took)
		}
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
		start := time.Now()
		argv, dynamic, err := splitLine(line)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%.100q (%d bytes) took %v", line, len(line), took)
		}
		if err != nil || dynamic != "" {
			return
		}
		first, _, _ := strings.Cut(line, "\n")
		if first = strings.TrimSpace(first); first == "" || first[0] == '#' {
			return // x would stand before an empty line, and be a command of its own
		}
		// The shell says what it takes the words for; it runs nothing else.
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, sh, "-c", `x() { for i in "$@"; do printf '%s\0' "$i"; done; }`+"\nx "+line)
		cmd.Env = []string{"HOME=/home/me", "LC_ALL=C"}
		out, err := cmd.Output()
		if want := strings.Join(argv, "\x00") + "\x00"; err != nil || string(out) != want {
			t.Errorf("%q: split into %q, the shell %q, %v", line, want, out, err)
		}
	})
}
