package taint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Lists name sources that the user trusts, and others that the user does not trust. Each is a
// capability: http:HOST, tool:NAME or tool:@GROUP, and fs.read:GLOB for files.
type Lists struct {
	Trusted, Untrusted []tool.Capability
	Files              Files
}

// ParseSource reads a source as it is written in a config.
func ParseSource(text string) (tool.Capability, error) {
	c, err := tool.ParseCapability(text)
	if err != nil {
		return c, err
	}
	if c.Name != "http" && c.Name != "tool" && c.Name != "fs.read" || c.Target == "" {
		return c, value.Errorf(value.Invalid, "%q does not name a source", text).
			WithHint("write http:HOST, tool:NAME, tool:@GROUP or fs.read:GLOB, as in http:api.example.com")
	}
	if c.Name == "tool" && !strings.HasPrefix(c.Target, "@") {
		c.Target = tool.Key(c.Target)
	}
	return c, nil
}

// Saved is where agents save long results of tools. Some of these are texts of strangers, and a file does
// not tell which: all of them are untrusted, unless the user's config trusts them.
const Saved = ".cassidy/results"

// ParseLists reads the lists of trusted and untrusted sources, which are about the given files. What is
// in [Saved] is untrusted in every project.
func ParseLists(trusted, untrusted []string, files Files) (l Lists, err error) {
	l.Files = files
	for _, one := range []struct {
		name  string
		texts []string
		to    *[]tool.Capability
	}{{"TrustedSources", trusted, &l.Trusted}, {"UntrustedSources", untrusted, &l.Untrusted}} {
		for _, text := range one.texts {
			c, err := ParseSource(text)
			if err != nil {
				return l, value.Errorf(value.Invalid, "%s: %w", one.name, err)
			}
			*one.to = append(*one.to, c)
		}
	}
	l.Untrusted = append(l.Untrusted, tool.Capability{Name: "fs.read", Target: Saved + "/**"})
	return l, nil
}

// names reports whether a list names a tool, by its name or its group.
func names(list []tool.Capability, t *tool.Tool) bool {
	return slices.ContainsFunc(list, func(c tool.Capability) bool {
		return c.Name == "tool" && (c.Target == tool.Key(t.Name) || c.Target == "@"+t.DisplayGroup())
	})
}

// TrustsTool reports whether what a tool reads and returns is trusted.
func (l *Lists) TrustsTool(t *tool.Tool) bool { return names(l.Trusted, t) }

// DistrustsTool reports whether the user lists a tool as untrusted.
func (l *Lists) DistrustsTool(t *tool.Tool) bool { return names(l.Untrusted, t) }

// trusts reports whether a server that was read is trusted.
func (l *Lists) trusts(c tool.Capability) bool {
	return strings.HasPrefix(c.Name, "http") && tool.AllowsAny(l.Trusted, c)
}

// nameOnly are the functions of package fs that return nothing of a file's text, nor names that the
// call does not have.
var nameOnly = []string{"fs.stat", "fs.exists"}

// Read returns what of an effect that was carried out is untrusted, as people read it, or "".
// f is its function, takes are its capabilities, and done and err are its outcome. m are the marks of the
// run; nothing is noted in them. The name of what is in an untrusted place is untrusted text, whatever
// prints it.
func (l *Lists) Read(m *Marks, f *tool.Func, e tool.Effect, takes []tool.Capability, done tool.Outcome, err error) string {
	out := done.Value
	if f.Untrusted != nil && f.Untrusted(e.Args) {
		return strings.TrimSpace(e.Func + " " + about(e))
	}
	var names []string
	if done.Names != nil {
		names = done.Names()
	}
	if name := cmp.Or(l.Names(m, names), l.readName(e, out, err)); name != "" {
		return e.Func + " " + name
	}
	if slices.Contains(nameOnly, e.Func) {
		return ""
	}
	if e := value.ErrorOf(err, value.Failed); e != nil && e.Limit.Unsent() {
		return "" // the server was not reached
	}
	for _, c := range slices.Concat(takes, redirected(takes, out)) {
		if c.Receives() && !l.trusts(c) {
			return e.Func + " " + place(e, c)
		}
	}
	return l.readFile(m, e, takes, out)
}

// about returns what people recognize an effect by: the command that it ran.
func about(e tool.Effect) string {
	var words []string
	for _, v := range e.Args.Elements("argv") {
		word, _ := v.(string)
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// place returns where an effect has read: the address of a request.
func place(e tool.Effect, c tool.Capability) string {
	if url := e.Args.Text("url"); url != "" {
		return url
	}
	return c.Target
}

// redirected returns the capability for the host at which a redirect ended, if that is another one.
func redirected(takes []tool.Capability, out value.Value) (list []tool.Capability) {
	if len(takes) == 0 || !strings.HasPrefix(takes[0].Name, "http") {
		return nil
	}
	d, _ := out.(*value.Dict)
	if host := hostOf(d.Text("url")); host != "" && host != takes[0].Target {
		list = append(list, tool.Capability{Name: takes[0].Name, Target: host})
	}
	return list
}

// hostOf returns the host of an address, with a port that is not the standard one, or "".
func hostOf(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	host, _, _ = strings.Cut(host, "#")
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}
