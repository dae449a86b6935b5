package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/enginetest"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestErrorPositions runs tools with an error at HERE, which is replaced: the position
// of the error must be that of HERE in the author's file.
func TestErrorPositions(t *testing.T) {
	e := both(t, "none")
	headers := map[string]string{
		"plain":                  "def f(a, b = 1):\n    ",
		"annotated":              "def f(a: str, b: dict[str, list[int]] = {}) -> list[str]:\n    ",
		"on the same line":       "def f(a: str | None = \"é→\", b: int = 1) -> list[str]: ",
		"annotations with é":     "def g(ä: list[é], ö = \"ü\") -> é: pass\ndef f(a: str): s = \"ßẞ漢字🎉\"; ",
		"lines before":           "# é\n\n\"\"\"Doc → é\n\"\"\"\ndef g(x: int,\n      y: list[\n         str]\n     ) -> dict[\n  str,  # é comment ]\n\n  int\n]:\n    return {}\ndef f(a: str):\n    ",
		"comment in annotation":  "def f(a: list[ # é: int,\n    str] = [], # b: int\n    b: int = 1) -> None: ",
		"nested":                 "def f(a: int):\n    def g(b: str) -> int:\n        return 1\n    h = lambda x, y = {1: 2}: x\n    ",
		"tabs":                   "def g(a: int):\n\tif a:\n\t\treturn 1\n\ndef f(a: int) -> int:\n\tx = 1;\t",
		"strings":                "def f(a: str = \"def g(x: int) -> y:\", b: str = ': -> #'): x = 'é: ->'; ",
		"bytes":                  "X = b\"é\" + rb'\\x'\ndef f(a: str = \"\", b: list[int] = []): ",
		"backslashes":            "def f(a: str = \"x\" \\\n  , b: \\\n  int = 1) -> \\\n  int: ",
		"string over lines":      "def f(a: str = '''é\n): int = \"''', b: int = 1) -> int: x = \"\"\"\ndef z(a: int\"\"\"; ",
		"much white space":       "def   f  (  a  :  str  ,  b:int=1  )  ->  list [ str ]  :  ",
		"functions behind it":    "def f(a: str):\n    ",
		"a type that is unknown": "def f(a, b = 1):\n    def g(x: Whatever[1, {\"a\": [b]}]) -> X.y: pass\n    ",
	}
	for name, header := range headers {
		for ending, newline := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
			for _, bad := range []struct{ code, hit string }{
				{"HERE", "HERE"},                             // not defined
				{"fail(\"é\")", "("},                         // fails
				{"[1][9]", "[9]"},                            // out of range
				{"{\"é\": 1} + 1", "+ 1"},                    // wrong types
				{"\"é\".nope()", ".nope"},                    // no such attribute
				{"g2(3)", "("},                               // fails in another function
				{"return 1 +* 2 # no expression", "* 2"},     // no syntax
				{"é = 1; return é + oops(é)", "oops"},        // not defined, after é
				{"z = [é for é in range(3) if q]", "q]"},     // not defined, in a comprehension
				{"x2 = \"\"\"é\n\"\"\" + HERE", "HERE"},      // not defined, after a long string
				{"x2 = f2(b = 1, a = HERE, a2 = 2)", "HERE"}, // not defined, among arguments
			} {
				src := header + bad.code + "\n\ndef g2(x: int) -> int:\n    return 1 // (x - x)\ndef f2(**kw): pass\n"
				at := len(header) + strings.Index(bad.code, bad.hit)
				want := fmt.Sprintf("%d:%d", 1+strings.Count(src[:at], "\n"), 1+utf8.RuneCountInString(src[strings.LastIndex(src[:at], "\n")+1:at]))
				got, err := whereItFails(e, strings.ReplaceAll(src, "\n", newline))
				if got != want {
					t.Errorf("%s, %s, %s: error at %s, want %s: %v", name, ending, bad.code, got, want, err)
				}
			}
		}
	}
}

// whereItFails compiles and runs f of a script and returns line and column of the
// error: of the outermost call in the file.
func whereItFails(e *enginetest.Twice, src string) (string, error) {
	_, err := e.Run(context.Background(), tool.Script{Path: "f.star", Source: src}, tool.Call{Entry: "f", Args: value.NewDict("a", nil)}, nil)
	var failed *value.Error
	if !errors.As(err, &failed) {
		return "nowhere", err
	}
	if len(failed.Trace) > 0 {
		at, _, _ := strings.Cut(failed.Trace[0], ": in ")
		return strings.TrimPrefix(at, "f.star:"), err
	}
	return fmt.Sprintf("%d:%d", failed.Pos.Line, failed.Pos.Col), err
}

func TestSourceText(t *testing.T) {
	e := both(t, "none")
	tests := []struct{ name, src, want string }{
		{"byte order mark", "\ufeffdef f(a: str): return HERE", "f.star:1:23: undefined: HERE"},
		{"NUL", "def f(a): pass\n# é\x00hidden", "f.star:2:4: the byte 0x00 is not allowed in a script"},
		{"not UTF-8", "def f(a: \"\xff\"): pass", "f.star:1:11: the byte 0xff is not allowed in a script"},
		{"replacement character", "def f(a): return \"\ufffd\" + HERE", "f.star:1:24: undefined: HERE"},
		{"cut off", "def f(a): return \"\xe2\x82", "f.star:1:19: the byte 0xe2 is not allowed in a script"},
		{"long", "#" + strings.Repeat("x", engine.MaxSource), "f.star: the file is longer than 256 KB"},
		{"long chain", "y = 1\ndef f(a: int): return " + strings.Repeat("y+", 30000) + "y", "f.star:2:20017: an expression has more than 20000 terms"},
		{"long chain in a header", "y = 1\ndef f(a: int = " + strings.Repeat("y+", 30000) + "y): pass", "f.star:2:60020: an expression has more than 20000 terms"},
		{"long number", "x = 1" + strings.Repeat("0", 10000), "f.star:1:5: a word has more than 10000 letters or digits"},
		{"elifs", "def f(a):\n  if a: pass\n" + strings.Repeat("  elif a: pass\n", 2001), "f.star:2003:3: an if has more than 2000 elifs"},
		{"brackets", "x = " + strings.Repeat("[", 2000), "f.star:1:82: excessive nesting"},
		{"operators", "x = " + strings.Repeat("-", 2000) + "1", "f.star:1:994: excessive nesting"},
		{"while", "def f(a: int):\n  while a: pass", "f.star:2:3: this Starlark dialect does not support while loops"},
		{"while without annotations", "def f(a):\n  while a: pass", "f.star:2:3: this Starlark dialect does not support while loops"},
	}
	for _, test := range tests {
		err := e.Compile(tool.Script{Path: "f.star", Source: test.src})
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: Compile = %v, want %s", test.name, err, test.want)
		}
	}
	// A list may be as long as the file.
	long := "x = [" + strings.Repeat("1,", engine.MaxSource/2-20) + "]\ndef f(a): pass"
	if err := e.Compile(tool.Script{Path: "f.star", Source: long}); err != nil {
		t.Errorf("Compile of a long list = %v", err)
	}
}
