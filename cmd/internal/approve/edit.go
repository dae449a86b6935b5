package approve

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/scratch"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// edited lets the person edit the arguments of a call until they are valid, in their editor or
// by typing. It returns nil if the person cancels.
func (a *Asker) edited(ctx context.Context, q *approval) (*value.Dict, error) {
	before := shownArgs(&q.tool.Tool, q.call.Args)
	words := Editor(a.Printer)
	if len(words) == 0 {
		a.tell(draw.None, "VISUAL and EDITOR are not set: type the changes here")
		return a.typed(ctx, q, before)
	}
	text := escaped(value.FormatJSON(before, "  ")) + "\n"
	for {
		var err error
		if text, err = a.rewritten(ctx, words, text); err == nil {
			var after *value.Dict
			if after, err = readEdited(&q.tool.Tool, before, text); err == nil {
				return after, nil
			}
		} else if ctx.Err() == nil {
			a.report(err)
			return a.typed(ctx, q, before)
		}
		if ctx.Err() != nil {
			return nil, a.ended(ctx)
		}
		a.report(err)
		a.prompt("Enter edit again", "n keep the old parameters")
		line, err := a.Term.ReadLine(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, a.ended(ctx)
		}
		if err != nil || strings.TrimSpace(line) != "" {
			return nil, nil
		}
	}
}

// report prints an error of what the person has typed.
func (a *Asker) report(err error) {
	e := value.ErrorOf(err, value.Invalid)
	a.tell(draw.Failed, ui.Visible(e.Message()))
}

// typed lets the person change arguments one at a time, as on the command line. What is wrong
// is reported, and changes nothing before. It returns nil if the person cancels.
func (a *Asker) typed(ctx context.Context, q *approval, args *value.Dict) (*value.Dict, error) {
	t := &q.tool.Tool
	a.Term.PrintLines(a.ScreenOf(a.Term.Out).Names("  ", [][2]string{
		{"NAME=VALUE", "set a parameter to a string"}, {"NAME:=JSON", "set a parameter to a JSON value"}, {"NAME:=", "remove a parameter"},
		{"{...}", "replace all parameters with a JSON object"}, {"Enter alone", "finish"}, {"c", "cancel and keep the old parameters"},
	}, 0))
	for {
		a.prompt("type a change, or Enter to finish")
		line, err := a.Term.ReadLine(ctx)
		if err != nil {
			return nil, a.left(ctx)
		}
		word := strings.TrimSpace(line)
		all := strings.HasPrefix(word, "{")
		switch {
		case isOneOf(strings.ToLower(word), "c", "cancel", "n", "no"):
			return nil, nil
		case all:
			var after *value.Dict
			if line, err = a.object(ctx, line); err != nil {
				return nil, a.left(ctx)
			}
			if after, err = parseArgs(args, line); err == nil {
				args = after
			}
		case word != "":
			var after *value.Dict
			if after, err = changed(t, args, line); err == nil {
				args = after
			}
		}
		if err == nil {
			_, err = t.Check(args)
		}
		switch {
		case err != nil:
			a.report(err)
		case word == "" || all:
			return args, nil
		}
		if word != "" {
			a.Term.Print("  now: " + ui.VisibleLine(value.FormatJSON(args, "")) + "\n")
		}
	}
}

// object reads the rest of a JSON object that begins with a line: lines until it is complete,
// or a line is empty.
func (a *Asker) object(ctx context.Context, text string) (string, error) {
	for {
		if _, err := value.ParseJSON([]byte(text)); err == nil || len(text) > maxTyped {
			return text, nil
		}
		line, err := a.Term.ReadLine(ctx)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(line) == "" {
			return text, nil
		}
		text += "\n" + line
	}
}

// maxTyped is the maximum length of a typed JSON object in bytes.
const maxTyped = 1 << 20

// changed returns arguments with a change that was typed as on the command line.
func changed(t *tool.Tool, args *value.Dict, line string) (*value.Dict, error) {
	name, text, ok := strings.Cut(line, "=")
	name, isJSON := strings.CutSuffix(strings.TrimSpace(name), ":")
	if !ok || name == "" {
		return nil, value.Errorf(value.Invalid, "expected NAME=VALUE but got %q", line)
	}
	if !utf8.ValidString(text) {
		return nil, value.Errorf(value.Invalid, "the value of %s is not UTF-8 text", name)
	}
	if p, known := t.Param(name); !known && !t.AllowExtra || known && p.FromHost {
		return nil, value.Errorf(value.Invalid, "the tool '%s' has no parameter %q", t.Name, name)
	}
	after := &value.Dict{}
	for k, v := range args.All() {
		if k != name || !isJSON || text != "" {
			after.Put(k.(string), v)
		}
	}
	if isJSON && text == "" {
		return after, nil
	}
	if isJSON {
		v, err := value.ParseJSON([]byte(text))
		if err != nil {
			return nil, value.Errorf(value.Invalid, "%s: %w", name, value.ErrorOf(err, value.Invalid).Err)
		}
		after.Put(name, v)
		return after, nil
	}
	read, _ := t.Coerce(value.NewDict(name, text))
	v, _ := read.Get(name)
	after.Put(name, v)
	return after, nil
}

// escaped writes what cannot be seen in JSON as escapes, which read as the same text.
func escaped(json string) string {
	var b strings.Builder
	for _, r := range json {
		if r == '\n' || !value.IsInvisible(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}

// rewritten lets the person change a text in their editor.
func (a *Asker) rewritten(ctx context.Context, words []string, text string) (string, error) {
	dir, err := scratch.Make("", "edit")
	if err != nil {
		return text, ui.FileError(err)
	}
	defer dir.Close()
	file, err := os.Create(filepath.Join(dir.Path, "arguments.json"))
	if err != nil {
		return text, ui.FileError(err)
	}
	_, err = file.WriteString(text)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return text, ui.FileError(err)
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file.Name())...)
	// Standard output is for the result of the call only.
	cmd.Stdout, cmd.Stderr = a.Term.Out, a.Term.Out
	if a.Term.File != nil {
		cmd.Stdin = a.Term.File
	}
	if err := cmd.Run(); err != nil {
		return text, value.Errorf(value.Failed, "run the editor %s: %w", words[0], err)
	}
	after, err := ui.ReadFile(file.Name()) // many editors replace the file
	if err != nil {
		return text, value.Errorf(value.Invalid, "%w", err)
	}
	return string(after), nil
}

// Editor returns the command of the user's editor, or nil.
func Editor(p *ui.Printer) []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if editor, _ := p.Env(name); strings.TrimSpace(editor) != "" {
			return strings.Fields(editor)
		}
	}
	return nil
}

// readEdited reads edited arguments, and checks them.
func readEdited(t *tool.Tool, before *value.Dict, text string) (*value.Dict, error) {
	after, err := parseArgs(before, text)
	if err == nil {
		_, err = t.Check(after)
	}
	return after, err
}

// parseArgs reads edited arguments. Unchanged ones keep their values, since JSON may not be
// able to express them.
func parseArgs(before *value.Dict, text string) (*value.Dict, error) {
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	read, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "expected the parameters as a JSON object but got %s", value.TypeOf(v))
	}
	after := &value.Dict{}
	for k, v := range read.All() {
		name, _ := k.(string)
		if old, ok := before.Get(name); ok && value.FormatJSON(old, "") == value.FormatJSON(v, "") {
			v = old
		}
		after.Put(name, v)
	}
	return after, nil
}

// shownArgs returns the arguments without those that the host sets.
func shownArgs(t *tool.Tool, args *value.Dict) *value.Dict {
	shown := &value.Dict{}
	for k, v := range args.All() {
		name, _ := k.(string)
		if p, ok := t.Param(name); !ok || !p.FromHost {
			shown.Put(name, v)
		}
	}
	return shown
}
