package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

func runNothing(context.Context, Call, Effector) (Outcome, error) { return Outcome{}, nil }

func named(name string, at Location) *Tool {
	return &Tool{Name: name, Description: "d", Location: at}
}

// TestRegistryB goes through the rows of SPEC B that are the registry's.
func TestRegistryB(t *testing.T) {
	tests := []struct {
		name    string
		first   *Tool
		second  *Tool
		run     Runner
		replace bool
		want    string // "" is no error
		hint    string
	}{
		{"B16 name", nil, named("My Tool", Project), runNothing, false, `Invalid tool name: "My Tool"`, `names are lower-case letters, digits and single - or _, beginning with a letter; try "my_tool"`},
		{"B17 hyphens", nil, named("my-tool", Project), runNothing, false, "", ""},
		{"A14 handler", nil, named("t", Project), nil, false, "tool 't': handler must be a function", ""},
		{"B20 C7 again", named("t", Embedded), named("t", Embedded), runNothing, false, "tool 't' is already registered", "each tool must have a unique name; - and _ are the same"},
		{"B20 C7 again, to replace it", named("t", Embedded), named("t", Embedded), runNothing, true, "", ""},
		{"B21 C7 a built-in's name", named("read_file", Builtin), named("read_file", Project), runNothing, false, "tool 'read_file' has the name of a built-in tool", "Rename your custom tool"},
		{"B21 in the other spelling", named("read_file", Builtin), named("read-file", Personal), runNothing, false, "tool 'read-file' has the name of a built-in tool", "Rename your custom tool"},
		{"B21 not even to replace it", named("read_file", Builtin), named("read_file", Embedded), runNothing, true, "tool 'read_file' has the name of a built-in tool", "Rename your custom tool"},
		{"B22 two of one name", named("my-tool", Project), named("my_tool", Personal), runNothing, false, "tool 'my_tool' is already registered", "each tool must have a unique name; - and _ are the same"},
		{"a refresh of a built-in", named("read_file", Builtin), named("read_file", Builtin), runNothing, true, "", ""},
	}
	for _, tt := range tests {
		var r Registry
		if tt.first != nil {
			if err := r.Register(tt.first, runNothing, false); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		err := r.Register(tt.second, tt.run, tt.replace)
		if tt.want == "" {
			got, run, errLookup := r.Lookup(tt.second.Name)
			if err != nil || errLookup != nil || got != tt.second || run == nil || len(r.Tools()) != 1 {
				t.Errorf("%s: Register = %v; Lookup = %v, %v", tt.name, err, got, errLookup)
			}
			continue
		}
		e := ErrorOf(err, Internal)
		if e == nil || e.Error() != tt.want || e.Hint != tt.hint || e.Kind != Invalid {
			t.Errorf("%s: got %v (hint %q), want %s (hint %q)", tt.name, e, e.Hint, tt.want, tt.hint)
		}
		if tt.first != nil {
			if got, _, err := r.Lookup(tt.first.Name); err != nil || got != tt.first {
				t.Errorf("%s: the first tool is gone: %v, %v", tt.name, got, err)
			}
		}
	}
}

func TestRegistryLookup(t *testing.T) {
	var r Registry
	if _, _, err := r.Lookup("x"); err == nil || err.Error() != "Unknown tool: x" || ErrorOf(err, Internal).Hint != "there are no tools" {
		t.Errorf("an empty registry: got %v (hint %q)", err, ErrorOf(err, Internal).Hint)
	}
	for _, name := range []string{"read_file", "my-tool", "search"} {
		if err := r.Register(named(name, Project), runNothing, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"my-tool", "my_tool"} { // C1: both spellings
		if got, _, err := r.Lookup(name); err != nil || got.Name != "my-tool" {
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
		_, _, err := r.Lookup(tt.name)
		e := ErrorOf(err, Internal)
		if e == nil || e.Error() != tt.want || e.Kind != NotFound || e.Hint != "the tools are: read_file, my-tool, search" {
			t.Errorf("Lookup(%q) = %v (hint %q), want %s", tt.name, e, e.Hint, tt.want)
		}
	}
}

func TestRegistryOfManyHintsAtSome(t *testing.T) {
	var r Registry
	for i := range 100 {
		if err := r.Register(named(fmt.Sprintf("t%d", i), Project), runNothing, false); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := r.Lookup("unknown")
	if got := ErrorOf(err, Internal).Hint; strings.Count(got, "t") > 30 || !strings.HasSuffix(got, "t19, …") {
		t.Errorf("hint %q, want the first 20", got)
	}
}

// B24: what is gone after a refresh leaves no name behind.
func TestRegistryB24Exchange(t *testing.T) {
	var r Registry
	for _, tool := range []*Tool{named("a", Builtin), named("b", Project), named("c", Embedded), named("d", Project)} {
		if err := r.Register(tool, runNothing, false); err != nil {
			t.Fatal(err)
		}
	}
	r.Exchange(func(t *Tool) bool { return t.Location == Project }, func(*Registry) {})
	if got, want := toolNames(&r), []string{"a", "c"}; !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
	if _, _, err := r.Lookup("b"); KindOf(err) != NotFound {
		t.Errorf("Lookup(b) = %v, want not found", err)
	}
	if err := r.Register(named("b", Personal), runNothing, false); err != nil {
		t.Errorf("Register(b) again: %v", err)
	}
	if got, want := toolNames(&r), []string{"a", "c", "b"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

func toolNames(r *Registry) (names []string) {
	for _, t := range r.Tools() {
		names = append(names, t.Name)
	}
	return names
}

// B18: one registry serves all at the same time.
func TestRegistryB18Concurrent(t *testing.T) {
	var r Registry
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				name := fmt.Sprintf("t_%d_%d", i, j)
				if err := r.Register(named(name, Project), runNothing, false); err != nil {
					t.Errorf("Register(%s): %v", name, err)
				}
				if _, _, err := r.Lookup(name); err != nil {
					t.Errorf("Lookup(%s): %v", name, err)
				}
				_ = r.Tools()
				if j%10 == 9 {
					r.Exchange(func(t *Tool) bool { return t.Name == name }, func(*Registry) {})
				}
			}
		})
	}
	wg.Wait()
	if got, want := len(r.Tools()), 8*45; got != want {
		t.Errorf("%d tools are left, want %d", got, want)
	}
}
