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
	Env     map[string]string
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
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
			Dir     string            `json:"cwd"`
			Grants  struct {
				Write []string `json:"write"`
			} `json:"cassidy"`
		}
		if json.Unmarshal(entry, &p) == nil && p.Command != "" {
			list = append(list, Program{p.Command, p.Args, p.Env, p.Dir, p.Grants.Write})
		}
	}
	return list
}

// maxServers is the limit of a list of servers, in bytes.
const maxServers = 256 << 10

// readServers reads the user's own list of servers. One that cannot be read starts nothing.
func readServers(name string) string {
	info, err := os.Stat(name) // opening a pipe would wait
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxServers {
		return ""
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// servers adds what the servers of a project in a folder name.
func (s *search) servers(dir string) {
	s.of = path.Join(dir, ServersFile)
	s.programs(dir, Programs(s.read(s.of)))
}

// programs adds what programs load from a project in a folder.
func (s *search) programs(dir string, list []Program) {
	for i := range list {
		for _, c := range s.Named(dir, &list[i]) {
			at, inside := s.follow(c.Path)
			switch {
			case !inside:
			case c.Ends == nil:
				s.add(at)
			default:
				s.found = append(s.found, Target{Path: at, Of: s.of, Code: &c})
			}
		}
	}
}

// Named returns what a program loads from a project in a folder, by its command line and its environment: paths from the
// root that can lead through links. They are
//
//   - each word that is a file, from where the program starts or from a folder in another word, and
//     each but the command that could become one: with a slash or a suffix,
//   - the parts of a word as a shell and options split it: sh -c "python3 x.py", --require=./x.js,
//   - the module behind -m, and a folder that an interpreter or an installer starts,
//   - of each script among them what it loads: its folder, or if that is the root of the project, the code in it,
//   - the folder in which an interpreter starts that gets its code or the name of a module in an option,
//   - the file with the command line that a command starts by its name, as npm run serve and make serve do,
//   - what a variable or an option adds to the folders from which an interpreter loads code.
func (p *Project) Named(dir string, of *Program) (list []Code) {
	start := p.from(dir, variants(of.Dir)[0])
	bases := []string{start}
	words := append([]string{of.Command}, of.Args...)
	var parts, fields []string
	for _, word := range append(words, optionsIn(of.Env)...) {
		for _, word := range variants(word) {
			fields = append(fields, strings.FieldsFunc(word, isSeparator)...)
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
	l := loaded{Project: p, root: root, list: &list}
	add := func(base, word string) {
		name := p.from(base, word)
		l.put(name)
		l.script(name)
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
			l.put(at)
		}
	})
	for _, base := range bases {
		p.modules(words, func(name string) { add(base, name) })
	}
	p.modules(words, func(name string) { l.importedBeside(p.from(start, name), start) })
	if i := slices.IndexFunc(of.Args, func(word string) bool { return !strings.HasPrefix(word, "-") }); i >= 0 && interprets(of.Command) {
		switch at, info := p.leads(p.from(bases[0], of.Args[i])); {
		case info == nil || !info.IsDir():
		case at != ".":
			add(bases[0], of.Args[i])
		default: // not all of the project
			for _, name := range []string{"__main__.py", "index.js", "package.json"} {
				add(bases[0], path.Join(of.Args[i], name))
			}
			l.folder(at, languageOf(of.Command))
		}
	}
	for _, base := range bases {
		for _, file := range listed(fields) {
			l.put(p.from(base, file))
		}
	}
	safe, set := of.Env[safePath]
	if lang, _ := inline(fields); lang != nil && (lang != &languages[0] || safe == "" && (set || !p.startsInstalled(start, of))) {
		l.folder(start, lang)
		for _, word := range words {
			l.imports(start, lang, word)
		}
	}
	p.searched(words, of.Env, func(name string, lang *language) {
		if at, _ := p.leads(p.from(start, name)); at == root || at == "." {
			l.folder(at, lang)
		} else {
			l.put(p.from(start, name))
		}
	})
	return list
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
	lang := languageOf(command)
	return lang != nil && lang.folders
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
	to, _, inside := p.resolve(place{path: "."}, name)
	if !inside {
		return "", nil
	}
	to = p.look(to)
	return to.path, to.info
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
