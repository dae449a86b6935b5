package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

func runNothing(context.Context, tool.Call, tool.Effector) (tool.Outcome, error) {
	return tool.Outcome{}, nil
}

func named(name string, at tool.Location) *toolset.Info {
	return &toolset.Info{Tool: tool.Tool{Name: name, Description: "d"}, Standing: toolset.Standing{Location: at}}
}

func newRegistry(reserved ...string) *registry {
	r := &registry{}
	r.begin(nil, toolset.Source{}, reserved)
	return r
}

func (r *registry) register(t *toolset.Info, run tool.Runner, replace bool) error {
	return r.change(func(c *catalog) error { return c.add(layerGo, newOffered(t, run, nil), replace) })
}

// TestRegistryB goes through the rows of SPEC B that are the registry's.
func TestRegistryB(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		first   *toolset.Info
		second  *toolset.Info
		run     tool.Runner
		replace bool
		want    string // "" is no error
		hint    string
	}{
		{"B16 name", nil, named("My Tool", tool.Project), runNothing, false, `Invalid tool name: "My Tool"`, `begin with a letter, and use lower-case letters and digits, with single - or _ between them; try "my_tool"`},
		{"B17 hyphens", nil, named("my-tool", tool.Project), runNothing, false, "", ""},
		{"A14 handler", nil, named("t", tool.Project), nil, false, "tool 't': handler must be a function", ""},
		{"B20 C7 again", named("t", tool.Embedded), named("t", tool.Embedded), runNothing, false, "tool 't' is already registered", "each tool must have a unique name; - and _ are the same"},
		{"B20 C7 again, to replace it", named("t", tool.Embedded), named("t", tool.Embedded), runNothing, true, "", ""},
		{"B21 C7 a built-in's name", named("read_file", tool.Builtin), named("read_file", tool.Project), runNothing, false, "tool 'read_file' has the name of a built-in tool", "Rename your custom tool"},
		{"B21 in the other spelling", named("read_file", tool.Builtin), named("read-file", tool.Personal), runNothing, false, "tool 'read-file' has the name of a built-in tool", "Rename your custom tool"},
		{"B21 not even to replace it", named("read_file", tool.Builtin), named("read_file", tool.Embedded), runNothing, true, "tool 'read_file' has the name of a built-in tool", "Rename your custom tool"},
		{"B22 two of one name", named("my-tool", tool.Project), named("my_tool", tool.Personal), runNothing, false, "tool 'my_tool' is already registered", "each tool must have a unique name; - and _ are the same"},
		{"a refresh of a built-in", named("read_file", tool.Builtin), named("read_file", tool.Builtin), runNothing, true, "", ""},
	}
	for _, tt := range tests {
		r := newRegistry()
		if tt.first != nil {
			if err := r.register(tt.first, runNothing, false); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		err := r.register(tt.second, tt.run, tt.replace)
		if tt.want == "" {
			got, errLookup := r.current().lookup(tt.second.Name)
			if err != nil || errLookup != nil || got.tool != tt.second || len(r.current().List()) != 1 {
				t.Errorf("%s: Register = %v; Lookup = %v, %v", tt.name, err, got, errLookup)
			}
			continue
		}
		e := value.ErrorOf(err, value.Internal)
		if e == nil || e.Error() != tt.want || e.Hint != tt.hint || e.Kind != value.Invalid {
			t.Errorf("%s: got %v (hint %q), want %s (hint %q)", tt.name, e, e.Hint, tt.want, tt.hint)
		}
		if tt.first != nil {
			if got, err := r.current().lookup(tt.first.Name); err != nil || got.tool != tt.first {
				t.Errorf("%s: the first tool is gone: %v, %v", tt.name, got, err)
			}
		}
	}
}

func TestRegistryLookup(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	if _, err := r.current().lookup("x"); err == nil || err.Error() != "Unknown tool: x" || value.ErrorOf(err, value.Internal).Hint != "add a tool first: the host has no tools" {
		t.Errorf("an empty registry: got %v (hint %q)", err, value.ErrorOf(err, value.Internal).Hint)
	}
	for _, name := range []string{"read_file", "my-tool", "search"} {
		if err := r.register(named(name, tool.Project), runNothing, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"my-tool", "my_tool"} { // C1: both spellings
		if got, err := r.current().lookup(name); err != nil || got.tool.Name != "my-tool" {
			t.Errorf("Lookup(%q) = %v, %v, want my-tool", name, got, err)
		}
	}
	tests := []struct{ name, want string }{
		{"raed_file", `Unknown tool: raed_file; did you mean "read_file"?`},
		{"my_tol", `Unknown tool: my_tol; did you mean "my-tool"?`},
		{"my-tol", `Unknown tool: my-tol; did you mean "my-tool"?`},
		{"delete", `Unknown tool: delete`},
		{"", `Unknown tool: `},
	}
	for _, tt := range tests {
		_, err := r.current().lookup(tt.name)
		e := value.ErrorOf(err, value.Internal)
		if e == nil || e.Error() != tt.want || e.Kind != value.NotFound || e.Hint != "use one of the tools: read_file, my-tool, search" {
			t.Errorf("Lookup(%q) = %v (hint %q), want %s", tt.name, e, e.Hint, tt.want)
		}
	}
}

// TestRegistryLookupOfServers checks what is suggested for an unknown tool of an attached server.
func TestRegistryLookupOfServers(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	for _, name := range []string{"echo", "every-thing.echo", "every-thing.get-sum", "other.echo"} {
		o := named(name, tool.Project)
		if server, _, ok := strings.Cut(name, "."); ok {
			o.Group = "mcp:" + server
		}
		if err := r.register(o, runNothing, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, want, hint string }{
		{"every-thing.nope", "Unknown tool: every-thing.nope", "use one of the tools of the server every-thing: every-thing.echo, every-thing.get-sum"},
		{"every-thing__get-some", `Unknown tool: every-thing__get-some; did you mean "every-thing.get-sum"?`, "use one of the tools of the server every-thing: every-thing.echo, every-thing.get-sum"},
		{"nobody.echo", `Unknown tool: nobody.echo`, "use one of the tools: echo, every-thing.echo, every-thing.get-sum, other.echo; list the attached servers with: cassidy mcp list"},
	} {
		_, err := r.current().lookup(tt.name)
		if e := value.ErrorOf(err, value.Internal); !strings.HasPrefix(e.Error(), tt.want) || e.Hint != tt.hint {
			t.Errorf("Lookup(%q) = %v (hint %q), want %s (hint %q)", tt.name, e, e.Hint, tt.want, tt.hint)
		}
	}
}

func TestRegistryOfManyHintsAtSome(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	for i := range 100 {
		if err := r.register(named(fmt.Sprintf("t%d", i), tool.Project), runNothing, false); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.current().lookup("unknown")
	if got := value.ErrorOf(err, value.Internal).Hint; !strings.HasSuffix(got, "t58, t59, and 40 more") {
		t.Errorf("hint %q, want the first 60", got)
	}
}

// B24: what is gone after a search leaves no name behind, and what the program
// registered stays. Who looks meanwhile keeps what there was.
func TestRegistryB24Search(t *testing.T) {
	t.Parallel()
	r := newRegistry("d")
	offer := func(f *toolset.Found) *offered { return &offered{head: &f.Head, found: f, run: runNothing} }
	search := func(tools ...*toolset.Info) {
		d := toolset.Discovered{}
		for _, t := range tools {
			d.Tools = append(d.Tools, toolset.Found{Head: *headOf(t), Declared: func() (tool.Described, error) { return tool.Described{Tool: t.Tool}, nil }})
		}
		if err := r.change(func(c *catalog) error { c.found(&d, offer); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.register(named("c", tool.Embedded), runNothing, false); err != nil {
		t.Fatal(err)
	}
	search(named("b", tool.Project), named("a", tool.Builtin), named("c", tool.Project), named("e", tool.Personal), named("d", tool.Project))
	before := r.current()
	if got, want := toolNames(before), []string{"a", "b", "e", "c"}; !slices.Equal(got, want) || len(before.broken) != 2 {
		t.Errorf("the tools are %v, want %v, and broken are %v", got, want, before.broken)
	}
	search(named("a", tool.Builtin), named("f", tool.Project))
	if got, want := toolNames(r.current()), []string{"a", "f", "c"}; !slices.Equal(got, want) || len(r.current().broken) != 0 {
		t.Errorf("the tools are %v, want %v", got, want)
	}
	if _, err := before.lookup("b"); err != nil || len(before.List()) != 4 {
		t.Errorf("the earlier catalog has changed: %v", err)
	}
	if _, err := r.current().lookup("b"); value.KindOf(err) != value.NotFound {
		t.Errorf("b: %v, want not found", err)
	}
	if err := r.register(named("b", tool.Embedded), runNothing, false); err != nil {
		t.Errorf("b again: %v", err)
	}
}

// TestCompleteTools checks that a tool which was found is decoded once, when more than
// its head is needed, and is not to be had where that fails.
func TestCompleteTools(t *testing.T) {
	t.Parallel()
	var decoded atomic.Int32
	find := func(context.Context, toolset.Source) (toolset.Discovered, error) {
		d := toolset.Discovered{}
		for _, name := range []string{"a", "damaged"} {
			f := toolset.Found{Head: *headOf(named(name, tool.Personal))}
			f.Head.Needs = []tool.Capability{{Name: "fs.read"}}
			f.Declared = func() (tool.Described, error) {
				decoded.Add(1)
				if name == "damaged" {
					return tool.Described{}, value.Errorf(value.Failed, "it is damaged")
				}
				return tool.Described{Tool: tool.Tool{Name: name, Params: []tool.Param{{Name: "p"}}}}, nil
			}
			d.Tools = append(d.Tools, f)
		}
		return d, nil
	}
	h, err := New(&Options{Discover: find, Sandbox: sandbox.NewInline()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if list := h.List(); len(list) != 2 || list[0].State != toolset.Ready || decoded.Load() != 0 {
		t.Errorf("List() = %+v, with %d tools decoded, want none", list, decoded.Load())
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			x, err := h.Tool("a")
			if err != nil || len(x.Params) != 1 || len(x.Granted) != 1 || x.State != toolset.Ready {
				t.Errorf("Tool(a) = %+v, %v, want its parameter and what it is granted", x, err)
			}
			if _, err := h.Tool("damaged"); value.KindOf(err) != value.Failed {
				t.Errorf("Tool(damaged): %v, want that it failed", err)
			}
			if all := h.Tools(); len(all) != 2 || all[1].State != toolset.NotHere || all[1].Reason != "it is damaged" {
				t.Errorf("Tools() = %+v, want that the second is not available", all)
			}
		})
	}
	wg.Wait()
	if n := decoded.Load(); n != 2 {
		t.Errorf("%d tools were decoded, want each once", n)
	}
	if _, err := h.Call(t.Context(), tool.Call{Tool: "damaged"}); value.KindOf(err) != value.Failed {
		t.Errorf("Call(damaged): %v, want that it failed", err)
	}
}

func toolNames(c *catalog) (names []string) {
	for _, t := range c.List() {
		names = append(names, t.Name)
	}
	return names
}

// B18: one registry serves all at the same time.
func TestRegistryB18Concurrent(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				name := fmt.Sprintf("t_%d_%d", i, j)
				if err := r.register(named(name, tool.Project), runNothing, false); err != nil {
					t.Errorf("register(%s): %v", name, err)
				}
				o, err := r.current().lookup(name)
				if err != nil {
					t.Errorf("lookup(%s): %v", name, err)
				}
				if j%10 == 9 {
					_ = r.change(func(c *catalog) error { c.remove(o); return nil })
				}
			}
		})
	}
	wg.Wait()
	if got, want := len(r.current().List()), 8*45; got != want {
		t.Errorf("%d tools are left, want %d", got, want)
	}
}
