package attached

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Register adds the tools of the server to a host, as SERVER.TOOL in the group mcp:SERVER. It
// starts nothing. A tool is risky, unless the server's annotations are trusted and call it
// read-only. Its results are untrusted text. If the server asks for input, the host asks its user. The errors are of the tools that cannot be added,
// such as one with an invalid schema, or with the name of another one.
func (s *Server) Register(h *host.Host) (broken []*value.Error) {
	return Exchange(h, nil, []*Server{s})
}

// toolOf returns the tool of a definition. The schema of results only describes them: a result that does not
// fit it comes after the effect, and an error would have a model make the call again.
func (s *Server) toolOf(d *value.Dict) tool.Tool {
	a := d.Dict("annotations")
	trusted := s.opts.TrustAnnotations
	reads := trusted && a.Bool("readOnlyHint")
	open, given := a.Get("openWorldHint")
	schema, _ := jsonschema.Mend(d.Dict("inputSchema").OrEmpty())
	t := tool.Tool{
		Name:        s.opts.Name + "." + s.accept.toolName(d.Text("name"), tool.MaxName-len(s.opts.Name)-2),
		Title:       strings.TrimSpace(value.Clean(firstOf(d.Text("title"), a.Text("title")), maxTitle)),
		Description: strings.TrimSpace(d.Text("description")),
		Group:       "mcp:" + s.opts.Name,
		Risky:       !reads,
		Hints: tool.Hints{
			ReadOnly: reads, Idempotent: trusted && a.Bool("idempotentHint"), UntrustedOutput: true,
			OpenWorld: !(trusted && given && open == value.Value(false)),
		},
		Schema:  []byte(jsonOf(schema)),
		Timeout: s.opts.Timeout,
	}
	if out := d.Dict("outputSchema"); out.Len() > 0 {
		t.ReturnsDoc = "a value with this JSON Schema: " + value.Cut(jsonOf(out), maxReturns)
	}
	if t.Description == "" {
		t.Description = "The tool " + value.Clean(d.Text("name"), maxShownName) + " of the server " + s.opts.Name + "."
	}
	if t.Title == "" {
		t.Title = strings.TrimSpace(value.Clean(d.Text("name"), maxTitle))
	}
	return t
}

// uses reports whether a tool of the server is used.
func (o *Options) uses(name string) bool {
	matches := func(pattern string) bool { return matchesName(pattern, name) }
	return (o.Include == nil || slices.ContainsFunc(o.Include, matches)) && !slices.ContainsFunc(o.Exclude, matches)
}

// matchesName reports whether a name matches a pattern, in which * stands for any characters.
func matchesName(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return name == pattern
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		rest, ok = after, ok && found
	}
	return ok && strings.HasSuffix(rest, parts[len(parts)-1])
}

// maxReturns is how much of the schema of a result is described, in bytes.
const maxReturns = 4 << 10

// maxTitle is how much of a title is used, in bytes.
const maxTitle = 100

func firstOf(texts ...string) string {
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

var (
	humps   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z0-9])([A-Z])`) })
	foreign = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9-]+`) })
	joints  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[_-]*_[_-]*|--+`) })
)

// ToolName returns the name by which cassidy knows a tool of a server: in lower case, with _ in
// place of what a name cannot have, and at most size bytes long. getUser is get_user.
func ToolName(name string, size int) string {
	short := foreign().ReplaceAllString(strings.ToLower(humps().ReplaceAllString(name, "${1}_$2")), "_")
	short = strings.Trim(joints().ReplaceAllStringFunc(short, func(j string) string {
		if strings.Contains(j, "_") {
			return "_"
		}
		return "-"
	}), "_-")
	if short == "" || short[0] < 'a' || short[0] > 'z' {
		short = strings.Trim("t_"+short, "_")
	}
	if len(short) > size {
		short = summed(short, name, size) // two long names may begin alike
	}
	return short
}

// toolName is [ToolName], with a checksum if another tool of the set would have the same name.
func (s Set) toolName(name string, size int) string {
	short := ToolName(name, size)
	if s.alike[name] {
		short = summed(ToolName(name, maxName), name, size)
	}
	return short
}

// summed returns a short name with a checksum of a name, at most size bytes long.
func summed(short, name string, size int) string {
	sum := tool.HashBytes([]byte(name))[:8]
	return strings.TrimRight(short[:min(len(short), max(1, size-len(sum)-1))], "_-") + "_" + sum
}

// Mended returns a text for each keyword that is left out of the schemas of a set, since it has no
// meaning or cannot be checked here. The server checks the arguments itself in any case.
func Mended(tools Set) (texts []string) {
	for _, d := range tools.tools {
		_, left := jsonschema.Mend(d.Dict("inputSchema").OrEmpty())
		for _, what := range left {
			texts = append(texts, value.Clean(d.Text("name"), maxShownName)+": "+what)
		}
	}
	return texts
}

// Broken returns the errors of the tools of a set that [Server.Register] would not add to a host
// without other tools.
func Broken(o Options, tools Set) (broken []*value.Error) {
	s := &Server{opts: o, accept: tools}
	for _, d := range tools.tools {
		t := s.toolOf(d)
		if err := t.Validate(); err != nil {
			broken = append(broken, value.Errorf(value.KindOf(err), "tool %s: %w", value.Clean(d.Text("name"), maxShownName), err))
		}
	}
	return broken
}
