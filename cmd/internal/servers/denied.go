package servers

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/runtime/value"
)

var (
	// deniedLine finds lines of programs, and of Node.js and Python, that could not read a file. In a sandbox,
	// a module that cannot be read is reported as one that does not exist.
	deniedLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)EACCES|EPERM|permission denied|cannot find (module|package)|ERR_MODULE_NOT_FOUND|ModuleNotFoundError|path: '|url: '`)
	})
	pathInLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/[^\s'"` + "`" + `:,;()]+`) })
)

// explain returns the command that lets a server read its own program, if the end of its error output says
// that it could not read a file, or "".
func (o *Options) explain(e *Entry, output string) string {
	dir := o.denied(e, output)
	if dir == "" || strings.ContainsAny(dir, ";\n") {
		return ""
	}
	words, ok := addCommand(&e.Server, dir)
	if !ok {
		return "the server could not read " + dir + ": add this folder to read in its entry in mcp.json"
	}
	if e.base == o.Scope.Home {
		words = slices.Insert(words, 3, "--user")
	}
	return "the server could not read " + dir + ": to allow this, type: " + commandLine(words)
}

// denied returns the folder that a server needs and could not read, or "": the one in which its program is
// installed, or that of a file in its arguments. What the server itself writes names no other folder: it
// could make the user grant anything.
func (o *Options) denied(e *Entry, output string) string {
	s, err := e.Expand(o.Env)
	if err != nil || !deniedLine().MatchString(output) {
		return ""
	}
	start := filepath.Join(o.Root, filepath.FromSlash(s.Dir))
	program, err := o.program(s.Command, start)
	if err != nil {
		return ""
	}
	var named []string // the paths in the lines
	for line := range strings.SplitSeq(output, "\n") {
		if deniedLine().MatchString(line) {
			named = append(named, pathInLine().FindAllString(line, -1)...)
		}
	}
	for _, arg := range s.Args {
		file := arg
		if !filepath.IsAbs(file) {
			file = filepath.Join(start, file)
		}
		if _, err := os.Stat(file); err == nil && !o.readable(&s, file) && slices.ContainsFunc(named, func(name string) bool { return within(file, name) || within(name, filepath.Dir(file)) }) {
			return o.grantable(filepath.Dir(file))
		}
	}
	if bin := filepath.Base(filepath.Dir(program)); bin != "bin" && bin != ".bin" {
		return "" // it is unknown where its files are
	}
	installed := filepath.Dir(filepath.Dir(program))
	own := func(name string) bool { return within(name, installed) || within(program, name) }
	if o.readable(&s, installed) || len(named) > 0 && !slices.ContainsFunc(named, own) {
		return ""
	}
	return o.grantable(installed)
}

// readable reports whether a server may read a file: of the project, or below what its entry names.
func (o *Options) readable(s *mcpfile.Server, file string) bool {
	root, err := filepath.EvalSymlinks(o.Root)
	if err != nil || within(file, root) || within(file, o.Root) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(s.Read, s.Write), func(name string) bool {
		at, err := o.place(root, name)
		return err == nil && within(file, at)
	})
}

// grantable returns a folder, or "" for one with much else in it: that of the system, a home folder, or one
// that contains them.
func (o *Options) grantable(dir string) string {
	home, _ := o.Env("HOME")
	for _, name := range []string{home, o.Scope.Home, o.Root, "/usr", "/etc"} {
		if name != "" && within(name, dir) {
			return ""
		}
	}
	if parent := filepath.Dir(dir); parent == "/" || parent == home {
		return "" // such as ~/.local, in which other programs keep their data
	}
	return dir
}

// addCommand returns the command that adds a server again, and lets it read one more folder. ok is false if
// no command has all that its entry has.
func addCommand(s *mcpfile.Server, dir string) (words []string, ok bool) {
	words = []string{"cassidy", "mcp", "add", s.Name, "--replace"}
	for _, p := range s.Env {
		if p.Value != "${"+p.Name+"}" {
			return nil, false
		}
		words = append(words, "--env", p.Name)
	}
	if s.Dir != "" || s.Timeout != 0 || s.TrustAnnotations {
		return nil, false
	}
	for _, name := range append(slices.Clone(s.Read), dir) {
		words = append(words, "--read", name)
	}
	for _, name := range s.Write {
		words = append(words, "--write", name)
	}
	if s.Network {
		words = append(words, "--network")
	}
	return append(append(words, "--", s.Command), s.Args...), true
}

// plain are the words that a shell takes as they are.
var plain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=-]+$`) })

// commandLine returns words as a command line.
func commandLine(words []string) string {
	return strings.Join(value.Map(words, func(word string) string {
		if plain().MatchString(word) {
			return word
		}
		return hint.Quote(word)
	}), " ")
}
