package protect

import (
	"cmp"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A script in a folder of the project loads what lies beside it: in Python, a new file json.py there is
// used in place of the module of that name. So its folder is protected with all that is below. The root of
// the project is too much: there, only what the interpreter could load from it is.

// Code is a file or folder of the project that a program loads. With Ends, it is only the modules in the folder: the files
// with these suffixes that are directly in it or in a folder there that an interpreter loads by its name, as json/__init__.py.
// With Deep, it is all files with these suffixes below.
type Code struct {
	Path string
	Ends []string
	Deep bool
}

// has reports whether a path in the folder is code.
func (c *Code) has(names []string) bool {
	if len(names) == 0 {
		return false
	}
	last := strings.ToLower(names[len(names)-1])
	stem, _, _ := strings.Cut(last, ".")
	return slices.Contains(c.Ends, path.Ext(last)) &&
		(c.Deep || len(names) == 1 || len(names) == 2 && (stem == "__init__" || stem == "index" || strings.EqualFold(names[0], "__pycache__")))
}

// A language has interpreters that load files by their names from some folders.
type language struct {
	commands []string
	ends     []string              // the suffixes of modules
	inline   func() *regexp.Regexp // the options with code or with the name of a module, which can load from the working folder
	folders  bool                  // whether the interpreter starts a folder
}

// languages are those whose interpreters are known.
var languages = []language{
	{[]string{"python", "pythonw", "pypy", "py", "uv"}, []string{".py", ".pyw", ".pyc", ".so", ".pyd"}, lazily(`^-[a-zA-Z]*[cm]`), true},
	{[]string{"node", "bun", "deno", "tsx", "ts-node"}, []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".node"}, lazily(`^(-[a-z]*[ep]|--eval|--print|eval)$`), true},
	{[]string{"ruby", "jruby"}, []string{".rb", ".so", ".bundle", ".jar"}, lazily(`^-[a-zA-Z]*e$`), false},
	{[]string{"perl"}, []string{".pm", ".pl", ".pmc", ".al", ".so"}, lazily(`^-[a-zA-Z]*[eE]$`), false},
	{[]string{"php"}, []string{".php", ".inc", ".phar"}, lazily(`^(-[rBRE]|--run)$`), false},
	{[]string{"lua", "luajit"}, []string{".lua", ".so"}, lazily(`^-[el]`), false},
}

// lazily compiles a pattern when it is first used: every start of cassidy would wait for it.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// native are the suffixes of programs and of libraries for all languages.
var native = &language{ends: []string{"", ".sh", ".exe", ".bat", ".cmd", ".so", ".dll", ".dylib", ".jar", ".class", ".ini"}}

// languageOf returns the language of a command, or nil.
func languageOf(command string) *language {
	name := strings.TrimSuffix(strings.ToLower(path.Base(filepath.ToSlash(command))), ".exe")
	name = strings.TrimRight(name, "0123456789.")
	for i := range languages {
		if slices.Contains(languages[i].commands, name) {
			return &languages[i]
		}
	}
	return nil
}

// lists are the files of the working folder that have the command lines which a command starts by their names, as npm run NAME
// does.
var lists = []struct{ commands, files []string }{
	{[]string{"npm", "pnpm", "yarn", "bun"}, []string{"package.json", ".npmrc"}},
	{[]string{"make", "gmake"}, []string{"GNUmakefile", "makefile", "Makefile"}},
	{[]string{"just"}, []string{"justfile", "Justfile", ".justfile"}},
	{[]string{"task", "go-task"}, []string{"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml"}},
	{[]string{"rake"}, []string{"rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"}},
	{[]string{"deno"}, []string{"deno.json", "deno.jsonc"}},
}

// listed returns those files of the commands among the words of a command line.
func listed(words []string) (files []string) {
	for _, word := range words {
		name := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(path.Base(filepath.ToSlash(word))), ".exe"), ".cmd")
		for _, l := range lists {
			if slices.Contains(l.commands, name) {
				files = append(files, l.files...)
			}
		}
	}
	return files
}

// inline returns the language of an interpreter in the words of a command line that gets code in an option, or nil, and the
// option.
func inline(words []string) (found *language, option string) {
	var lang *language
	for _, word := range words {
		next := languageOf(word)
		switch {
		case next != nil:
			lang = next
		case lang == nil:
		case slices.Contains(scripts, path.Ext(word)):
			lang = nil // the options after it are for the script
		case lang.inline().MatchString(word):
			return lang, word
		}
	}
	return nil, ""
}

// safePath is the variable that keeps Python from loading code from the folder in which it starts, from version 3.11 on.
const safePath = "PYTHONSAFEPATH"

// Safe returns the variable with which a program loads no code from the folder in which it starts, or "". It is Python with a
// module behind -m that is not there: one that is installed elsewhere. A program with an own value of the variable keeps it.
func (p *Project) Safe(of *Program) string {
	if _, set := of.Env[safePath]; set || !p.startsInstalled(p.from(".", variants(of.Dir)[0]), of) {
		return ""
	}
	return safePath
}

func (p *Project) startsInstalled(start string, of *Program) bool {
	lang, option := inline(append([]string{of.Command}, of.Args...))
	if i := strings.IndexAny(option, "cm"); lang != &languages[0] || languageOf(of.Command) != lang || option[i] != 'm' {
		return false
	}
	here := false
	p.modules(of.Args, func(name string) {
		_, info := p.leads(p.from(start, name))
		here = here || info != nil
	})
	return !here
}

// variables are those that add folders from which code is loaded, by the names of their languages; native for "".
var variables = map[string]string{
	"PYTHONPATH": "python", "PYTHONHOME": "python", "PYTHONUSERBASE": "python", "NODE_PATH": "node", "RUBYLIB": "ruby", "GEM_HOME": "ruby", "GEM_PATH": "ruby",
	"PERL5LIB": "perl", "PERLLIB": "perl", "LUA_PATH": "lua", "LUA_CPATH": "lua", "PHPRC": "", "PHP_INI_SCAN_DIR": "", "CLASSPATH": "", "PATH": "",
	"LD_LIBRARY_PATH": "", "DYLD_LIBRARY_PATH": "", "DYLD_FRAMEWORK_PATH": "",
}

// optionVariables are those whose values are options, or files that are loaded at the start.
var optionVariables = []string{"LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "BUN_OPTIONS", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT",
	"BASH_ENV", "ENV", "BUNDLE_GEMFILE", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"}

// optionsIn returns the values of variables that are options.
func optionsIn(env map[string]string) (words []string) {
	for _, name := range optionVariables {
		if env[name] != "" {
			words = append(words, strings.FieldsFunc(env[name], func(r rune) bool { return r == ' ' || r == ':' })...)
		}
	}
	return words
}

// searched calls add with the folders, from where a program starts, that variables and options add to those from which code
// is loaded. Variables are in the environment, and in the command line of env and of a shell.
func (p *Project) searched(words []string, env map[string]string, add func(name string, lang *language)) {
	each := func(lang *language, list string) {
		for _, list := range variants(list) {
			for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == filepath.ListSeparator || r == ';' }) {
				name, _, _ = strings.Cut(name, "?") // as in LUA_PATH
				add(cmp.Or(name, "."), lang)
			}
			if strings.HasPrefix(list, ":") || strings.HasSuffix(list, ":") || strings.Contains(list, "::") {
				add(".", lang)
			}
		}
	}
	variable := func(name, value string) {
		if of, ok := variables[name]; ok && value != "" {
			each(cmp.Or(languageOf(of), native), value)
		}
	}
	for name, value := range env {
		variable(name, value)
	}
	var fields []string
	for _, word := range words {
		fields = append(fields, strings.FieldsFunc(word, func(r rune) bool { return r != '=' && isSeparator(r) })...)
	}
	var lang *language
	for i, word := range fields {
		lang = cmp.Or(languageOf(word), lang)
		next := ""
		if i+1 < len(fields) {
			next = fields[i+1]
		}
		name, value, assigned := strings.Cut(word, "=")
		folder, option := strings.CutPrefix(word, "-I")
		switch {
		case assigned:
			variable(name, cmp.Or(value, next))
		case slices.Contains([]string{"-cp", "-classpath", "--class-path"}, word):
			each(native, next)
		case option && lang != nil && (folder != "" || lang != &languages[0]): // that of Python has no folder
			each(lang, cmp.Or(folder, next))
		}
	}
}

// loaded collects what a program loads.
type loaded struct {
	*Project
	root string // of the project
	list *[]Code
	read []string // the scripts that were read
}

func (l *loaded) put(name string) {
	if name != "" && !slices.ContainsFunc(*l.list, func(c Code) bool { return c.Path == name && c.Ends == nil }) {
		*l.list = append(*l.list, Code{Path: name})
	}
}

// script adds what a script with a name loads.
func (l *loaded) script(name string) {
	at, info := l.leads(name)
	if at == "" || info != nil && info.IsDir() || !slices.Contains(scripts, path.Ext(at)) {
		return
	}
	dir := path.Dir(at)
	if dir != l.root && dir != "." {
		l.put(dir)
		return
	}
	if info == nil || !info.Mode().IsRegular() {
		return // a word that is no script, or a script that nobody has reviewed
	}
	if python := &languages[0]; slices.Contains(python.ends, path.Ext(at)) {
		l.folder(dir, python)
	}
	l.imported(at, dir)
}

// folder adds a folder from which an interpreter loads code: the code in it, if it is the root of the project.
func (l *loaded) folder(name string, lang *language) {
	at, info := l.leads(name)
	switch {
	case at == "" || lang == nil:
	case at != l.root && at != ".":
		l.put(at)
	case !slices.ContainsFunc(*l.list, func(c Code) bool { return c.Path == at && c.Ends != nil && &c.Ends[0] == &lang.ends[0] }):
		*l.list = append(*l.list, Code{Path: at, Ends: lang.ends})
		if info != nil && info.IsDir() {
			l.existing(at, lang)
		}
	}
}

// existing adds the code that is in a folder, and the packages.
func (l *loaded) existing(at string, lang *language) {
	entries, err := fs.ReadDir(l.Root.FS(), at)
	if err != nil {
		return
	}
	code := Code{Ends: lang.ends}
	for _, e := range entries[:min(len(entries), maxEntries)] {
		name := path.Join(at, e.Name())
		switch {
		case e.Name() == "__pycache__" && lang == &languages[0]:
			l.put(name)
		case e.IsDir():
			for _, end := range lang.ends {
				for _, stem := range []string{"__init__", "index"} {
					if _, err := l.Root.Lstat(path.Join(name, stem+end)); err != nil {
						continue
					}
					if l.put(path.Join(name, stem+end)); stem == "__init__" {
						l.deep(name, lang)
					}
				}
			}
		case code.has([]string{e.Name()}):
			if l.put(name); e.Type().IsRegular() {
				l.imported(name, at)
			}
		}
	}
}

// deep adds all code of a language in a folder of the root.
func (l *loaded) deep(name string, lang *language) {
	if slices.ContainsFunc(*l.list, func(c Code) bool { return c.Path == name && c.Deep }) {
		return
	}
	code := Code{Path: name, Ends: lang.ends, Deep: true}
	*l.list = append(*l.list, code)
	n := 0
	_ = fs.WalkDir(l.Root.FS(), name, func(at string, d fs.DirEntry, err error) error {
		switch n++; {
		case n > maxEntries:
			return fs.SkipAll
		case err == nil && d.IsDir() && slices.Contains(installed, d.Name()):
			return fs.SkipDir
		case err == nil && !d.IsDir() && code.has([]string{d.Name()}):
			l.put(at)
		}
		return nil // what cannot be read is not loaded either
	})
}

// imported adds what a script imports by name: from a folder, or in other languages than Python from its own.
func (l *loaded) imported(at, dir string) {
	if slices.Contains(l.read, at) || len(l.read) > maxFiles {
		return
	}
	l.read = append(l.read, at)
	f, err := l.Root.Open(at)
	if err != nil {
		return
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil {
		return
	}
	if slices.Contains(languages[0].ends, path.Ext(at)) {
		l.imports(dir, &languages[0], string(text))
		return
	}
	for _, name := range quotedPaths(path.Ext(at), string(text)) {
		name = path.Join(path.Dir(at), name)
		l.put(name)
		if to, info := l.leads(name); info != nil && info.Mode().IsRegular() && slices.Contains(scripts, path.Ext(to)) {
			l.imported(to, path.Dir(to))
		}
	}
}

// imports adds the folders without __init__.py that code in Python imports from the root. Other modules there are added with it.
func (l *loaded) imports(dir string, lang *language, text string) {
	if at, _ := l.leads(dir); lang != &languages[0] || at != l.root && at != "." {
		return
	}
	for _, m := range importedPython().FindAllStringSubmatch(text, maxFiles) {
		for _, module := range append(strings.Split(m[1], ","), m[2]) {
			words := strings.FieldsFunc(module, func(r rune) bool { return r == '.' || r == ' ' || r == '\t' })
			if len(words) == 0 {
				continue
			}
			if at, info := l.leads(l.from(dir, words[0])); info != nil && info.IsDir() {
				l.deep(at, lang)
			}
		}
	}
}

// importedBeside adds what a Python package can import from the folder that it is in: Python searches that of the module
// behind -m first. name need not exist.
func (l *loaded) importedBeside(name, dir string) {
	if at, info := l.leads(name); info != nil && info.IsDir() && at != "." {
		n := 0
		_ = fs.WalkDir(l.Root.FS(), at, func(file string, d fs.DirEntry, err error) error {
			switch n++; {
			case n > maxFiles:
				return fs.SkipAll
			case err == nil && d.Type().IsRegular() && path.Ext(file) == ".py":
				l.imported(file, dir)
			}
			return nil
		})
	}
}

// scripts are the suffixes of the languages whose programs load the files beside them.
var scripts = []string{".py", ".pyw", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".php", ".pl", ".lua"}

var (
	importedPython = lazily(`(?m)(?:^|;)[ \t]*(?:import[ \t]+([\w., \t]+)|from[ \t]+(\w+)[\w.]*[ \t]+import\b)`)
	quotedPath     = lazily("[\"'`](\\.{1,2}/[^\"'`\n]{1,200})[\"'`]")
)

// quotedPaths returns the files that a script imports by name from its own folder, whether they exist or not:
// one that is added later would be loaded.
func quotedPaths(suffix, text string) (names []string) {
	for _, m := range quotedPath().FindAllStringSubmatch(text, maxFiles) {
		names = append(names, m[1])
		if path.Ext(m[1]) == "" {
			names = append(names, m[1]+suffix, m[1]+".json")
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
