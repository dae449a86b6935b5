package calls

import (
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Arguments reads the arguments of a call: those of --input, or those that follow the
// first argument of the command.
func Arguments(a *app.App, ctx *cli.Context, t *tool.Tool) (*value.Dict, error) {
	words := ctx.Args().Tail()
	if ctx.IsSet("input") {
		if len(words) > 0 {
			return nil, value.Errorf(value.Invalid, "--input and the argument %q are mutually exclusive", words[0]).WithHint("omit --input, or put all arguments into the JSON object of --input")
		}
		return InputArgs(a, "--input", ctx.String("input"))
	}
	args, notes, err := parsePairs(t, words)
	if err != nil && value.ErrorOf(err, value.Invalid).Hint == "" {
		err = value.ErrorOf(err, value.Invalid).WithHint("%s %s", ctx.Command.HelpName, Usage(t))
	}
	for _, note := range notes {
		a.Debug("%s", note)
	}
	return args, err
}

// parsePairs reads key=value, by the declared types, and key:=JSON. The notes report
// conversions.
func parsePairs(t *tool.Tool, words []string) (args *value.Dict, notes []string, err error) {
	args = &value.Dict{}
	for _, word := range words {
		key, val, ok := strings.Cut(word, "=")
		if !ok || key == "" || key == ":" {
			return nil, nil, value.Errorf(value.Invalid, "expected key=value but got %q", word)
		}
		name, isJSON := strings.CutSuffix(key, ":")
		if args.Has(name) {
			return nil, nil, value.Errorf(value.Invalid, "duplicate argument %q", name)
		}
		if isJSON {
			v, err := value.ParseJSON([]byte(val))
			if err != nil {
				return nil, nil, value.Errorf(value.Invalid, "%s: %w", name, value.ErrorOf(err, value.Invalid).Err)
			}
			args.Put(name, v)
			continue
		}
		if p, known := t.Param(name); known && p.Type.Name == tool.TypeMedia && strings.HasPrefix(val, "@") {
			m, err := readMedia(val[1:])
			if err != nil {
				return nil, nil, value.ErrorOf(err, value.Invalid).WithOp(name + ": read " + val[1:])
			}
			args.Put(name, m)
			continue
		}
		if !utf8.ValidString(val) {
			return nil, nil, value.Errorf(value.Invalid, "the value of %s is not UTF-8 text", name).WithHint("write the value to a file, and pass the path of the file")
		}
		read, more := t.Coerce(value.NewDict(name, val))
		v, _ := read.Get(name)
		args.Put(name, v)
		notes = append(notes, more...)
	}
	return args, notes, nil
}

// readMedia reads an image or a PDF file that the user named.
func readMedia(file string) (value.Value, error) {
	data, err := ui.ReadRegular(file, value.MaxMedia)
	if err != nil {
		return nil, err
	}
	return value.NewMedia(data)
}

// InputArgs reads the value of --input, or of another flag like it.
func InputArgs(a *app.App, flag, input string) (*value.Dict, error) {
	v, err := inputJSON(a, flag, input, "a JSON object")
	if err != nil {
		return nil, err
	}
	args, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "%s must be a JSON object, not %s", flag, value.TypeOf(v)).
			WithHint(`for example: %s '{"key": "value"}'`, flag)
	}
	return args, nil
}

// InputJSON is InputArgs for any value.
func InputJSON(a *app.App, flag, input string) (value.Value, error) {
	return inputJSON(a, flag, input, "JSON")
}

func inputJSON(a *app.App, flag, input, expected string) (value.Value, error) {
	const hint = "use %s with %s, @FILE, or - for standard input"
	text := []byte(input)
	var err error
	switch {
	case input == "-":
		text, err = ui.ReadAll(a.In)
	case strings.HasPrefix(input, "@"):
		text, err = ui.ReadFile(input[1:])
	}
	if err != nil {
		return nil, value.Errorf(value.Invalid, "%w", ui.FileError(err)).WithHint(hint, flag, expected)
	}
	v, err := value.ParseJSON(text)
	if err != nil {
		return nil, value.ErrorOf(err, value.Invalid).WithHint(hint, flag, expected)
	}
	return v, nil
}

// Usage returns a tool with its parameters as on the command line. A tool of which only the schema
// is known, and is too complex for parameters, has none.
func Usage(t *tool.Tool) string {
	parts := []string{t.Name}
	params, _ := t.CallerParams()
	for _, x := range params {
		name := ui.VisibleLine(x.Name) // that of a schema can be any text
		if !x.Required {
			name = "[" + name + "=…]"
		} else {
			name += "=…"
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, " ")
}

// ExampleHint returns an error with the example of a call of [tool.Tool.Check] as on the
// command line, after the words before. It returns other errors, and nil, as they are.
func ExampleHint(err error, t *tool.Tool, before string) error {
	e := value.ErrorOf(err, value.Invalid)
	if e == nil || e.Hint != "Example: "+t.CallText(t.ExampleArgs()) {
		return err
	}
	return e.WithHint("%s%s%s", before, t.Name, hint.ShellArgs(t.ExampleArgs()))
}
