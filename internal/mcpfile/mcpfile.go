// Package mcpfile reads and writes the file that names the MCP servers of a project.
//
// The file has the form that MCP clients share, {"mcpServers": {NAME: {…}}}. An entry may have
// the object "cassidy" with what the server is granted.
package mcpfile

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The files, from the project's root.
const (
	Name   = folder.Name + "/mcp.json" // the servers that are used
	Shared = ".mcp.json"               // that of other clients, which is only imported
)

const (
	// MaxSize is the limit of a file, in bytes. A person reviews all of it.
	MaxSize = 256 << 10
	// maxServers is how many servers a file may name: each is a process.
	maxServers = 50
	// maxDepth and maxNodes bound the values of a file: entries have a depth of 4, and other
	// programs may have fields of their own.
	maxDepth, maxNodes = 16, 10_000
	// maxName keeps SERVER__TOOL within the limit of a tool's name.
	maxName = 30
)

// A Server is an entry of the file. Its texts may contain ${VAR} and ${VAR:-DEFAULT}, see
// [Server.Expand].
type Server struct {
	Name    string
	Command string // the program to start; "" for a server with a URL
	Args    []string
	Env     []Pair // environment variables beside PATH and HOME
	Dir     string // where it starts, from the project's root; "" is the root
	URL     string // of a server over HTTP; "" for a program
	SSE     bool   // it has the transport of older servers
	Headers []Pair

	// What the object "cassidy" grants. The zero value reads the project and does nothing else.
	Network          bool          // the program may open connections
	Read, Write      []string      // files and folders beside the project, from its root or with ~/
	TrustAnnotations bool          // readOnlyHint of a tool counts
	Timeout          time.Duration // of one call; 0 is the default
	Include, Exclude []string      // names of tools, with * for any characters; no Include is all
}

// A Pair is a variable or a header.
type Pair struct{ Name, Value string }

// Parse reads a file. The warnings name fields that are ignored. An error is of kind Invalid.
func Parse(text string) (servers []Server, warnings []string, err error) {
	if len(text) > MaxSize {
		return nil, nil, value.Errorf(value.Limit, "the file is larger than %d KB", MaxSize>>10)
	}
	v, err := parse(text)
	if err != nil {
		return nil, nil, value.Errorf(value.Invalid, "the file is not valid JSON: %w", err)
	}
	r := &reader{}
	if v == nil {
		r.fail("the file is null: expected an object")
	}
	entries := r.object(r.dict(v, "the file"), "mcpServers")
	if r.err == nil && entries.Len() > maxServers {
		r.fail("mcpServers has more than %d entries", maxServers)
	}
	for name, entry := range entries.All() {
		name, _ := name.(string)
		r.at = "mcpServers." + value.Clean(name, 60)
		servers = append(servers, r.server(name, entry))
		if r.err != nil {
			return nil, nil, r.err
		}
	}
	return servers, r.warnings, r.err
}

// A reader reads entries until the first error.
type reader struct {
	at       string // the entry that is read
	warnings []string
	err      error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = value.Errorf(value.Invalid, format, args...)
	}
}

// dict returns a value as a dict. A missing value is an empty dict.
func (r *reader) dict(v value.Value, name string) *value.Dict {
	d, ok := v.(*value.Dict)
	if !ok && v != nil {
		r.fail("%s: expected an object but got %s", name, value.TypeOf(v))
	}
	return d.OrEmpty()
}

// object returns a field of a dict that is a dict.
func (r *reader) object(d *value.Dict, name string) *value.Dict {
	v, _ := d.Get(name)
	return r.dict(v, r.path()+name)
}

func (r *reader) path() string {
	if r.at == "" {
		return ""
	}
	return r.at + "."
}

var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`) })

// CheckName fails with kind Invalid for a name that a server cannot have.
func CheckName(name string) error {
	if len(name) > maxName || !validName().MatchString(name) {
		return value.Errorf(value.Invalid, "invalid name of a server: %q", value.Clean(name, 60)).
			WithHint("begin with a letter, and use lower-case letters and digits, with single - or _ between them; use at most %d characters", maxName)
	}
	return nil
}

func (r *reader) server(name string, v value.Value) Server {
	s := Server{Name: name}
	if err := CheckName(name); err != nil {
		r.err = err
		return s
	}
	d := r.dict(v, r.at)
	s.Command, s.Args, s.Env, s.Dir = r.text(d, "command"), r.texts(d, "args"), r.pairs(d, "env"), r.text(d, "cwd")
	s.URL, s.Headers = r.text(d, "url"), r.pairs(d, "headers")
	kind := r.text(d, "type")
	r.unknown(d, "command", "args", "env", "cwd", "url", "headers", "type", "cassidy")
	grants := r.object(d, "cassidy")
	r.at += ".cassidy"
	s.Network, s.TrustAnnotations = r.bool(grants, "network"), r.bool(grants, "trust_annotations")
	s.Read, s.Write = r.texts(grants, "read"), r.texts(grants, "write")
	s.Timeout = r.seconds(grants, "timeout")
	s.Include, s.Exclude = r.texts(grants, "include"), r.texts(grants, "exclude")
	if grants.Has("include") && len(s.Include) == 0 {
		r.fail("%s.include is empty: the server would have no tools", r.at)
	}
	r.unknown(grants, "network", "trust_annotations", "read", "write", "timeout", "include", "exclude")
	r.at = strings.TrimSuffix(r.at, ".cassidy")
	r.kind(&s, kind)
	return s
}

// kind checks that an entry is either a program or a URL, as its type says.
func (r *reader) kind(s *Server, kind string) {
	s.SSE = kind == "sse"
	switch {
	case s.Command == "" && s.URL == "":
		r.fail("%s has neither a command nor a url", r.at)
	case s.Command != "" && s.URL != "":
		r.fail("%s has both a command and a url", r.at)
	case kind != "" && kind != "stdio" && kind != "http" && kind != "streamable-http" && kind != "sse":
		r.fail("%s.type is %q: expected \"stdio\", \"http\" or \"sse\"", r.at, value.Clean(kind, 40))
	case kind == "stdio" && s.Command == "" || kind != "" && kind != "stdio" && s.URL == "":
		r.fail("%s: the type %q does not match the other fields", r.at, kind)
	case s.URL != "" && (s.Network || len(s.Read)+len(s.Write) > 0):
		r.fail("%s.cassidy: network, read and write are only for servers with a command", r.at)
	}
}

func (r *reader) unknown(d *value.Dict, known ...string) {
	for k := range d.All() {
		if name, _ := k.(string); !slices.Contains(known, name) {
			r.warnings = append(r.warnings, fmt.Sprintf("%s.%s is ignored", r.at, value.Clean(name, 60)))
		}
	}
}

func (r *reader) text(d *value.Dict, name string) string {
	v, _ := d.Get(name)
	s, ok := v.(string)
	if !ok && v != nil {
		r.fail("%s.%s: expected a string but got %s", r.at, name, value.TypeOf(v))
	}
	if strings.ContainsRune(s, 0) {
		r.fail("%s.%s contains a NUL character", r.at, name)
	}
	return s
}

func (r *reader) texts(d *value.Dict, name string) (list []string) {
	v, _ := d.Get(name)
	items, ok := value.Elements(v)
	if !ok && v != nil {
		r.fail("%s.%s: expected a list but got %s", r.at, name, value.TypeOf(v))
	}
	for _, item := range items {
		s, ok := item.(string)
		if !ok || strings.ContainsRune(s, 0) {
			r.fail("%s.%s: expected a list of strings", r.at, name)
		}
		list = append(list, s)
	}
	return list
}

func (r *reader) pairs(d *value.Dict, name string) (list []Pair) {
	fields := r.object(d, name)
	outer := r.at
	defer func() { r.at = outer }()
	r.at = r.path() + name
	for k := range fields.All() {
		key, _ := k.(string)
		if key == "" || strings.ContainsAny(key, "=\x00\n\r :") {
			r.fail("%s: %q is not a valid name", r.at, value.Clean(key, 60))
			return nil
		}
		list = append(list, Pair{key, r.text(fields, key)})
	}
	return list
}

func (r *reader) bool(d *value.Dict, name string) bool {
	v, _ := d.Get(name)
	b, ok := v.(bool)
	if !ok && v != nil {
		r.fail("%s.%s: expected true or false but got %s", r.at, name, value.TypeOf(v))
	}
	return b
}

// maxTimeout is how long one call of a server's tool may take.
const maxTimeout = time.Hour

func (r *reader) seconds(d *value.Dict, name string) time.Duration {
	v, _ := d.Get(name)
	if v == nil {
		return 0
	}
	n, ok := v.(int64)
	if !ok || n < 1 || n > int64(maxTimeout/time.Second) {
		r.fail("%s.%s: expected an integer from 1 to %d (seconds)", r.at, name, int64(maxTimeout/time.Second))
		return 0
	}
	return time.Duration(n) * time.Second
}

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)
})

// Expand returns the server with the values of the environment variables that it names. It fails
// with kind Unavailable if one is not set and has no default, and with kind Invalid for a URL
// that is not http or https.
func (s *Server) Expand(env func(name string) (string, bool)) (Server, error) {
	out, missing := *s, ""
	expand := func(text string) string {
		return variable().ReplaceAllStringFunc(text, func(use string) string {
			m := variable().FindStringSubmatch(use)
			if v, set := env(m[1]); set && (v != "" || m[2] == "") {
				return v
			}
			if m[2] == "" && missing == "" {
				missing = m[1]
			}
			return m[3]
		})
	}
	all := func(list []string) []string { return value.Map(list, expand) }
	pairs := func(list []Pair) []Pair {
		return value.Map(list, func(p Pair) Pair { return Pair{p.Name, expand(p.Value)} })
	}
	out.Command, out.Args, out.Env, out.Dir = expand(s.Command), all(s.Args), pairs(s.Env), expand(s.Dir)
	out.URL, out.Headers, out.Read, out.Write = expand(s.URL), pairs(s.Headers), all(s.Read), all(s.Write)
	if missing != "" {
		return Server{}, value.Errorf(value.Unavailable, "the environment variable %s, which the server %s needs, is not set", missing, s.Name).WithHint("export %s=…", missing)
	}
	if out.URL != "" {
		u, err := url.Parse(out.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return Server{}, value.Errorf(value.Invalid, "the url of the server %s is not valid", s.Name).WithHint("use https://HOST/PATH, and headers for tokens")
		}
	}
	return out, nil
}

// Variables returns the names of the environment variables that the texts of a server take values
// from, sorted.
func (s *Server) Variables() (names []string) {
	used := *s
	// The default of each use is not expanded, so no name is missed.
	_, _ = used.Expand(func(name string) (string, bool) {
		names = append(names, name)
		return "", true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Facts returns in words what a server does and may do, for a review: each a label and a text.
func (s *Server) Facts() (facts []Pair) {
	add := func(label, text string) {
		if text != "" {
			facts = append(facts, Pair{label, text})
		}
	}
	names := func(list []Pair) string {
		return strings.Join(value.Map(list, func(p Pair) string { return p.Name }), ", ")
	}
	if s.URL != "" {
		add(s.Name, "sends calls to "+s.URL)
		if s.SSE {
			add("transport", "HTTP+SSE")
		}
		add("headers", names(s.Headers))
	} else {
		add(s.Name, "starts "+commandLine(append([]string{s.Command}, s.Args...)))
		for _, name := range s.Unpinned() {
			add("package", name+" is not pinned: each start may run another version")
		}
		add("folder", s.Dir)
		env := []Pair{{"PATH", ""}, {"HOME", ""}, {"LANG", ""}, {"LC_*", ""}, {"TZ", ""}}
		if s.Network {
			env = append(env, Pair{"*_PROXY", ""})
		}
		add("env", names(append(env, s.Env...)))
		add("reads", strings.Join(append([]string{"the project"}, s.Read...), ", "))
		add("writes", strings.Join(s.Write, ", "))
	}
	add("gets", withPrefix("the values of your environment variables ", strings.Join(s.Variables(), ", ")))
	if s.Network {
		add("network", "opens connections to any address")
	}
	add("tools", strings.Join(s.Include, ", "))
	add("without", strings.Join(s.Exclude, ", "))
	if s.TrustAnnotations {
		add("asks", "not before tools that it calls read-only")
	}
	return facts
}

func withPrefix(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// plainWord matches the words of a command line that need no quotes.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./$\{}~^-]+$`) })

// commandLine joins words so that the limits of each are visible.
func commandLine(words []string) string {
	return strings.Join(value.Map(words, func(word string) string {
		if plainWord().MatchString(word) {
			return word
		}
		return strconv.Quote(word)
	}), " ")
}
