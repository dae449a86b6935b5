package check

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Format returns cassidy fmt.
func Format(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "fmt", Usage: "format scripts in Starlark", ArgsUsage: "[NAME|FILE|FOLDER|- …]",
		Description: "The format is that of buildifier. In a Markdown file, the Starlark block is formatted.\n" +
			"Without arguments, the command formats the Starlark files of the project and your personal ones.\n" +
			"To format standard input and print the result: cassidy fmt -\n" +
			"If standard input begins with the line ---, it is formatted as a tool in Markdown.\n" +
			"NAME is the name of a script, such as a tool or a workflow. A file that does not parse is not changed.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "change nothing, list the files that differ, and exit with code 1 if there are any"},
		},
		Action: c.format,
	}
}

func (c *command) format(ctx *cli.Context) error {
	checker := check.New(check.Options{})
	if slices.Equal(ctx.Args().Slice(), []string{"-"}) {
		return c.formatInput(checker, ctx.Bool("check"))
	}
	root, err := c.ProjectRoot()
	if err != nil {
		return err
	}
	t := targets{root: root}
	if ctx.NArg() == 0 {
		if err := c.all(&t); err != nil {
			return err
		}
	}
	named := map[string]bool{}
	for _, word := range ctx.Args().Slice() {
		file := c.located(word)
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			files, err := scriptsIn(file, word)
			if err != nil {
				return err
			}
			t.files = append(t.files, files...)
			continue
		}
		files, err := c.scriptsOf(word, file)
		if err != nil {
			return err
		}
		for _, file := range files {
			named[file] = true
		}
		t.files = append(t.files, files...)
	}
	t.files = slices.DeleteFunc(t.files, func(file string) bool { return filepath.Ext(file) == ".lua" && !named[file] })
	t.files = once(t.files)
	return c.formatFiles(checker, t, ctx.Bool("check"))
}

// scriptsOf returns the files that an argument of cassidy fmt names: a file, or the scripts with a name, such as
// that of a tool.
func (c *command) scriptsOf(word, file string) ([]string, error) {
	if strings.ContainsAny(word, `/\`) || filepath.Ext(word) != "" || exists(file) {
		return []string{file}, nil
	}
	var all targets
	root, err := c.ProjectRoot()
	if err == nil {
		all.root = root
		err = c.all(&all)
	}
	if err != nil {
		return nil, err
	}
	stem := func(file string) string { return tool.Key(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))) }
	var names []string
	files := slices.DeleteFunc(all.files, func(file string) bool {
		names = append(names, stem(file))
		return stem(file) != tool.Key(word)
	})
	if len(files) == 0 {
		return nil, value.Errorf(value.NotFound, "format %s: there is no file, folder or script with this name%s", word, value.DidYouMean(tool.Key(word), names)).
			WithHint("use a file that ends in .star or .md, a folder, or the name of a tool or a workflow")
	}
	return files, nil
}

// inputName is the name of the text on standard input: a tool in Markdown begins with its front matter.
func inputName(text string) string {
	if first, _, _ := strings.Cut(text, "\n"); strings.TrimRight(first, " \r") == "---" {
		return "stdin.md"
	}
	return "stdin.star"
}

// maxInput is how long the text on standard input may be.
const maxInput = folder.MaxSource

func (c *command) formatInput(checker *check.Checker, only bool) error {
	data, err := io.ReadAll(io.LimitReader(c.In, maxInput+1))
	if err != nil {
		return value.Errorf(value.Failed, "read standard input: %w", err)
	}
	if len(data) > maxInput {
		return value.Errorf(value.Limit, "read standard input: the text is longer than %d KB", maxInput>>10)
	}
	name := inputName(string(data))
	formatted, err := checker.Format(name, string(data))
	if err != nil {
		return err
	}
	if !only {
		c.PrintData(formatted)
		return nil
	}
	if formatted != string(data) {
		c.Print(name + "\n")
		return ui.ErrSilent
	}
	return nil
}

func (c *command) formatFiles(checker *check.Checker, t targets, only bool) error {
	changed, failed := []string{}, value.List{}
	for _, file := range t.files {
		name := shown(file)
		differs, err := formatFile(checker, t.root, file, only)
		if err != nil {
			e := value.ErrorOf(err, value.Failed)
			if e.Pos.File == "" {
				e.Pos.File = name
			}
			failed = append(failed, value.NewDict("file", name, "line", int64(e.Pos.Line), "error", e.Message()))
			if !c.JSON {
				c.Report(e)
			}
			continue
		}
		if differs {
			changed = append(changed, name)
			if !c.JSON {
				c.Print(ui.VisibleLine(name) + "\n")
			}
		}
	}
	if c.JSON {
		if err := c.PrintJSON(value.NewDict("changed", ui.Texts(changed), "failed", failed, "files", int64(len(t.files)))); err != nil {
			return err
		}
	}
	if len(failed) > 0 || only && len(changed) > 0 {
		return ui.ErrSilent
	}
	return nil
}

// formatFile formats a file, or with only just reports whether it differs. A Markdown file whose code is
// in another language is left as it is.
func formatFile(checker *check.Checker, root, file string, only bool) (differs bool, err error) {
	if ext := filepath.Ext(file); !slices.Contains(tool.ScriptSuffixes(), ext) {
		return false, value.Errorf(value.Invalid, "only Starlark can be formatted").WithHint("use a file that ends in .star, or a tool in Markdown that ends in .md")
	}
	text, err := check.Read(root, file)
	if err != nil {
		return false, err
	}
	formatted, err := checker.Format(shown(file), text)
	if err != nil {
		var e *value.Error
		if filepath.Ext(file) == ".md" && errors.As(err, &e) && strings.HasPrefix(e.Message(), "only Starlark") {
			return false, nil
		}
		return false, err
	}
	if formatted == text {
		return false, nil
	}
	if only {
		return true, nil
	}
	return true, check.Replace(root, file, text, formatted)
}
