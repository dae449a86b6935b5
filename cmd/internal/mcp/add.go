package mcp

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func addCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "add", Usage: "attach a server, so that its tools can be used here", ArgsUsage: "NAME URL|COMMAND [ARG …]",
		Description: "A server is a COMMAND that cassidy starts, or a URL. For example:\n" +
			"   cassidy mcp add files -- mcp-server-filesystem .\n" +
			"   cassidy mcp add weather https://weather.example/mcp --header 'X-Key: ${WEATHER_KEY}'\n" +
			"cassidy writes an entry for the server to .cassidy/mcp.json, or with --user to your personal file ~/.cassidy/mcp.json\n" +
			"($CASSIDY_HOME/mcp.json if CASSIDY_HOME is set). Before the first use, review the tools of the server: cassidy mcp review NAME.\n" +
			"The entry has the names of environment variables, but not their values.\n" +
			"COMMAND runs in a sandbox. It can read the project; other files and the network need a flag.\n" +
			"If an argument of COMMAND begins with -, put -- before COMMAND.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "env", Usage: "pass the environment variable `NAME` to COMMAND"},
			&cli.StringSliceFlag{Name: "read", Usage: "allow COMMAND to read the file or folder `PATH`"},
			&cli.StringSliceFlag{Name: "write", Usage: "allow COMMAND to write to the file or folder `PATH`"},
			&cli.BoolFlag{Name: "network", Usage: "allow COMMAND to open network connections"},
			&cli.StringSliceFlag{Name: "include", Usage: "use only the tool `NAME` of the server; * stands for any characters"},
			&cli.StringSliceFlag{Name: "exclude", Usage: "do not use the tool `NAME` of the server; * stands for any characters"},
			&cli.BoolFlag{Name: "trust-annotations", Usage: "do not ask before tools that the server calls read-only"},
			&cli.BoolFlag{Name: "sse", Usage: "use the transport HTTP+SSE of older servers for the URL"},
			&cli.StringSliceFlag{Name: "header", Usage: "send the `HEADER` 'NAME: ${VARIABLE}' to the URL"},
			&cli.BoolFlag{Name: "user", Usage: "attach the server for all your projects"},
			&cli.BoolFlag{Name: "replace", Usage: "replace the server with the same name"},
		},
		Action: c.add,
	}
}

func (c *command) add(ctx *cli.Context) error {
	name, args := ctx.Args().First(), ctx.Args().Tail()
	if err := mcpfile.CheckName(name); err != nil {
		return err
	}
	var entry *value.Dict
	var err error
	if isURL(args[0]) {
		entry, err = urlEntry(ctx, args)
	} else {
		entry, err = programEntry(ctx, args)
	}
	if err != nil {
		return err
	}
	f, err := c.serverFile(ctx.Bool("user"))
	if err != nil {
		return err
	}
	trusted, err := f.change(func(text string) (string, error) {
		if mcpfile.Entry(text, name) != nil && !ctx.Bool("replace") {
			return "", value.Errorf(value.Invalid, "the server %q already exists", name).WithHint("choose another name, or add --replace")
		}
		return mcpfile.Put(text, name, entry)
	})
	if err != nil {
		return err
	}
	return c.added(f, []string{name}, trusted, true)
}

// isURL reports whether an argument is meant as an address.
func isURL(arg string) bool { return strings.Contains(arg, "://") }

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// programEntry returns the entry of a server that is started.
func programEntry(ctx *cli.Context, words []string) (*value.Dict, error) {
	if ctx.IsSet("header") {
		return nil, value.Errorf(value.Invalid, "--header is only for a server with a URL").WithHint("pass a secret to the command with: --env NAME")
	}
	if ctx.IsSet("sse") {
		return nil, value.Errorf(value.Invalid, "--sse is only for a server with a URL").WithHint("omit --sse: a command speaks on its standard input and output")
	}
	entry := value.NewDict("command", words[0])
	if len(words) > 1 {
		entry.Put("args", texts(words[1:]))
	}
	env := &value.Dict{}
	for _, name := range ctx.StringSlice("env") {
		if !variableName().MatchString(name) {
			name, _, _ = strings.Cut(name, "=")
			return nil, value.Errorf(value.Invalid, "--env takes the name of an environment variable only, so that no secret is written to the file").
				WithHint("export %s=… and add --env %s; or edit the file, if the value is not a secret", value.Clean(name, 60), value.Clean(name, 60))
		}
		env.Put(name, "${"+name+"}")
	}
	if env.Len() > 0 {
		entry.Put("env", env)
	}
	grants := &value.Dict{}
	if ctx.Bool("network") {
		grants.Put("network", true)
	}
	for _, flag := range []string{"read", "write"} {
		if paths := ctx.StringSlice(flag); len(paths) > 0 {
			grants.Put(flag, texts(paths))
		}
	}
	putGrants(ctx, entry, grants)
	return entry, nil
}

// putGrants adds what cassidy may do with a server, of both kinds, to an entry.
func putGrants(ctx *cli.Context, entry, grants *value.Dict) {
	for _, flag := range []string{"include", "exclude"} {
		if names := ctx.StringSlice(flag); len(names) > 0 {
			grants.Put(flag, texts(names))
		}
	}
	if ctx.Bool("trust-annotations") {
		grants.Put("trust_annotations", true)
	}
	if grants.Len() > 0 {
		entry.Put("cassidy", grants)
	}
}

// urlEntry returns the entry of a server over HTTP.
func urlEntry(ctx *cli.Context, words []string) (*value.Dict, error) {
	if len(words) > 1 {
		return nil, value.Errorf(value.Invalid, "unexpected argument %q after the URL", words[1]).WithHint("cassidy mcp add NAME URL --header 'NAME: ${VARIABLE}'")
	}
	for _, flag := range []string{"env", "read", "write", "network"} {
		if ctx.IsSet(flag) {
			e := value.Errorf(value.Invalid, "--%s is only for a server with a command, not for a URL", flag)
			if flag == "env" {
				return nil, e.WithHint("send a secret to the URL with: --header 'NAME: ${VARIABLE}'")
			}
			return nil, e.WithHint("omit --%s: it configures the sandbox of a command", flag)
		}
	}
	headers := &value.Dict{}
	for _, header := range ctx.StringSlice("header") {
		name, text, ok := strings.Cut(header, ":")
		name, text = strings.TrimSpace(name), strings.TrimSpace(text)
		switch {
		case !ok || name == "" || text == "":
			return nil, value.Errorf(value.Invalid, "invalid header %q", value.Clean(name, 40)).WithHint("write --header 'NAME: ${VARIABLE}'")
		case isSecret(name, text):
			return nil, value.Errorf(value.Invalid, "the value of the header %s looks like a secret, and secrets must not be written to mcp.json", value.Clean(name, 40)).
				WithHint("put the value into an environment variable, and write --header '%s: ${VARIABLE}'", value.Clean(name, 40))
		}
		headers.Put(name, text)
	}
	s := mcpfile.Server{Name: ctx.Args().First(), URL: words[0]}
	if _, err := s.Expand(func(string) (string, bool) { return "x", true }); err != nil {
		return nil, err
	}
	entry := value.NewDict("url", words[0])
	if ctx.Bool("sse") {
		entry.Put("type", "sse")
	}
	if headers.Len() > 0 {
		entry.Put("headers", headers)
	}
	putGrants(ctx, entry, &value.Dict{})
	return entry, nil
}

// added reports servers that were added to a file, and what to do next. With facts, it shows what
// they may do.
func (c *command) added(f *serverFile, names []string, trusted, facts bool) error {
	text, err := f.read()
	if err != nil {
		return folder.FileError(err, f.shown)
	}
	servers, _, err := mcpfile.Parse(text)
	if err != nil {
		return folder.FileError(err, f.shown)
	}
	servers = slices.DeleteFunc(servers, func(s mcpfile.Server) bool { return !slices.Contains(names, s.Name) })
	if c.JSON {
		list := ui.Map(servers, func(s mcpfile.Server) value.Value { return serverDict(&s) })
		return c.PrintJSON(value.NewDict("file", f.shown, "added", value.List(list), "trusted", trusted))
	}
	p := draw.Page{Screen: c.ScreenOf(c.Out)}
	missing := map[string]bool{}
	for i := range servers {
		if facts {
			writeFacts(&p, &servers[i])
		}
		for _, name := range servers[i].Variables() {
			if _, set := c.Env(name); !set {
				missing[name] = true
			}
		}
	}
	c.Print(p.String())
	c.Did("added to %s", f.shown)
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		c.Warn("the environment variable %s is not set: export %s=…", name, name)
	}
	if trusted {
		for i := range servers {
			c.Note("next, review its tools: cassidy mcp review %s", servers[i].Name)
		}
	} else {
		c.Warn("the file has other entries that nobody has reviewed, so none of it is used; to review: cassidy trust %s", mcpfile.Name)
	}
	return nil
}

// factWidth is the width of the label of a fact.
const factWidth = 10

// writeFacts writes what a server does and may do.
func writeFacts(p *draw.Page, s *mcpfile.Server) {
	for i, f := range s.Facts() {
		name, text := ui.VisibleLine(f.Name), ui.VisibleLine(f.Value)
		switch {
		case i > 0:
			writeFact(p, draw.None, name, text)
		case p.Width > 0:
			p.Text("  ", p.Paint(draw.Bold, name)+"  "+text)
		default:
			p.Line(p.Paint(draw.Bold, name) + "  " + text)
		}
	}
}

// writeFact writes a fact about a server. A mark is for what is wrong with it.
func writeFact(p *draw.Page, mark draw.Symbol, name, text string) {
	switch name = draw.Pad(name, factWidth, false); {
	case p.Width > 0:
		p.Lines(p.Screen.Fact(mark, name, text))
		return
	case mark != draw.None:
		name = p.Paint(draw.Bold, name)
	}
	p.Line("  " + name + " " + text)
}

// serverDict returns a server as --json prints it.
func serverDict(s *mcpfile.Server) *value.Dict {
	d := value.NewDict("name", s.Name, "kind", kindOf(s))
	if s.URL != "" {
		d.Put("url", s.URL)
		d.Put("sse", s.SSE)
		d.Put("headers", ui.Texts(ui.Map(s.Headers, func(p mcpfile.Pair) string { return p.Name })))
	} else {
		d.Put("command", s.Command)
		d.Put("args", texts(s.Args))
		d.Put("env", ui.Texts(ui.Map(s.Env, func(p mcpfile.Pair) string { return p.Name })))
		d.Put("network", s.Network)
		d.Put("read", texts(s.Read))
		d.Put("write", texts(s.Write))
	}
	d.Put("include", texts(s.Include))
	d.Put("exclude", texts(s.Exclude))
	d.Put("trust_annotations", s.TrustAnnotations)
	d.Put("variables", ui.Texts(s.Variables()))
	return d
}

// kindOf returns how a server is reached, as the file names it.
func kindOf(s *mcpfile.Server) string {
	if s.URL != "" {
		return "http"
	}
	return "stdio"
}
