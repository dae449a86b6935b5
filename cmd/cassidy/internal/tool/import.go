package tool

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/scaffold"
	reviews "github.com/cassidy-run/cassidy/cmd/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/openapi"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
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
	source := ctx.Args().First()
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
	if err := i.read(source); err != nil {
		return err
	}
	if ctx.Bool("list") {
		return i.list()
	}
	chosen, err := i.choose()
	if err != nil || len(chosen) == 0 {
		return err
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
	if u, _ := url.Parse(source); u != nil && len(u.Scheme) > 1 && strings.Contains(source, "://") { // C: is a drive
		text, err = web.Fetch(i.ctx.Context, source, openapi.MaxSize)
		u.User, u.RawQuery, u.Fragment = nil, "", "" // which may hold a key
		i.options.From, i.options.Base = u.String(), u.String()
	} else {
		i.options.From = filepath.Base(source)
		text, err = ui.ReadRegular(source, openapi.MaxSize)
		if err != nil {
			e := value.Errorf(value.KindOf(err), "read %s: %w", source, err)
			if value.KindOf(err) == value.Limit {
				e = e.WithHint("import a document of at most %d MB; a bundler can remove what is not used", openapi.MaxSize>>20)
			}
			return e
		}
	}
	if err != nil {
		return err
	}
	read := make(chan error, 1)
	go func() { // a document can be such that this takes long
		var err error
		i.doc, err = openapi.Read(string(text), i.options)
		read <- err
	}()
	select {
	case err = <-read:
	case <-i.ctx.Context.Done():
		return i.ctx.Context.Err()
	case <-time.After(maxReading):
		err = value.Errorf(value.Limit, "the document takes longer than %v to read", maxReading)
	}
	if err != nil {
		return folder.FileError(err, source)
	}
	return nil
}

// maxReading bounds the time for which a document is read: more than a large one takes on a slow machine.
const maxReading = 3 * time.Minute

// A listed is an operation as --list --json prints it.
type listed struct {
	Name        string   `json:"name"`
	Method      string   `json:"method"`
	Path        string   `json:"path"`
	OperationID string   `json:"operation_id,omitempty"`
	Summary     string   `json:"summary"`
	Tags        []string `json:"tags,omitempty"`
	Notes       []string `json:"notes,omitempty"`
	LeftOut     string   `json:"left_out,omitempty"`
}

// list prints the operations. There may be more of them than a value of a script can have.
func (i *importing) list() error {
	operations := i.doc.Operations
	if names, tags := i.ctx.StringSlice("operation"), app.Words(i.ctx.StringSlice("tag")); len(names)+len(tags) > 0 {
		var err error
		if operations, err = i.named(names, tags); err != nil {
			return err
		}
	}
	if !i.JSON {
		i.table(operations, false)
		return nil
	}
	text, err := json.Marshal(map[string]any{
		"title": i.doc.Title, "version": i.doc.Version, "group": i.doc.Group, "servers": append([]string{}, i.doc.Servers...),
		"operations": ui.Map(operations, func(op *openapi.Operation) listed {
			return listed{op.Name, op.Method, op.Path, op.ID, op.Summary, op.Tags, op.Notes, op.LeftOut}
		}),
	})
	if err != nil {
		return err
	}
	return i.PrintLine(json.RawMessage(text))
}

// table prints operations, with numbers if some of them are to be chosen.
func (i *importing) table(operations []*openapi.Operation, numbers bool) {
	t := &draw.Table{Columns: []draw.Column{{Name: "METHOD"}, {Name: "PATH", Rank: 2}, {Name: "NAME", Whole: true}, {Name: "SUMMARY", Rank: 1, Dim: true}}, AllRows: true}
	if numbers {
		t.Columns = slices.Insert(t.Columns, 0, draw.Column{Name: "#", Right: true, Whole: true})
	}
	for n, op := range operations {
		summary, mark := op.Summary, draw.None
		if op.LeftOut != "" {
			summary, mark = "left out: "+op.LeftOut, draw.Failed
		}
		row := []string{op.Method, ui.VisibleLine(op.Path), op.Name, ui.VisibleLine(summary)}
		if numbers {
			row = slices.Insert(row, 0, strconv.Itoa(n+1))
		}
		t.Rows, t.Marks = append(t.Rows, row), append(t.Marks, mark)
	}
	i.PrintTable(t)
}

// choose returns the operations that the flags name, or that a person chooses. Those that cannot become tools are reported.
func (i *importing) choose() (chosen []*openapi.Operation, err error) {
	names, tags := i.ctx.StringSlice("operation"), app.Words(i.ctx.StringSlice("tag"))
	chosen = i.doc.Operations
	switch {
	case i.ctx.Bool("all") && len(names)+len(tags) > 0:
		return nil, value.Errorf(value.Invalid, "--all, and --operation or --tag, are mutually exclusive").WithHint("omit --all")
	case i.ctx.Bool("all"):
	case len(names)+len(tags) > 0:
		if chosen, err = i.named(names, tags); err != nil {
			return nil, err
		}
	case !i.Asks(i.In):
		return nil, value.Errorf(value.Invalid, "choose operations with --operation, --tag or --all: no terminal is available to ask").
			WithHint("list them: cassidy tool import FILE --openapi --list")
	default:
		if chosen, err = i.ask(i.ctx.Context); err != nil {
			return nil, err
		}
		if len(chosen) == 0 {
			i.Note("nothing was imported")
			return nil, nil
		}
	}
	var usable []*openapi.Operation
	for _, op := range chosen {
		if why := i.problem(op); why != "" {
			i.leave(op, why)
		} else {
			usable = append(usable, op)
		}
	}
	if len(usable) == 0 {
		return nil, value.Errorf(value.Invalid, "nothing was imported: no chosen operation can become a tool").WithHint("list the operations: cassidy tool import FILE --openapi --list")
	}
	return usable, nil
}

// leave reports that an operation does not become a tool.
func (i *importing) leave(op *openapi.Operation, why string) {
	i.leftOut = append(i.leftOut, value.NewDict("operation", op.Label(), "name", op.Name, "reason", why))
	i.Warn("left out %s: %s", op.Label(), why)
}

// problem says why an operation cannot become a tool here.
func (i *importing) problem(op *openapi.Operation) string {
	if op.LeftOut != "" {
		return op.LeftOut
	}
	switch t, err := i.host.Tool(op.Name); {
	case err != nil || t.Location == tool.Project:
	case t.Location == tool.Builtin:
		return "a built-in tool has the name " + op.Name + "; add --name PREFIX"
	default:
		return "another tool has the name " + op.Name + "; add --name PREFIX"
	}
	return ""
}

// named returns the operations with some names or tags.
func (i *importing) named(names, tags []string) (chosen []*openapi.Operation, err error) {
	wanted := map[*openapi.Operation]bool{}
	for _, name := range names {
		var found []*openapi.Operation
		var known []string
		for _, op := range i.doc.Operations {
			known = append(known, op.Name, op.ID, op.Label())
			if name = strings.TrimSpace(name); name == op.ID || name == op.Name || strings.EqualFold(name, op.Label()) {
				found = append(found, op)
			}
		}
		switch {
		case len(found) == 0:
			return nil, value.Errorf(value.Invalid, "the document has no operation %q%s", value.Clean(name, 100), value.DidYouMean(name, known)).
				WithHint("list the operations: cassidy tool import FILE --openapi --list")
		case len(found) > 1:
			return nil, value.Errorf(value.Invalid, "the document has %d operations %q", len(found), value.Clean(name, 100)).
				WithHint("choose by the name of the tool, or by method and path, such as --operation %q", found[0].Label())
		}
		wanted[found[0]] = true
	}
	for _, tag := range tags {
		some := false
		for _, op := range i.doc.Operations {
			if slices.Contains(op.Tags, tag) {
				wanted[op], some = true, true
			}
		}
		if !some {
			return nil, value.Errorf(value.Invalid, "the document has no operation with the tag %q", value.Clean(tag, 100)).
				WithHint("list the operations: cassidy --json tool import FILE --openapi --list")
		}
	}
	return slices.DeleteFunc(slices.Clone(i.doc.Operations), func(op *openapi.Operation) bool { return !wanted[op] }), nil
}

// maxListed is how many operations a person can choose from by number.
const maxListed = 500

// ask lists the operations, and asks for some of them.
func (i *importing) ask(ctx context.Context) ([]*openapi.Operation, error) {
	operations := slices.DeleteFunc(slices.Clone(i.doc.Operations), func(op *openapi.Operation) bool { return op.LeftOut != "" })
	if len(operations) > maxListed {
		return nil, value.Errorf(value.Invalid, "the document has %d operations, too many to choose from here", len(operations)).
			WithHint("choose with --operation or --tag; list them: cassidy tool import FILE --openapi --list")
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
		line, err := in.ReadLine(ctx)
		if err != nil {
			return nil, ctx.Err()
		}
		chosen, wrong := pick(operations, line)
		if wrong == "" {
			return chosen, nil
		}
		i.Alert("there is no operation %s", ui.VisibleLine(wrong))
	}
}

// pick returns the operations that a line names, by numbers, ranges of numbers or names. wrong is a word that names none.
func pick(operations []*openapi.Operation, line string) (chosen []*openapi.Operation, wrong string) {
	wanted := map[int]bool{}
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		from, to, isRange := strings.Cut(word, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		switch at := slices.IndexFunc(operations, func(op *openapi.Operation) bool { return word == op.Name || word == op.ID }); {
		case word == "all":
			first, last = 1, len(operations)
		case at >= 0:
			first, last = at+1, at+1
		case err != nil || err2 != nil || first < 1 || first > last || last > len(operations):
			return nil, word
		}
		for n := first; n <= last; n++ {
			wanted[n-1] = true
		}
	}
	for n, op := range operations {
		if wanted[n] {
			chosen = append(chosen, op)
		}
	}
	return chosen, ""
}

// make makes the files. Each script is read as a tool first, so that none is written which is not one.
func (i *importing) make(chosen []*openapi.Operation) (tools []openapi.Tool, drafts []scaffold.Draft, err error) {
	list, lib, err := openapi.Tools(i.doc, chosen, i.options)
	if err != nil {
		return nil, nil, err
	}
	libName := "lib/" + openapi.LibName
	for _, t := range list {
		_, err := i.host.Describe(i.ctx.Context, tool.Script{Name: t.Name, Path: t.Name + ".star", Source: t.Script, Libs: map[string]string{libName: openapi.Lib}})
		if err != nil {
			i.leave(t.Operation, "its script would be invalid: "+value.ErrorOf(err, value.Invalid).Message())
			continue
		}
		tools = append(tools, t)
		drafts = append(drafts, scaffold.Draft{Name: t.Name + ".star", Text: t.Script}, scaffold.Draft{Name: t.Name + "_test.star", Text: t.Test})
	}
	if len(tools) == 0 {
		return nil, nil, value.Errorf(value.Invalid, "nothing was imported: no chosen operation can become a tool")
	}
	if lib {
		drafts = append(drafts, scaffold.Draft{Name: libName, Text: openapi.Lib})
	}
	return tools, drafts, nil
}

// print prints the files.
func (i *importing) print(tools []openapi.Tool, drafts []scaffold.Draft) error {
	if i.JSON {
		files := ui.Map(drafts, func(d scaffold.Draft) value.Value {
			return value.NewDict("path", folder.ToolsDir+"/"+d.Name, "text", d.Text)
		})
		return i.PrintJSON(value.NewDict("tools", toolList(tools), "files", value.List(files), "left_out", i.leftOut))
	}
	for n, d := range drafts {
		if n > 0 {
			i.PrintData("\n")
		}
		i.PrintData("# " + folder.ToolsDir + "/" + d.Name + "\n" + d.Text)
	}
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
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		with := ""
		if len(secrets) > 0 {
			with = ", with the secret " + strings.Join(secrets, " or ")
		}
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
	session := &reviews.Session{App: i.App}
	untrusted := func() (files []trust.File, err error) {
		if session.Review, err = i.Review(i.ctx.Context, i.host, written[0].Root); err != nil {
			return nil, err
		}
		return slices.DeleteFunc(session.Review.Untrusted(), func(f trust.File) bool {
			return !slices.ContainsFunc(written, func(w scaffold.ToolFile) bool { return w.Shown == f.Path })
		}), nil
	}
	files, err := untrusted()
	session.Files = files
	switch {
	case err != nil || len(files) == 0:
		return err == nil, err
	case i.ctx.Bool("yes"):
		if !i.JSON {
			session.ShowAll()
		}
		err = session.Record(files)
	case i.Asks(i.In):
		err = session.AskOnce(i.ctx.Context)
	}
	if err != nil {
		return false, err
	}
	files, err = untrusted()
	return len(files) == 0, err
}
