package stdlib

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// rowsWanted is every effect, with what a record and a gate need to know of it.
var rowsWanted = map[string]struct {
	kind     tool.EffectKind
	internal bool
	target   bool
}{
	"fs.read":       {tool.Read, false, true},
	"fs.read_bytes": {tool.Read, false, true},
	"fs.parquet":    {tool.Read, false, true},
	"fs.list":       {tool.Read, false, true},
	"fs.stat":       {tool.Read, false, true},
	"fs.exists":     {tool.Read, false, true},
	"fs.glob":       {tool.Read, false, true},
	"fs.search":     {tool.Read, false, true},
	"fs.write":      {tool.Write, false, true},
	"fs.append":     {tool.Write, false, true},
	"fs.edit":       {tool.Write, false, true},
	"fs.remove":     {tool.Write, false, true},
	"fs.move":       {tool.Write, false, true},
	"fs.mkdir":      {tool.Write, false, true},
	"fs.prepare":    {tool.Read, true, false},
	"fs.commit":     {tool.Write, true, false},
	"fs.restore":    {tool.Write, true, true},
	"fs.reconcile":  {tool.Write, true, true},
	"fs.finish":     {tool.Write, true, true},
	"env.get":       {tool.Read, false, true},
	"http.get":      {tool.Repeatable, false, true},
	"http.head":     {tool.Repeatable, false, true},
	"http.post":     {tool.External, false, true},
	"http.put":      {tool.External, false, true},
	"http.patch":    {tool.External, false, true},
	"http.delete":   {tool.External, false, true},
	"http.request":  {tool.External, false, true},
	"secret":        {tool.Read, false, true},
	"time.now":      {tool.Recorded, false, false},
	"time.sleep":    {tool.Repeatable, false, false},
	"random.seed":   {tool.Recorded, true, false},
	"human.ask":     {tool.Repeatable, false, true},
	"human.confirm": {tool.Repeatable, false, true},
	"shell.run":     {tool.External, false, true},
	"emit":          {tool.Notice, false, false},
	"progress":      {tool.Notice, false, false},
	"log":           {tool.Notice, false, false},
	"show":          {tool.Notice, false, false},
}

func TestEffectRowsAreComplete(t *testing.T) {
	d := newDesk(t, nil)
	n := 0
	for _, m := range d.w.Modules() {
		if m.Doc == "" {
			t.Errorf("module %q has no doc", m.Name)
		}
		for _, f := range m.Funcs {
			n++
			name := strings.TrimPrefix(m.Name+"."+f.Name, ".")
			want, ok := rowsWanted[name]
			if !ok {
				t.Errorf("%s is not in this test's table", name)
			}
			if f.Kind != want.kind || (f.Mode == tool.ModeInternal) != want.internal || (f.Target != nil) != want.target {
				t.Errorf("%s: kind %s, internal %v, target %v, want %s, %v, %v", name, f.Kind, f.Mode == tool.ModeInternal, f.Target != nil, want.kind, want.internal, want.target)
			}
			if f.Do == nil || f.Returns == "" || !strings.HasSuffix(strings.SplitAfter(f.Doc, ". ")[0], ".") && !strings.HasSuffix(f.Doc, ".") {
				t.Errorf("%s lacks a Do, a Returns or a doc of sentences: %q", name, f.Doc)
			}
			for _, p := range f.Params {
				if p.Description == "" || !p.Type.Known() || p.Required == p.HasDefault {
					t.Errorf("%s: parameter %s lacks words, a type, or is neither required nor has a default", name, p.Name)
				}
			}
		}
	}
	if n != len(rowsWanted) {
		t.Errorf("%d rows, want %d", n, len(rowsWanted))
	}
}

func TestTargetsNameConcreteCapabilities(t *testing.T) {
	top := newDesk(t, map[string]string{"work/x": ""})
	d := deskAt(t, &Options{Root: top.Dir, WorkDir: "work"})
	for _, tt := range []struct {
		row  string
		args *value.Dict
		want string
	}{
		{"fs.read", value.NewDict("path", "../docs/./a.txt"), "fs.read:docs/a.txt"},
		{"fs.read", value.NewDict("path", top.Dir+"/docs/a.txt"), "fs.read:docs/a.txt"},
		{"fs.list", value.NewDict(), "fs.read:work"},
		{"fs.list", value.NewDict("path", ".."), "fs.read:."},
		{"fs.glob", value.NewDict("pattern", "a/b/*.md"), "fs.read:work/a/b"},
		{"fs.glob", value.NewDict("pattern", "*", "path", "../docs/"), "fs.read:docs"},
		{"fs.search", value.NewDict("pattern", "x", "glob", "a/*"), "fs.read:work"},
		{"fs.write", value.NewDict("path", "a", "content", ""), "fs.write:work/a"},
		{"fs.move", value.NewDict("from", "a", "to", "../b/"), "fs.read:work/a fs.write:work/a fs.write:b"},
		{"fs.restore", value.NewDict("files", value.List{value.NewDict("path", "a", "was", "", "is", ""), value.NewDict("path", "b/c", "was", "", "is", "")}), "fs.write:a fs.write:b/c"},
		{"fs.restore", value.NewDict("files", value.List{value.NewDict("path", "a", "was", "", "is", "dir"), value.NewDict("path", "a/b", "was", "", "is", "dir"), value.NewDict("path", "ab/c", "was", "", "is", "file")}), "fs.write:a/b fs.write:ab/c"},
		{"env.get", value.NewDict("name", "HOME"), "env:HOME"},
		{"http.get", value.NewDict("url", "https://API.example.com:443/x"), "http.get:api.example.com"},
		{"http.post", value.NewDict("url", "http://example.com:8080"), "http.post:example.com:8080"},
		{"human.ask", value.NewDict("question", "which?"), "human"},
		{"human.confirm", value.NewDict("question", "really?"), "human"},
		{"http.request", value.NewDict("method", "patch", "url", "http://[2606:4700:0::1111]:443/"), "http.patch:[2606:4700::1111]:443"},
	} {
		f := d.Func(tt.row)
		args, err := f.Bind(nil, tt.args)
		rowtest.NoError(t, err)
		targets, err := f.Target(args)
		rowtest.NoError(t, err)
		var got []string
		for _, c := range targets {
			got = append(got, c.String())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s(%s): target %v, want %s", tt.row, value.FormatJSON(tt.args, ""), got, tt.want)
		}
	}
}
