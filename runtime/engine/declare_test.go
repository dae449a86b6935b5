package engine_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/enginetest"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

var updateDeclared = flag.Bool("update-declared", false, "rewrite what the cases of testdata/*.txtar want")

// TestDescribe reads each case of testdata/*.txtar: a tool's file, and under the name
// of the case with .want the result of Describe. Every case of an archive can load its
// files below lib/. The tool has the name of the case.
func TestDescribe(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives in testdata: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { describeAll(t, name) })
	}
}

func describeAll(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	libs, want := map[string]string{}, map[string]string{}
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "lib/") {
			libs[f.Name] = string(f.Data)
		}
		if stem, ok := strings.CutSuffix(f.Name, ".want"); ok {
			want[stem] = string(f.Data)
		}
	}
	e := both(t, "star")
	updated := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".want") {
			continue
		}
		updated.Files = append(updated.Files, f)
		if strings.HasPrefix(f.Name, "lib/") {
			continue
		}
		stem := strings.TrimSuffix(f.Name, filepath.Ext(f.Name))
		got := described(e, tool.Script{Path: f.Name, Source: string(f.Data), Libs: libs})
		updated.Files = append(updated.Files, txtar.File{Name: stem + ".want", Data: []byte(got)})
		if got != want[stem] && !*updateDeclared {
			t.Errorf("Describe(%s): (-want +got); go test ./runtime/engine -update-declared takes it over\n%s", f.Name, cmp.Diff(want[stem], got))
		}
	}
	if *updateDeclared {
		if err := os.WriteFile(name, txtar.Format(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// described formats the result of Describe: the tool, or the error.
func described(e *enginetest.Twice, s tool.Script) string {
	got, err := e.Describe(s)
	if err != nil {
		var known *value.Error
		if !errors.As(err, &known) || known.Pos.File == "" {
			return fmt.Sprintf("an error without a file: %#v\n", err)
		}
		text := "error: " + err.Error() + "\n"
		if known.Hint != "" {
			text += "hint: " + known.Hint + "\n"
		}
		if known.Kind != value.Invalid {
			text += "type: " + known.Kind.Type() + " " + string(known.Limit) + "\n"
		}
		return text
	}
	if _, err := pack.Append(nil, &got); err != nil {
		return fmt.Sprintf("a tool that cannot be sent: %v\n", err)
	}
	return toolText(got)
}

func toolText(t tool.Described) string {
	var b strings.Builder
	line := func(name string, v any) {
		if text := fmt.Sprint(v); text != "" && text != "[]" && text != "0" && text != "0s" && text != "false" && text != "{0 0s 0 0 0}" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.ReplaceAll(text, "\n", `\n`))
		}
	}
	line("name", t.Name)
	line("title", t.Title)
	line("description", t.Description)
	line("group", t.Group)
	line("risky", t.Risky)
	if h := fmt.Sprintf("%+v", t.Hints); h != fmt.Sprintf("%+v", tool.Hints{}) {
		line("hints", h)
	}
	for _, p := range t.Params {
		line("param", paramText(p))
	}
	line("allow_extra", t.AllowExtra)
	if t.Returns != nil {
		line("returns", typeText(*t.Returns))
	}
	line("returns doc", t.ReturnsDoc)
	line("needs", t.Needs)
	for _, e := range t.Examples {
		text := fmt.Sprintf("%q %s", e.Description, value.FormatJSON(e.Args, ""))
		if e.HasExpect {
			text += " expect " + value.FormatJSON(e.Expect, "")
		}
		line("example", text)
	}
	line("tags", t.Tags)
	if t.Deprecated != nil {
		line("deprecated", fmt.Sprintf("%+v", *t.Deprecated))
	}
	line("version", t.Version)
	line("timeout", t.Timeout)
	line("limits", t.Limits)
	line("overhead", t.Overhead)
	line("available", t.Available)
	line("undo", t.Undo)
	line("loads", t.Loads)
	for _, w := range t.Warnings {
		line("warning", w)
	}
	return b.String()
}

func paramText(p tool.Param) string {
	text := p.Name + " " + typeText(p.Type)
	if p.Required {
		text += " required"
	}
	if p.HasDefault {
		text += " = " + value.FormatJSON(p.Default, "")
	}
	if len(p.Aliases) > 0 {
		text += fmt.Sprintf(" aliases %v", p.Aliases)
	}
	if p.FromHost {
		text += " from the host"
	}
	if p.Description != "" {
		text += fmt.Sprintf(" %q", p.Description)
	}
	return text
}

func typeText(t tool.Type) string {
	text := t.String()
	for _, c := range []struct {
		name  string
		value value.Value
	}{{"min", t.Min}, {"max", t.Max}} {
		if c.value != nil {
			text += " " + c.name + " " + value.FormatJSON(c.value, "")
		}
	}
	if t.MinLength != nil {
		text += fmt.Sprint(" min_length ", *t.MinLength)
	}
	if t.MaxLength != nil {
		text += fmt.Sprint(" max_length ", *t.MaxLength)
	}
	if t.Pattern != "" {
		text += fmt.Sprintf(" pattern %q", t.Pattern)
	}
	if len(t.Enum) > 0 {
		text += " enum " + value.FormatJSON(value.List(t.Enum), "")
	}
	for _, f := range t.Fields {
		text += " {" + paramText(f) + "}"
	}
	return text
}
