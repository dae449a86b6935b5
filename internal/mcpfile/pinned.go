package mcpfile

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// An installer is a program that downloads a package and starts it.
type installer struct {
	words    []string // of the command line: its name, and what follows
	packages []string // the options whose value is a package
	instead  []string // those of them after which the first argument is not a package
	values   []string // other options that have a value
	exact    func() *regexp.Regexp
}

var (
	exactNPM  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`.@v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`) })
	exactPyPI = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`.(===?|@)v?\d+(\.\d+)*([a-z.+-][0-9a-z.+-]*)?$`) })
	commit    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[@#][0-9a-f]{40}$`) })
)

func installers() []installer {
	var list []installer
	for _, line := range []string{"npx", "bunx", "pnpx", "npm exec", "pnpm dlx", "yarn dlx", "bun x"} {
		list = append(list, installer{strings.Fields(line), []string{"-p", "--package"}, []string{"-p", "--package"}, []string{"-c", "--call", "-w", "--workspace"}, exactNPM})
	}
	for _, line := range []string{"uvx", "uv tool run", "pipx run"} {
		list = append(list, installer{strings.Fields(line), []string{"--from", "--with", "--spec"}, []string{"--from", "--spec"}, []string{"-p", "--python", "--index", "--index-url", "--extra-index-url", "--refresh-package"}, exactPyPI})
	}
	return list
}

// Unpinned returns the packages that the command line of a server downloads without an exact version:
// each start may run another one than was reviewed. A path is not a package.
func (s *Server) Unpinned() (packages []string) {
	name := strings.ToLower(path.Base(filepath.ToSlash(s.Command)))
	for _, suffix := range []string{".exe", ".cmd"} {
		name = strings.TrimSuffix(name, suffix)
	}
	line := append([]string{name}, s.Args...)
	for _, in := range installers() {
		if len(line) >= len(in.words) && slices.Equal(line[:len(in.words)], in.words) {
			return in.unpinned(line[len(in.words):])
		}
	}
	return nil
}

func (in *installer) unpinned(args []string) (packages []string) {
	add := func(name string) {
		local := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "file:")
		if name != "" && !local && !in.exact().MatchString(name) && !commit().MatchString(name) {
			packages = append(packages, name)
		}
	}
	instead := false
	for i := 0; i < len(args); i++ {
		option, text, given := strings.Cut(args[i], "=")
		switch {
		case args[i] == "--":
			continue
		case !strings.HasPrefix(args[i], "-"):
			if !instead {
				add(args[i])
			}
			return packages // what follows is for the package
		case slices.Contains(in.packages, option):
			if instead = instead || slices.Contains(in.instead, option); !given && i+1 < len(args) {
				i++
				text = args[i]
			}
			add(text)
		case slices.Contains(in.values, option) && !given:
			i++
		}
	}
	return packages
}
