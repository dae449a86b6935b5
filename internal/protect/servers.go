package protect

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ServersFile lists the MCP servers of a project, from its root.
const ServersFile = Settings + "/mcp.json"

// A Program is the command line of a server. What it names in the project runs with what the server
// is granted and with its secrets. So these files are protected as the list of the servers is.
type Program struct {
	Command string
	Args    []string
	Dir     string   // where it starts, from the project's root
	Writes  []string // the files and folders that it may write itself
}

// Programs reads the command lines in the text of a list of servers. What is invalid is left out, as
// it starts nothing.
func Programs(text string) (list []Program) {
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if text == "" || json.Unmarshal([]byte(text), &file) != nil {
		return nil
	}
	for _, entry := range file.Servers {
		var p struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			Dir     string   `json:"cwd"`
			Grants  struct {
				Write []string `json:"write"`
			} `json:"cassidy"`
		}
		if json.Unmarshal(entry, &p) == nil && p.Command != "" {
			list = append(list, Program{p.Command, p.Args, p.Dir, p.Grants.Write})
		}
	}
	return list
}

// servers adds what the servers of a project in a folder name.
func (s *search) servers(dir string) {
	for _, p := range Programs(s.read(path.Join(dir, ServersFile))) {
		s.of = path.Join(dir, ServersFile)
		for _, name := range s.Named(dir, &p) {
			if at, inside := s.follow(name); inside {
				s.add(at)
			}
		}
	}
}

// Named returns the files and folders that the command line of a program names, for a project in a
// folder: paths from the root that can lead through links. They are
//
//   - each word that is a file, from where the program starts or from a folder in another word, and
//     each but the command that could become one: with a slash or a suffix,
//   - the parts of a word as a shell and options split it: sh -c "python3 x.py", --require=./x.js,
//   - the module behind -m, and a folder that an interpreter or an installer starts,
//   - of each script among them what it loads: its folder, or if that is the root of the project, the
//     files that it imports by name,
//   - what the module behind -m imports by name from the folder that it is in.
func (p *Project) Named(dir string, of *Program) (names []string) {
	bases := []string{p.from(dir, variants(of.Dir)[0])}
	words := append([]string{of.Command}, of.Args...)
	var parts []string
	for _, word := range words {
		for _, word := range variants(word) {
			parts = append(parts, word)
			parts = append(parts, strings.FieldsFunc(word, isSeparator)...)
		}
	}
	for _, word := range parts {
		if at, info := p.leads(p.from(bases[0], word)); info != nil && info.IsDir() && at != "." {
			bases = append(bases, p.from(bases[0], word))
		}
	}
	root, _ := p.leads(dir)
	put := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add := func(base, word string) {
		name := p.from(base, word)
		put(name)
		p.loads(root, name, put)
	}
	for _, word := range parts {
		for i, base := range bases {
			at, info := p.leads(p.from(base, word))
			switch {
			case info != nil && !info.IsDir():
				add(base, word)
			case info == nil && at != "" && i == 0 && (strings.Contains(filepath.ToSlash(word), "/") || path.Ext(word) != "" && word != of.Command):
				add(base, word)
			}
		}
	}
	p.packages(of, func(word string) {
		if at, info := p.leads(p.from(bases[0], word)); info != nil && info.IsDir() && at != "." && at != root {
			put(at)
		}
	})
	for _, base := range bases {
		p.modules(words, func(name string) { add(base, name) })
	}
	p.modules(words, func(name string) { p.importedBeside(p.from(bases[0], name), put) })
	if i := slices.IndexFunc(of.Args, func(word string) bool { return !strings.HasPrefix(word, "-") }); i >= 0 && interprets(of.Command) {
		switch at, info := p.leads(p.from(bases[0], of.Args[i])); {
		case info == nil || !info.IsDir():
		case at != ".":
			add(bases[0], of.Args[i])
		default: // not all of the project
			for _, name := range []string{"__main__.py", "index.js", "package.json"} {
				add(bases[0], path.Join(of.Args[i], name))
			}
		}
	}
	return names
}

// modules calls add with the files and folders of the modules behind -m, of which the first of these
// that exists is used.
func (p *Project) modules(words []string, add func(name string)) {
	for _, line := range words {
		if fields := strings.FieldsFunc(line, isSeparator); len(fields) > 1 {
			p.modules(fields, add)
		}
	}
	for i, word := range words {
		name, ok := strings.CutPrefix(word, "-m")
		if !ok || strings.HasPrefix(name, "-") {
			continue
		}
		if name == "" && i+1 < len(words) {
			name = words[i+1]
		}
		if top, _, _ := strings.Cut(name, "."); top != "" && !strings.ContainsAny(top, `/\`) {
			add(top)
			add(top + ".py")
		}
	}
}

// interprets reports whether a command starts a folder that is its first argument.
func interprets(command string) bool {
	name := strings.ToLower(path.Base(filepath.ToSlash(command)))
	return slices.ContainsFunc([]string{"python", "pypy", "py", "node", "bun", "deno", "tsx"}, func(known string) bool {
		return strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.") == known
	})
}

// from returns the name of a path in a folder, from the root, or "" for one that is outside by its
// text. It is not cleaned: a link may be before ..
func (p *Project) from(dir, name string) string {
	if name = filepath.ToSlash(name); path.IsAbs(name) {
		at, inside := p.inside(name)
		if !inside {
			return ""
		}
		return at
	}
	if dir == "" {
		return ""
	}
	return dir + "/" + name
}

// leads returns where a name leads and what is there, or "" if that is outside. The info is nil if
// nothing is there.
func (p *Project) leads(name string) (at string, info fs.FileInfo) {
	if name == "" {
		return "", nil
	}
	at, _, inside := p.Resolve(name)
	if !inside {
		return "", nil
	}
	info, err := p.Root.Lstat(at)
	if err != nil {
		return at, nil
	}
	return at, info
}

// isSeparator reports whether a rune ends a word of a command line that a shell reads, or an option.
func isSeparator(r rune) bool { return strings.ContainsRune(" \t\n;&|<>()`=\"'", r) }

// variants returns what a word with ${VAR} and ${VAR:-DEFAULT} can be: with the environment of this
// process, and with the defaults.
func variants(word string) []string {
	if !strings.Contains(word, "${") {
		return []string{word}
	}
	expand := func(env bool) string {
		return os.Expand(word, func(name string) string {
			name, otherwise, _ := strings.Cut(name, ":-")
			if v := os.Getenv(name); env && v != "" {
				return v
			}
			return otherwise
		})
	}
	return []string{expand(true), expand(false)}
}

// Open opens a project's folder. Close its Root when done.
func Open(dir string) (*Project, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	p := &Project{Root: root, Bases: []string{filepath.ToSlash(dir)}}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		p.Bases = append(p.Bases, filepath.ToSlash(real))
	}
	return p, nil
}
