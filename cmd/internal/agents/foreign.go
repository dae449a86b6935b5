package agents

import (
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// isForeign reports whether a file or address is outside the project, or one whose text the config
// does not trust.
func isForeign(a *app.App, file string) bool {
	root, err := a.Root()
	if err != nil || isAddress(file) {
		return true
	}
	path, pathErr := filepath.Abs(file)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	path, err = filepath.Rel(root, path)
	if pathErr != nil || err != nil || !filepath.IsLocal(path) {
		return true
	}
	config, err := a.ReadConfig(root)
	return err != nil || distrusts(config.UntrustedSources, config.TrustedSources, root, filepath.ToSlash(path))
}

// distrusts reports whether the sources of a config do not trust the text of a file of the project:
// one of its names is untrusted, and not trusted.
func distrusts(untrusted, trusted []string, root, path string) bool {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return true
	}
	defer dir.Close()
	files := (&protect.Project{Root: dir, Bases: []string{filepath.ToSlash(root)}}).Names()
	for _, source := range patterns(append([]string{"fs.read:" + host.SavedResults + "/**"}, untrusted...)) {
		rule := tool.Rule{Verdict: tool.Ask, Capability: source}
		names, _ := files.Of(source.Target, path, true)
		for _, name := range names {
			file := tool.Capability{Name: "fs.read", Target: name}
			if rule.Covers(&tool.Tool{}, file) && !tool.AllowsAny(patterns(trusted), file) {
				return true
			}
		}
	}
	return false
}

// patterns returns the sources that are files.
func patterns(sources []string) (list []tool.Capability) {
	for _, text := range sources {
		if c, err := tool.ParseCapability(text); err == nil && c.Name == "fs.read" && c.Target != "" {
			list = append(list, c)
		}
	}
	return list
}
