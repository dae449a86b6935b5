package app

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib"
)

// ScriptModules returns the modules that the scripts of a project can use, for commands that
// describe their functions. Without the root of a project, it is not known which files a function needs.
func ScriptModules(root string) ([]tool.Module, error) {
	world, err := stdlib.Open(&stdlib.Options{Root: root})
	if err != nil {
		return nil, err
	}
	return slices.Concat(stdlib.Pure(), world.Modules(), project.Modules("", nil), host.Modules(), agent.Modules(),
		[]tool.Module{agent.ModelModule(nil), mcp.Module()}), nil
}

// NewChecker returns a checker of the scripts that can call the tools of a host, in the folder root. If the host is nil,
// calls of tools are not checked.
func NewChecker(h *host.Host, root string) (*check.Checker, error) {
	modules, err := ScriptModules(root)
	if err != nil {
		return nil, err
	}
	o := check.Options{Modules: modules, Test: scripttest.Module().Funcs}
	if h != nil {
		o.Tools = func() map[string]*tool.Tool { return toolsOf(h) }
	}
	return check.New(o), nil
}

// toolsOf returns the tools of a host by their keys. Nothing is known of a tool whose file is
// broken.
func toolsOf(h *host.Host) map[string]*tool.Tool {
	tools := map[string]*tool.Tool{}
	for _, t := range host.Operate(h).Declared() { // a check runs no script
		tools[tool.Key(t.Name)] = &t.Tool
	}
	for _, e := range h.Broken() {
		base := filepath.Base(e.Pos.File)
		if name := tool.Key(strings.TrimSuffix(base, filepath.Ext(base))); tools[name] == nil {
			tools[name] = nil
		}
	}
	return tools
}
