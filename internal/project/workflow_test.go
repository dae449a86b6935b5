package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	workflows = ".cassidy/workflows/"
	plainFlow = "def main(n: int = 1) -> int:\n    \"Flow.\"\n    return n\n"
	toolFlow  = plainFlow + "\nworkflow(main, needs = [\"tool:a\"])\n"
	loadFlow  = "load(\"lib/words.star\", \"word\")\n" + plainFlow
)

// flows describes each workflow and the errors of each file.
func (b *bench) flows() string {
	b.t.Helper()
	all, broken := project.Workflows(b.root, &b.opts.Scope)
	var list []string
	for i := range all {
		list = append(list, b.flow(&all[i]))
	}
	for _, e := range broken {
		list = append(list, "broken "+e.Error())
	}
	return strings.Join(list, "\n")
}

func (b *bench) flow(w *project.Workflow) string {
	b.t.Helper()
	if err := w.Describe(b.t.Context(), b.opts.Describe); err != nil {
		return "broken " + err.Error()
	}
	text := w.Tool.Name + " " + string(w.Location)
	if w.Declared {
		text += " declared"
	}
	s, err := w.Script()
	if w.Reason != "" {
		if value.KindOf(err) != value.Denied || len(w.Granted) > 0 {
			b.t.Errorf("%s is untrusted; Script = %v, and it is granted %v", w.Name, err, w.Granted)
		}
		return text + " (" + w.Reason + ")"
	}
	if err != nil || s.Hash != w.Hash {
		b.t.Errorf("the script of %s is %s, %v, want %s", w.Name, s.Hash, err, w.Hash)
	}
	for _, lib := range w.Tool.Loads {
		text += " " + lib + "=" + s.Libs[lib]
	}
	return text
}

func TestWorkflows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.opts.Home = t.TempDir()
	b.write(workflows+"a.star", plainFlow)
	b.write(workflows+"b.star", toolFlow)
	b.write(workflows+"c.star", loadFlow)
	b.write(workflows+"lib/words.star", "word = 1")
	b.write(workflows+"notes.md", "no workflow")
	b.write(workflows+"d.star", "x = 1\n")
	b.write(workflows+"e.star", star("A tool."))
	b.write(workflows+"f.star", "def main(\n")
	b.write(workflows+"g h.star", plainFlow)
	b.write(workflows+"twice.star", plainFlow)
	b.writeAt(filepath.Join(b.opts.Home, "workflows/twice.star"), plainFlow, b.long())
	b.writeAt(filepath.Join(b.opts.Home, "workflows/mine.star"), plainFlow, b.long())
	want := `a project
b project declared
c project lib/words.star=word = 1
broken .cassidy/workflows/d.star: the file has no function main
broken .cassidy/workflows/e.star: the file declares a tool, not a workflow
broken .cassidy/workflows/f.star:1:9: '(' is never closed
mine personal`
	got := b.flows()
	if !strings.HasPrefix(got, want+"\n") {
		t.Errorf("the workflows are\n%s\nwant\n%s", got, want)
	}
	for _, part := range []string{"g h.star: Invalid tool name", "workflows/twice.star:1: the workflow 'twice' is also in .cassidy/workflows/twice.star"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not reported:\n%s", part, got)
		}
	}
}

// TestTrustOfWorkflows checks that a project's workflow can be used if it and the files
// that it loads are trusted.
func TestTrustOfWorkflows(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(workflows+"a.star", loadFlow)
	b.write(workflows+"lib/words.star", "word = 1")
	b.write(workflows+"lib/other.star", "word = 2")
	want := func(what, want string) {
		t.Helper()
		if got := b.flows(); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	want("new", "a project (nobody has reviewed it yet; run cassidy trust)")
	b.trust(workflows + "a.star")
	want("the file alone", "a project (the loaded file lib/words.star is not trusted: nobody has reviewed it yet; run cassidy trust)")
	b.trust(workflows + "lib/words.star")
	want("both", "a project lib/words.star=word = 1")
	b.write(workflows+"lib/words.star", "word = 3")
	want("a changed lib", "a project (the loaded file lib/words.star is not trusted: the file has changed since it was trusted; run cassidy trust)")
	b.trust()
	b.write(workflows+"a.star", loadFlow+"\n")
	want("a changed file", "a project (the file has changed since it was trusted; run cassidy trust)")
	b.author()
	want("one's own", "a project lib/words.star=word = 3")
}

// TestOpenWorkflow opens files by path: the user's own, and files in a project, also
// through links.
func TestOpenWorkflow(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.opts.Home = filepath.Join(b.root, "home/.cassidy")
	b.write("mine/own.star", loadFlow)
	b.write("mine/lib/words.star", "word = 1")
	b.write("mine/plain.star", plainFlow)
	b.write("mine/b d.star", plainFlow)
	b.write("home/.cassidy/workflows/user.star", plainFlow)
	b.write("other/.cassidy/workflows/sly.star", plainFlow)
	b.write("other/.cassidy/any.star", plainFlow)
	if err := os.Symlink(filepath.Join(b.root, "other/.cassidy/workflows/sly.star"), filepath.Join(b.root, "mine/link.star")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	for file, want := range map[string]string{
		"mine/own.star":                     "own personal lib/words.star=word = 1",
		"mine/plain.star":                   "plain personal",
		"home/.cassidy/workflows/user.star": "user personal",
		"other/.cassidy/workflows/sly.star": "sly project (nobody has reviewed it yet; run cassidy trust)",
		"other/.cassidy/any.star":           "any project (nobody has reviewed it yet; run cassidy trust)",
		"mine/link.star":                    "sly project (nobody has reviewed it yet; run cassidy trust)",
		"mine/none.star":                    "mine/none.star: no such file or directory",
		"mine/b d.star":                     "mine/b d.star: Invalid tool name",
	} {
		w, err := project.OpenWorkflow(filepath.Join(b.root, file), &b.opts.Scope)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = b.flow(&w)
		}
		if got != want && (err == nil || !strings.Contains(filepath.ToSlash(got), want)) {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
}

// TestWorkflowTools checks that declared workflows can be called as tools, and that a
// file is read only when it has changed.
func TestWorkflowTools(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	want := func(what string, read int, want ...string) {
		t.Helper()
		before := b.described.Load()
		found, others, broken := project.WorkflowTools(t.Context(), b.root, &b.opts)
		var got []string
		for _, f := range found {
			text := f.Head.Name + " ready"
			if f.Reason != "" {
				text = f.Head.Name + " untrusted"
			}
			for _, c := range f.Granted {
				text += " " + c.String()
			}
			if s, err := f.Load(); (err == nil) != (f.Reason == "") || err == nil && s.Source == "" {
				t.Errorf("%s: the script of %s is %q, %v", what, f.Head.Name, s.Source, err)
			}
			got = append(got, text)
		}
		for _, e := range broken {
			got = append(got, e.Error())
		}
		if len(others) > 0 {
			slices.Sort(others)
			got = append(got, "others "+strings.Join(others, " "))
		}
		if n := int(b.described.Load() - before); !slices.Equal(got, want) || n != read {
			t.Errorf("%s: %q after reading %d, want %q after %d", what, got, n, want, read)
		}
	}
	want("none", 0)
	b.write(workflows+"a.star", plainFlow)
	b.write(workflows+"b.star", "load(\"lib/words.star\", \"word\")\n"+toolFlow)
	b.write(workflows+"c.star", "# no workflow by itself\n"+plainFlow)
	b.write(workflows+"d.star", "workflow(1)\n")
	b.write(workflows+"lib/words.star", "word = 1")
	const bad = ".cassidy/workflows/d.star:1:10: handler must be a function"
	want("new", 3, "b untrusted", bad, "others a c")
	want("again", 0, "b untrusted", bad, "others a c")
	b.trust()
	want("trusted", 0, "b ready tool:a", bad, "others a c")
	b.write(workflows+"lib/words.star", "word = 2")
	want("a changed lib", 1, "b untrusted", bad, "others a c")
	b.write(workflows+"d.star", plainFlow)
	want("fixed", 0, "b untrusted", "others a c d")
	want("and known", 0, "b untrusted", "others a c d")
}
