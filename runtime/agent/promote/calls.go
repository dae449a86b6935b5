package promote

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/names"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// moduleWords are what the module tools has besides the tools.
var moduleWords = []string{"call", "call_all", "list", "describe"}

// function returns the tool that a name stands for in a program, or nil: its own
// name with _ for what no name can have, and more of these where the name means
// something else already.
func (w *promoting) function(name string) *tool.Tool {
	if w.bound[name] > 0 {
		return nil
	}
	for i := range w.Tools {
		if sameName(w.Tools[i].Name, name) {
			return &w.Tools[i]
		}
	}
	return nil
}

// sameName reports whether a program writes a name so. Only what something else
// is named already has a _ behind it.
func sameName(name, written string) bool {
	plain := strings.Map(func(r rune) rune {
		if r < 0x80 && prose.IsWord(byte(r)) {
			return r
		}
		return '_'
	}, name)
	if plain != "" && '0' <= plain[0] && plain[0] <= '9' {
		plain = "_" + plain
	}
	return written == plain || strings.TrimRight(written, "_") == plain
}

// calls has the tools that the program uses be those of the module tools.
func (w *promoting) calls() error {
	for i := range w.tokens {
		t := &w.tokens[i]
		if t.kind != lexWord || i > 0 && w.tokens[i-1].text == "." || w.isKeyword(i) || names.IsPredeclared(t.text) {
			continue
		}
		f := w.function(t.text)
		if f == nil {
			continue
		}
		if !slices.Contains(w.using, f) {
			w.note(t.line, "it names %s, which was not called in this run, so the tool does not declare it", f.Name)
		}
		if err := w.use(i, f); err != nil {
			return err
		}
	}
	return nil
}

// isKeyword reports whether a word is the name of an argument.
func (w *promoting) isKeyword(i int) bool {
	return i > 0 && i+1 < len(w.tokens) && w.tokens[i].depth > 0 && w.tokens[i+1].text == "="
}

// use writes one use of a tool: a call, one that is attempted, or what is handed on.
func (w *promoting) use(i int, f *tool.Tool) error {
	t := &w.tokens[i]
	key := tool.Key(f.Name)
	callee, named := "tools."+key, ""
	if slices.Contains(moduleWords, key) {
		callee, named = "tools.call", starlark(f.Name)
	}
	is := func(i int, text string) bool { return i >= 0 && i < len(w.tokens) && w.tokens[i].text == text }
	switch {
	case is(i+1, "("):
		closing := w.tokens[i+1].match
		if named != "" && closing > i+2 {
			named += ", "
		}
		w.replace(t.start, w.tokens[i+1].end, callee+"("+named)
		return w.nameArguments(i+2, closing, f)
	case is(i-1, "(") && is(i-2, "attempt"):
		if named != "" {
			callee += ", " + named
		}
		w.replace(t.start, t.end, callee)
		return w.nameArguments(i+2, w.tokens[i-1].match, f)
	case named != "":
		return w.refused(t, "the tool '%s' is handed on as a value, which no script can do with that name", f.Name)
	}
	w.replace(t.start, t.end, callee)
	w.note(t.line, "it hands on %s as a value: whoever calls that must name its arguments", f.Name)
	return nil
}

func (w *promoting) refused(t *lexeme, format string, args ...any) error {
	e := value.Errorf(value.Invalid, format, args...).WithHint("cassidy runs show --step shows the program: write the tool by hand")
	e.Pos = value.Position{File: "the program", Line: t.line}
	return e
}

// arguments returns where each argument of a call begins and ends, which stand
// from a token on up to the closing bracket.
func (w *promoting) arguments(from, closing int) [][2]int {
	var list [][2]int
	for at := from; at < closing; {
		end := at
		for end < closing && !(w.tokens[end].text == "," && w.tokens[end].depth == w.tokens[closing].depth+1) {
			end++
		}
		if end > at {
			list = append(list, [2]int{at, end})
		}
		at = end + 1
	}
	return list
}

// nameArguments names each argument of a call as the tool does.
func (w *promoting) nameArguments(from, closing int, f *tool.Tool) error {
	params, err := positions(f)
	position := 0
	for _, a := range w.arguments(from, closing) {
		first := &w.tokens[a[0]]
		switch {
		case first.text == "**":
			continue
		case first.text == "*":
			return w.refused(first, "the program gives '%s' a list of arguments, which have no names", f.Name)
		case w.isKeyword(a[0]):
			i := slices.IndexFunc(params, func(p tool.Param) bool { return sameName(p.Name, first.text) })
			if i < 0 || params[i].Name == first.text {
				continue
			}
			if !namesArgument(params[i].Name) {
				return w.refused(first, "no script can write the name of the argument %q of '%s'", params[i].Name, f.Name)
			}
			w.replace(first.start, first.end, params[i].Name)
		case err != nil || position >= len(params) || !namesArgument(params[position].Name):
			return w.refused(first, "argument %d of '%s' has no name that a script can write", position+1, f.Name)
		default:
			w.replace(first.start, first.start, params[position].Name+" = ")
			position++
		}
	}
	return nil
}

// namesArgument reports whether a script can write a name before =.
func namesArgument(name string) bool {
	return sameName(name, name) && !names.IsKeyword(name)
}

// positions are the parameters of a tool in the order in which a program gives
// arguments without names: the required ones first.
func positions(t *tool.Tool) ([]tool.Param, error) {
	params, err := t.CallerParams()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(params, func(a, b tool.Param) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return params, nil
}
