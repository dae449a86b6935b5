package protect

import (
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A script in a folder of the project loads what lies beside it: in Python, a new file json.py there is
// used in place of the module of that name. So its folder is protected with all that is below. The root of
// the project is too much: of a script there, it is what the script itself imports.

// loads calls add with the paths, from the root of the project, of what a script with a name loads.
func (p *Project) loads(root, name string, add func(at string)) {
	at, info := p.leads(name)
	if at == "" || info != nil && info.IsDir() || !slices.Contains(scripts, path.Ext(at)) {
		return
	}
	if dir := path.Dir(at); dir != root && dir != "." {
		add(dir)
		return
	}
	if info != nil && info.Mode().IsRegular() {
		p.imported(at, path.Dir(at), add)
	}
}

// imported calls add with the paths in a folder of what a script imports by name.
func (p *Project) imported(at, dir string, add func(at string)) {
	f, err := p.Root.Open(at)
	if err != nil {
		return
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil {
		return
	}
	for _, name := range imports(path.Ext(at), string(text)) {
		add(path.Join(dir, name))
	}
}

// importedBeside calls add with the paths of what the scripts of a Python package import by name from the
// folder that the package is in: Python searches that of the module behind -m first.
func (p *Project) importedBeside(name string, add func(at string)) {
	at, info := p.leads(name)
	if info == nil || !info.IsDir() || at == "." {
		return
	}
	n := 0
	_ = fs.WalkDir(p.Root.FS(), at, func(file string, d fs.DirEntry, err error) error {
		switch n++; {
		case n > maxFiles:
			return fs.SkipAll
		case err == nil && d.Type().IsRegular() && path.Ext(file) == ".py":
			p.imported(file, path.Dir(at), add)
		}
		return nil // what cannot be read is not loaded either
	})
}

// scripts are the suffixes of the languages whose programs load the files beside them.
var scripts = []string{".py", ".pyw", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".php", ".pl", ".lua"}

var (
	importedPython = regexp.MustCompile(`(?m)^[ \t]*(?:import[ \t]+([\w., \t]+)|from[ \t]+(\w+)[\w.]*[ \t]+import\b)`)
	quotedPath     = regexp.MustCompile("[\"'`](\\.{1,2}/[^\"'`\n]{1,200})[\"'`]")
)

// imports returns the files that a script imports by name from its own folder, whether they exist or not:
// one that is added later would be loaded.
func imports(suffix, text string) (names []string) {
	if suffix != ".py" && suffix != ".pyw" {
		for _, m := range quotedPath.FindAllStringSubmatch(text, maxFiles) {
			names = append(names, m[1])
			if path.Ext(m[1]) == "" {
				names = append(names, m[1]+suffix, m[1]+".json")
			}
		}
		return names
	}
	for _, m := range importedPython.FindAllStringSubmatch(text, maxFiles) {
		for _, module := range append(strings.Split(m[1], ","), m[2]) {
			if words := strings.FieldsFunc(module, func(r rune) bool { return r == '.' || r == ' ' || r == '\t' }); len(words) > 0 {
				names = append(names, words[0]+".py", words[0]+"/__init__.py")
			}
		}
	}
	return names
}

// packages calls add with the folder of the project that a command installs and starts, as npx ./srv and
// uvx --from ./srv do. Later words are for the program.
func (p *Project) packages(of *Program, add func(word string)) {
	command := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(path.Base(filepath.ToSlash(of.Command))), ".exe"), ".cmd")
	if !slices.Contains([]string{"npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "uvx", "uv", "pipx"}, command) {
		return
	}
	for i := 0; i < len(of.Args); i++ {
		option, text, given := strings.Cut(of.Args[i], "=")
		switch {
		case slices.Contains([]string{"-p", "-C", "--package", "--prefix", "--dir", "--cwd", "--from", "--with", "--spec", "--project", "--directory"}, option):
			if !given && i+1 < len(of.Args) {
				i++
				text = of.Args[i]
			}
			add(strings.TrimPrefix(text, "file:"))
		case slices.Contains([]string{"-c", "--call", "-w", "--workspace", "--python", "--index", "--index-url", "--extra-index-url", "--refresh-package"}, option):
			if !given {
				i++
			}
		case strings.HasPrefix(option, "-"), slices.Contains([]string{"exec", "dlx", "x", "tool", "run"}, option):
		default:
			add(strings.TrimPrefix(of.Args[i], "file:"))
			return
		}
	}
}
