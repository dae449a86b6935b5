package yaml_test

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestSetAndRemove(t *testing.T) {
	t.Parallel()
	const config = "# My config.\n\nmodel: openai:a # the fast one\n\n# What tools may do.\nlimits:\n  # a second\n  cpu: 1\n  memory: 5\n\nallow:\n  - fs.read\n  # for deploy\n  - shell:git\n"
	for _, tt := range []struct {
		name, text, path, set, want string // set "" removes; want "" is a conflict, "?" not found
	}{
		{"a scalar keeps its comment", config, "model", "ollama:b", strings.Replace(config, "openai:a", "ollama:b", 1)},
		{"inside", config, "limits.cpu", "2.5", strings.Replace(config, "cpu: 1", "cpu: 2.5", 1)},
		{"the last inside", config, "limits.memory", "7", strings.Replace(config, "memory: 5", "memory: 7", 1)},
		{"a new one inside", config, "limits.steps", "9", strings.Replace(config, "memory: 5\n", "memory: 5\n  steps: 9\n", 1)},
		{"a new one", config, "docs", "brief", config + "docs: brief\n"},
		{"a new one below", config, "runs.keep", "3", config + "runs:\n  keep: 3\n"},
		{"one is removed", config, "limits.memory", "", strings.Replace(config, "  memory: 5\n", "", 1)},
		{"one with a comment is removed", config, "model", "", strings.Replace(config, "model: openai:a # the fast one\n", "", 1)},
		{"a list with comments is not replaced", config, "allow", "[]", ""},
		{"the last one is removed with the field that has it", "a: 1\nlimits:\n  cpu: 1\n", "limits.cpu", "", "a: 1\n"},
		{"all are removed", "limits:\n  cpu: 1\n", "limits.cpu", "", ""},
		{"an empty text", "", "a.b", "x", "a:\n  b: x\n"},
		{"comments only", "# nothing\n", "a", "1", "# nothing\na: 1\n"},
		{"without a newline at the end", "a: 1", "b", "2", "a: 1\nb: 2\n"},
		{"a field without a value", "limits:\nmodel: x\n", "limits.cpu", "1", "limits:\n  cpu: 1\nmodel: x\n"},
		{"braces", "limits: {cpu: 1, memory: 2}\nmodel: x\n", "limits.cpu", "3", "limits:\n  cpu: 3\n  memory: 2\nmodel: x\n"},
		{"braces with comments", "limits: {cpu: 1, # one\n  memory: 2}\n", "limits.cpu", "3", ""},
		{"a number sign in a text", "a: \"b#c\"\n", "a", "d", "a: d\n"},
		{"a comment of a field with fields", "a: # note\n  b: 1\n", "a", "2", "a: 2 # note\n"},
		{"a text of several lines", "a: |\n  x\n  y\nb: 1\n", "a", "z", "a: z\nb: 1\n"},
		{"a list", "a:\n- x\n- y\nb: 1\n", "a", "[p, q]", "a:\n  - p\n  - q\nb: 1\n"},
		{"a text that would be a number", "a: 1\n", "a", "'1'", "a: \"1\"\n"},
		{"a name with other characters", "models: {}\n", "models.openai:gpt 5", "1", "models:\n  openai:gpt 5: 1\n"},
		{"through a scalar", "a: 1\n", "a.b", "1", ""},
		{"nothing to remove", "a: 1\n", "b", "", "?"},
		{"nothing below to remove", "a: 1\n", "a.b", "", "?"},
		{"wide indents", "a:\n    b: 1\n    c: 2\n", "a.d", "3", "a:\n    b: 1\n    c: 2\n    d: 3\n"},
	} {
		var got string
		var err error
		if path := strings.Split(tt.path, "."); tt.set == "" {
			got, err = yaml.Remove(tt.text, path)
		} else {
			v, parseErr := yaml.Parse(tt.set)
			if parseErr != nil {
				t.Fatal(parseErr)
			}
			got, err = yaml.Set(tt.text, path, v)
		}
		switch want := tt.want; {
		case want == "?" && value.KindOf(err) != value.NotFound,
			want == "" && tt.name != "all are removed" && value.KindOf(err) != value.Conflict,
			want != "?" && (want != "" || tt.name == "all are removed") && (err != nil || got != want):
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, got, want)
		}
	}
}

// FuzzSet checks that a text with a field means the same otherwise, whatever it is.
func FuzzSet(f *testing.F) {
	f.Add("a: 1\nb: {c: 2} # x\n", "b", "c")
	f.Add("- a\n", "a", "b")
	f.Add("a:\n  - b: |\n      c\n", "a", "b")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		if one == "" || two == "" || strings.Contains(one+two, "\ufeff") {
			return
		}
		got, err := yaml.Set(text, []string{one, two}, "new")
		if err != nil {
			return
		}
		v, err := yaml.Parse(got)
		d, _ := v.(*value.Dict)
		if err != nil || d == nil || d.Dict(one).Text(two) != "new" {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
	})
}
