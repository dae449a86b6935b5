package tool

import (
	"context"
	"strings"
	"sync"
)

// A Runner runs a checked call of one tool, however that is written. The
// script's effects go to do.
type Runner func(ctx context.Context, c Call, do Effector) (Outcome, error)

// A Registry holds tools by name: one for everything that offers tools. The
// zero value is empty and ready, and safe for concurrent use.
type Registry struct {
	mu    sync.RWMutex
	tools map[string]registered // by Key
	names []string              // keys in the order of registration
}

type registered struct {
	tool *Tool
	run  Runner
}

// Register adds a tool. It fails where the name is not valid or there is
// no way to run it, and where another tool has the name, in either spelling,
// unless replace is set. A built-in tool is never replaced.
func (r *Registry) Register(t *Tool, run Runner, replace bool) error {
	if err := CheckName(t.Name); err != nil {
		return err
	}
	if run == nil {
		return Errorf(Invalid, "tool '%s': handler must be a function", t.Name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := Key(t.Name)
	old, exists := r.tools[key]
	switch {
	case exists && old.tool.Location == Builtin && t.Location != Builtin:
		return Errorf(Invalid, "tool '%s' has the name of a built-in tool", t.Name).WithHint("Rename your custom tool")
	case exists && !replace:
		return Errorf(Invalid, "tool '%s' is already registered", t.Name).WithHint("each tool must have a unique name; - and _ are the same")
	case !exists:
		r.names = append(r.names, key)
	}
	if r.tools == nil {
		r.tools = map[string]registered{}
	}
	r.tools[key] = registered{t, run}
	return nil
}

// Exchange takes tools out and puts others in; who looks a tool up meanwhile
// waits, and sees all of it or nothing. The fill may only register.
func (r *Registry) Exchange(drop func(*Tool) bool, fill func(*Registry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fresh Registry
	for _, key := range r.names {
		if kept := r.tools[key]; !drop(kept.tool) {
			fresh.names = append(fresh.names, key)
			if fresh.tools == nil {
				fresh.tools = map[string]registered{}
			}
			fresh.tools[key] = kept
		}
	}
	fill(&fresh)
	r.tools, r.names = fresh.tools, fresh.names
}

// Lookup returns a tool and how to run it, by its name in either spelling.
// For an unknown name the error, of kind NotFound, names the nearest one.
func (r *Registry) Lookup(name string) (*Tool, Runner, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e, ok := r.tools[Key(name)]; ok {
		return e.tool, e.run, nil
	}
	err := Errorf(NotFound, "Unknown tool: %s%s", name, r.didYouMean(name))
	if len(r.names) == 0 {
		return nil, nil, err.WithHint("there are no tools")
	}
	return nil, nil, err.WithHint("the tools are: %s", r.someNames())
}

// didYouMean suggests a tool, in its author's spelling.
func (r *Registry) didYouMean(name string) string {
	near := Nearest(Key(name), r.names)
	if near == "" {
		return ""
	}
	return didYouMean(r.tools[near].tool.Name)
}

// someNames lists the names for a message, which ten thousand tools would fill.
func (r *Registry) someNames() string {
	const shown = 20
	names := make([]string, 0, shown+1)
	for _, key := range r.names {
		if len(names) == shown {
			names = append(names, "…")
			break
		}
		names = append(names, r.tools[key].tool.Name)
	}
	return strings.Join(names, ", ")
}

// Tools returns all tools, in the order of registration.
func (r *Registry) Tools() []*Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list := make([]*Tool, len(r.names))
	for i, key := range r.names {
		list[i] = r.tools[key].tool
	}
	return list
}
