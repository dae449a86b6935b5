package tool

import (
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/scaffold"
	reviews "github.com/cassidy-run/cassidy/cmd/internal/trust"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/openapi"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
	"github.com/cassidy-run/cassidy/stdlib/secret"
	"github.com/cassidy-run/cassidy/stdlib/web"
)

func importCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "create tools from the operations of an OpenAPI document", ArgsUsage: "FILE|URL",
		UsageText: "cassidy tool import [command options] FILE|URL --openapi",
		Description: "Each operation becomes a script in .cassidy/tools, with a file of tests. It may send requests of its method to the host of the\n" +
			"document's server, with the secret that the document asks for. The files are shown for review.\n" +
			"On a terminal, the command asks for the operations. The document is OpenAPI 3.0 or 3.1, in YAML or JSON; other documents that\n" +
			"it refers to are not fetched.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "openapi", Usage: "the document is an OpenAPI document; there are no others yet, so the flag can be omitted"},
			&cli.StringSliceFlag{Name: "operation", Usage: "import the operation `NAME`: its operationId, the name of its tool, or a method and path such as \"GET /pets/{id}\""},
			&cli.StringSliceFlag{Name: "tag", Usage: "import the operations with `TAG`"},
			&cli.BoolFlag{Name: "all", Usage: "import all operations"},
			&cli.BoolFlag{Name: "list", Usage: "list the operations, and import none"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the files instead of writing them"},
			&cli.StringFlag{Name: "name", Usage: "begin the names of the tools with `PREFIX`, which is their group too"},
			&cli.StringFlag{Name: "server", Usage: "send the requests to `URL` instead of the server of the document"},
			&cli.StringFlag{Name: "secret", Usage: "use the secret `NAME`"},
			&cli.BoolFlag{Name: "force", Usage: "replace files that exist"},
			&cli.BoolFlag{Name: "yes", Usage: "trust the files without asking"},
		},
		Action: c.WithHost(c.importTools),
	}
}

// An importing is one run of cassidy tool import.
type importing struct {
	*command
	ctx     *cli.Context
	host    *host.Host
	options *openapi.Options
	doc     *openapi.Document
	leftOut value.List
}

func (c *command) importTools(ctx *cli.Context, h *host.Host) error {
	i := &importing{command: c, ctx: ctx, host: h, leftOut: value.List{}, options: &openapi.Options{
		Server: ctx.String("server"), Secret: ctx.String("secret"), Name: ctx.String("name"),
	}}
	if i.options.Secret != "" {
		if err := secret.CheckName(i.options.Secret); err != nil {
			return err
		}
	}
	if i.options.Name != "" {
		if err := tool.CheckName(i.options.Name); err != nil {
			return err
		}
	}
	if err := i.read(ctx.Args().First()); err != nil {
		return err
	}
	chosen, err := i.choose()
	if err != nil || len(chosen) == 0 {
		return err
	}
	if ctx.Bool("list") {
		return i.list(chosen)
	}
	tools, drafts, err := i.make(chosen)
	if err != nil {
		return err
	}
	if ctx.Bool("dry-run") {
		return i.print(tools, drafts)
	}
	written, err := scaffold.WriteTools(c.App, drafts, ctx.Bool("force"))
	if err != nil {
		return err
	}
	return i.review(tools, written)
}

// read reads the document from a file or a URL.
func (i *importing) read(source string) error {
	var text []byte
	var err error
	i.options.From = filepath.Base(source)
	if u, _ := url.Parse(source); u != nil && len(u.Scheme) > 1 && strings.Contains(source, "://") { // C: is a drive
		text, err = web.Fetch(i.ctx.Context, source, openapi.MaxSize)
		u.User, u.RawQuery, u.Fragment = nil, "", "" // which may hold a key
		i.options.From, i.options.Base = u.String(), u.String()
	} else if text, err = ui.ReadRegular(source, openapi.MaxSize); err != nil {
		e := value.Errorf(value.KindOf(err), "read %s: %w", source, err)
		if e.Kind == value.Limit {
			e = e.WithHint("import a document of at most %d MB; a bundler can remove what is not used", openapi.MaxSize>>20)
		}
		err = e
	}
	if err != nil {
		return err
	}
	if i.doc, err = openapi.Read(i.ctx.Context, string(text), i.options); err != nil {
		return folder.FileError(err, source)
	}
	return nil
}

// list prints operations. There may be more of them than a value of a script can have.
func (i *importing) list(operations []*openapi.Operation) error {
	if !i.JSON {
		i.table(operations, false)
		return nil
	}
	doc := *i.doc
	doc.Operations = operations
	text, err := json.Marshal(&doc)
	if err != nil {
		return err
	}
	return i.PrintLine(json.RawMessage(text))
}

// table prints operations, with numbers if some of them are to be chosen.
func (i *importing) table(operations []*openapi.Operation, numbers bool) {
	columns := []draw.Column{{Name: "#", Right: true, Whole: true}, {Name: "METHOD"}, {Name: "PATH", Rank: 2}, {Name: "NAME", Whole: true}, {Name: "SUMMARY", Rank: 1, Dim: true}}
	skip := 1
	if numbers {
		skip = 0
	}
	t := &draw.Table{Columns: columns[skip:], AllRows: true}
	for n, op := range operations {
		summary, mark := op.Summary, draw.None
		if op.LeftOut != "" {
			summary, mark = "left out: "+op.LeftOut, draw.Failed
		}
		row := []string{strconv.Itoa(n + 1), op.Method, ui.VisibleLine(op.Path), op.Name, ui.VisibleLine(summary)}
		t.Rows, t.Marks = append(t.Rows, row[skip:]), append(t.Marks, mark)
	}
	i.PrintTable(t)
}

// choose returns the operations that the flags name, or that a person chooses.
func (i *importing) choose() ([]*openapi.Operation, error) {
	named := i.ctx.IsSet("operation") || i.ctx.IsSet("tag")
	switch {
	case named && i.ctx.Bool("all"):
		return nil, value.Errorf(value.Invalid, "--all, and --operation or --tag, are mutually exclusive").WithHint("omit --all")
	case named:
		return i.named()
	case i.ctx.Bool("all") || i.ctx.Bool("list"):
		return i.doc.Operations, nil
	case !i.Asks(i.In):
		return nil, value.Errorf(value.Invalid, "choose operations with --operation, --tag or --all: no terminal is available to ask").WithHint(hintList)
	}
	return i.ask()
}

const hintList = "list the operations: cassidy tool import FILE --openapi --list"

// named returns the operations that the flags name.
func (i *importing) named() ([]*openapi.Operation, error) {
	wanted := map[*openapi.Operation]bool{}
	for _, name := range i.ctx.StringSlice("operation") {
		found := i.find(func(op *openapi.Operation) bool { return isNamed(op, strings.TrimSpace(name)) })
		switch {
		case len(found) == 0:
			var known []string
			for _, op := range i.doc.Operations {
				known = append(known, op.Name, op.ID, op.Label())
			}
			return nil, value.Errorf(value.Invalid, "the document has no operation %q%s", value.Clean(name, 100), value.DidYouMean(name, known)).WithHint(hintList)
		case len(found) > 1:
			return nil, value.Errorf(value.Invalid, "the document has %d operations %q", len(found), value.Clean(name, 100)).
				WithHint("choose by the name of the tool, or by method and path, such as --operation %q", found[0].Label())
		}
		wanted[found[0]] = true
	}
	for _, tag := range app.Words(i.ctx.StringSlice("tag")) {
		found := i.find(func(op *openapi.Operation) bool { return slices.Contains(op.Tags, tag) })
		if len(found) == 0 {
			return nil, value.Errorf(value.Invalid, "the document has no operation with the tag %q", value.Clean(tag, 100)).
				WithHint("list the operations: cassidy --json tool import FILE --openapi --list")
		}
		for _, op := range found {
			wanted[op] = true
		}
	}
	return i.find(func(op *openapi.Operation) bool { return wanted[op] }), nil
}

func isNamed(op *openapi.Operation, name string) bool {
	return name == op.ID || name == op.Name || strings.EqualFold(name, op.Label())
}

// find returns some of the operations.
func (i *importing) find(is func(op *openapi.Operation) bool) []*openapi.Operation {
	return slices.DeleteFunc(slices.Clone(i.doc.Operations), func(op *openapi.Operation) bool { return !is(op) })
}

// maxListed is how many operations a person can choose from by number.
const maxListed = 500

// ask lists the operations, and asks for some of them.
func (i *importing) ask() ([]*openapi.Operation, error) {
	operations := i.find(func(op *openapi.Operation) bool { return op.LeftOut == "" })
	if len(operations) > maxListed {
		return nil, value.Errorf(value.Invalid, "the document has %d operations, too many to choose from here", len(operations)).
			WithHint("choose with --operation or --tag; " + hintList)
	}
	i.table(operations, true)
	if left := len(i.doc.Operations) - len(operations); left > 0 {
		i.Note("%s cannot be imported; to see why: --list", ui.Count(left, "operation"))
	}
	in, s := i.Terminal(i.In), i.ScreenOf(i.Err)
	for {
		if ui.IsTerminal(i.Err) {
			in.Drop() // what was typed before
		}
		in.PrintLines(s.Message(draw.Asks, s.Paint(draw.Bold, "Which operations?")))
		in.Print(s.Prompt("numbers such as 1 3-5", "names", "all", "Enter none"))
		line, err := in.ReadLine(i.ctx.Context)
		if err != nil {
			return nil, i.ctx.Err()
		}
		chosen, wrong := pick(operations, line)
		if wrong == "" && len(chosen) == 0 {
			i.Note("nothing was imported")
		}
		if wrong == "" {
			return chosen, nil
		}
		i.Alert("there is no operation %s", ui.VisibleLine(wrong))
	}
}

// pick returns the operations that a line names, by numbers, ranges of numbers or names. wrong is a word that names none.
func pick(operations []*openapi.Operation, line string) (chosen []*openapi.Operation, wrong string) {
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		from, to, isRange := strings.Cut(word, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		switch at := slices.IndexFunc(operations, func(op *openapi.Operation) bool { return isNamed(op, word) }); {
		case word == "all":
			first, last = 1, len(operations)
		case at >= 0:
			first, last = at+1, at+1
		case err != nil || err2 != nil || first < 1 || first > last || last > len(operations):
			return nil, word
		}
		for _, op := range operations[first-1 : last] {
			if !slices.Contains(chosen, op) {
				chosen = append(chosen, op)
			}
		}
	}
	return chosen, ""
}

// make makes the files, and reports the operations that cannot become tools. Each script is read as a tool first, so that none
// is written which is not one.
func (i *importing) make(chosen []*openapi.Operation) (tools []openapi.Tool, drafts []scaffold.Draft, err error) {
	leave := func(op *openapi.Operation, why string) bool {
		if why != "" {
			i.leftOut = append(i.leftOut, value.NewDict("operation", op.Label(), "name", op.Name, "reason", why))
			i.Warn("left out %s: %s", op.Label(), why)
		}
		return why != ""
	}
	made, err := openapi.Tools(i.doc, slices.DeleteFunc(slices.Clone(chosen), func(op *openapi.Operation) bool { return leave(op, i.problem(op)) }))
	if err != nil {
		return nil, nil, err
	}
	lib := scaffold.Draft{Name: openapi.LibName, Text: scripts.OpenAPILib()}
	for _, t := range made {
		_, err := i.host.Describe(i.ctx.Context, tool.Script{Name: t.Name, Path: t.Name + ".star", Source: t.Script, Libs: map[string]string{lib.Name: lib.Text}})
		if err != nil {
			leave(t.Operation, "its script would be invalid: "+value.ErrorOf(err, value.Invalid).Message())
			continue
		}
		tools = append(tools, t)
		drafts = append(drafts, scaffold.Draft{Name: t.Name + ".star", Text: t.Script}, scaffold.Draft{Name: t.Name + "_test.star", Text: t.Test})
	}
	if len(tools) == 0 {
		return nil, nil, value.Errorf(value.Invalid, "nothing was imported: no chosen operation can become a tool").WithHint(hintList)
	}
	return tools, append(drafts, lib), nil
}

// problem says why an operation cannot become a tool here.
func (i *importing) problem(op *openapi.Operation) string {
	t, err := i.host.Tool(op.Name)
	switch {
	case op.LeftOut != "" || err != nil || t.Location == tool.Project:
		return op.LeftOut
	case t.Location == tool.Builtin:
		return "a built-in tool has the name " + op.Name + "; add --name PREFIX"
	}
	return "another tool has the name " + op.Name + "; add --name PREFIX"
}

// print prints the files.
func (i *importing) print(tools []openapi.Tool, drafts []scaffold.Draft) error {
	if i.JSON {
		return i.PrintJSON(value.NewDict("tools", toolList(tools), "left_out", i.leftOut, "files", ui.Map(drafts, func(d scaffold.Draft) value.Value {
			return value.NewDict("path", folder.ToolsDir+"/"+d.Name, "text", d.Text)
		})))
	}
	i.PrintData(strings.Join(ui.Map(drafts, func(d scaffold.Draft) string { return "# " + folder.ToolsDir + "/" + d.Name + "\n" + d.Text }), "\n"))
	return nil
}

// toolList returns tools as --json prints them.
func toolList(tools []openapi.Tool) value.List {
	return ui.Map(tools, func(t openapi.Tool) value.Value {
		return value.NewDict("name", t.Name, "operation", t.Label(), "host", t.Host, "secrets", ui.Texts(t.Secrets), "notes", ui.Texts(t.Notes))
	})
}

// review reports what was written, and asks once whether the files are trusted.
func (i *importing) review(tools []openapi.Tool, written []scaffold.ToolFile) error {
	i.Did("created %s with tests in %s", ui.Count(len(tools), "tool"), folder.ToolsDir)
	methods, secrets := map[string][]string{}, []string{}
	for _, t := range tools {
		methods[t.Host] = append(methods[t.Host], t.Method)
		secrets = append(secrets, t.Secrets...)
		for _, note := range t.Notes {
			i.Note("%s: %s", t.Name, note)
		}
	}
	slices.Sort(secrets)
	secrets = slices.Compact(secrets)
	with := ""
	if len(secrets) > 0 {
		with = ", with the secret " + strings.Join(secrets, " or ")
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		i.Note("they send %s to %s%s", ui.Join(slices.Compact(slices.Sorted(slices.Values(methods[name])))), name, with)
	}
	trusted, err := i.trust(written)
	if err != nil {
		return err
	}
	if i.JSON {
		return i.PrintJSON(value.NewDict("tools", toolList(tools), "files", ui.Texts(ui.Map(written, func(f scaffold.ToolFile) string { return f.Path })),
			"left_out", i.leftOut, "trusted", trusted))
	}
	if !trusted {
		i.Warn("new files are untrusted: they come from the document; to review: cassidy trust")
	}
	for _, name := range secrets {
		i.Note("to set the secret: cassidy secret set %s", name)
	}
	i.Note("to try the tools: cassidy test; then cassidy tool help %s", tools[0].Name)
	return nil
}

// trust asks about the new files, and reports whether all of them are trusted.
func (i *importing) trust(written []scaffold.ToolFile) (bool, error) {
	if i.State() == "" || len(written) == 0 {
		return len(written) == 0, nil
	}
	for asked := false; ; asked = true {
		r, err := i.Review(i.ctx.Context, i.host, written[0].Root)
		if err != nil {
			return false, err
		}
		session := &reviews.Session{App: i.App, Review: r, Files: slices.DeleteFunc(r.Untrusted(), func(f trust.File) bool {
			return !slices.ContainsFunc(written, func(w scaffold.ToolFile) bool { return w.Shown == f.Path })
		})}
		switch {
		case asked || len(session.Files) == 0:
			return len(session.Files) == 0, nil
		case i.ctx.Bool("yes"):
			if !i.JSON {
				session.ShowAll()
			}
			err = session.Record(session.Files)
		case i.Asks(i.In):
			err = session.AskOnce(i.ctx.Context)
		}
		if err != nil {
			return false, err
		}
	}
}
