package check

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A sarifLog is what the test reads of a log.
type sarifLog struct {
	Runs []struct {
		ColumnKind string
		Tool       struct {
			Driver struct{ Rules []struct{ ID string } }
		}
		Results []struct {
			RuleID    string
			Locations []struct{ PhysicalLocation location }
			Fixes     []struct {
				ArtifactChanges []struct {
					Replacements []struct {
						DeletedRegion   sarifRegion
						InsertedContent struct{ Text string }
					}
				}
			}
		}
	}
}

type location struct {
	ArtifactLocation struct{ URI string }
	Region           sarifRegion
}

type sarifRegion struct{ StartLine, StartColumn, EndLine, EndColumn int }

// faultAt returns a fault of the first occurrence of a word, with a fix that replaces it.
func faultAt(file, text, word, code string) diagnostic.Diagnostic {
	start := strings.Index(text, word)
	span := diagnostic.Span{Start: start, End: start + len(word)}
	return diagnostic.Diagnostic{
		Pos: diagnostic.At(file, text, start), Span: span, Severity: diagnostic.Error, Code: code, Message: "undefined: " + word, Hint: "define it",
		Fix: &diagnostic.Fix{Title: "remove it", Edits: []diagnostic.Edit{{Span: span}}},
	}
}

func TestSARIF(t *testing.T) {
	tests := []struct {
		file, text, word string
		uri              string
		want             sarifRegion
	}{
		{".cassidy/tools/a.star", "x = pth\n", "pth", ".cassidy/tools/a.star", sarifRegion{1, 5, 1, 8}},
		{"my tools/100%/ä#?.lua", "-- ä𝄞é pth", "pth", "my%20tools/100%25/%C3%A4%23%3F.lua", sarifRegion{1, 8, 1, 11}},
		{"cr.star", "x = 1\rä = pth\r", "pth", "cr.star", sarifRegion{2, 5, 2, 8}},
		{"a:b.star", "\ufeffpth", "pth", "./a:b.star", sarifRegion{1, 1, 1, 4}},
		{"/abs/a b.star", "\n\n  f(\n)", "f(\n)", "file:///abs/a%20b.star", sarifRegion{3, 3, 4, 2}},
		{"missing.star", "", "", "missing.star", sarifRegion{1, 1, 1, 1}},
	}
	var files []fileDiagnostics
	for _, tt := range tests {
		d := faultAt(tt.file, tt.text, tt.word, "unknown-name")
		other := faultAt(tt.file, tt.text, tt.word, "unused-load")
		other.Severity, other.Fix, other.Hint = diagnostic.Warning, nil, ""
		files = append(files, fileDiagnostics{Name: tt.file, Text: tt.text, Found: []diagnostic.Diagnostic{d, other}})
	}
	data := []byte(value.FormatJSON(sarifOf(files, "1.2.3"), ""))
	var log sarifLog
	if err := json.Unmarshal(data, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	var rules []string
	for _, r := range run.Tool.Driver.Rules {
		rules = append(rules, r.ID)
	}
	if diff := cmp.Diff([]string{"unknown-name", "unused-load"}, rules); diff != "" {
		t.Errorf("the rules (-want +got)\n%s", diff)
	}
	if run.ColumnKind != "unicodeCodePoints" || len(run.Results) != 2*len(tests) {
		t.Fatalf("columnKind %s, %d results", run.ColumnKind, len(run.Results))
	}
	for i, tt := range tests {
		r := run.Results[2*i]
		at := r.Locations[0].PhysicalLocation
		if at.ArtifactLocation.URI != tt.uri || at.Region != tt.want || r.RuleID != "unknown-name" {
			t.Errorf("%s: got %s %s %+v, want %s %+v", tt.file, r.RuleID, at.ArtifactLocation.URI, at.Region, tt.uri, tt.want)
		}
		if deleted := r.Fixes[0].ArtifactChanges[0].Replacements[0].DeletedRegion; deleted != tt.want {
			t.Errorf("%s: the fix deletes %+v, want %+v", tt.file, deleted, tt.want)
		}
	}
}

// validate checks a log against the published schema.
func validate(t *testing.T, schema *jsonschema.Resolved, data []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("not valid in SARIF 2.1.0: %v\n%s", err, data)
	}
}

// publishedSchema reads the schema of SARIF 2.1.0, errata 01, from the source of a Go module in the module cache.
func publishedSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(strings.TrimSpace(string(cache)), "github.com/owenrumney/go-sarif/v3@v3.3.1/pkg/report/v210/sarif/schema.go")
	source, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: the schema of SARIF is not in the module cache; to download it: go mod download github.com/owenrumney/go-sarif/v3@v3.3.1")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(source), "`")
	text, _, _ = strings.Cut(text, "`")
	var published map[string]any
	if err := json.Unmarshal([]byte(text), &published); err != nil {
		t.Fatal(err)
	}
	delete(published, "$schema") // draft-04, which the library does not know; the differences are not used
	delete(published, "id")
	plain, err := json.Marshal(published)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(plain, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// TestPublishedSchema validates logs that have all that is written.
func TestPublishedSchema(t *testing.T) {
	schema := publishedSchema(t)
	if schema.Validate(map[string]any{"version": "2.1.0", "runs": []any{}, "cassidy": true}) == nil {
		t.Fatal("the schema accepts unknown properties")
	}
	var found []diagnostic.Diagnostic
	for _, c := range diagnostic.Codes() {
		found = append(found, faultAt("my tools/a.star", "x = pth\n", "pth", c.ID))
	}
	files := []fileDiagnostics{{Name: "my tools/a.star", Text: "x = pth\n", Found: found}}
	for _, version := range []string{"1.2.3", "v1.2.3-rc.1", "(devel)", ""} {
		validate(t, schema, []byte(value.FormatJSON(sarifOf(files, version), "")))
		validate(t, schema, []byte(value.FormatJSON(sarifOf(nil, version), "")))
	}
}

// TestMore checks that faults that are not listed are counted, and that JSON and SARIF have their number.
func TestMore(t *testing.T) {
	t.Parallel()
	list := []diagnostic.Diagnostic{
		{Pos: value.Position{File: "a.star", Line: 1, Col: 1}, Severity: diagnostic.Error, Code: diagnostic.UnknownName, Message: "undefined: x"},
		{Pos: value.Position{File: "a.star", Line: 1, Col: 1}, Severity: diagnostic.Error, Code: diagnostic.MoreFaults, Message: "7 more errors are not listed", More: 7},
		{Pos: value.Position{File: "a.star", Line: 1, Col: 1}, Severity: diagnostic.Warning, Code: diagnostic.MoreFaults, Message: "9 more warnings are not listed", More: 9},
	}
	if errs, warnings := check.Count(list); errs != 8 || warnings != 9 {
		t.Errorf("Count = %d, %d", errs, warnings)
	}
	if n, _ := check.JSON(&list[1], "x").Get("more"); n != int64(7) {
		t.Errorf("JSON: more = %v", n)
	}
	text := value.FormatJSON(sarifOf([]fileDiagnostics{{Name: "a.star", Text: "x", Found: list}}, "v1"), "")
	if strings.Count(text, `"more":`) != 2 {
		t.Errorf("SARIF: %s", text)
	}
}

// TestDraw draws faults of any lines on any screen: no line is wider, and each fault is there or counted.
func TestDraw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := draw.Screen{Width: rapid.SampledFrom([]int{40, 80, 200}).Draw(r, "width"), ASCII: rapid.Bool().Draw(r, "ascii")}
		f := &fileDiagnostics{Name: "a.star", Text: strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"", "x = 1", "\tx = \"日本語\"", strings.Repeat("long ", 60), "\x1b[31m\u202e"}), 1, 5).Draw(r, "lines"), "\n")}
		for range rapid.IntRange(1, 6).Draw(r, "faults") {
			start := rapid.IntRange(0, len(f.Text)).Draw(r, "start")
			end := rapid.IntRange(start, len(f.Text)).Draw(r, "end")
			d := diagnostic.Diagnostic{Pos: diagnostic.At("a.star", f.Text, start), Span: diagnostic.Span{Start: start, End: end}, Severity: diagnostic.Error, Code: "unknown-name", Hint: "hint\u200b"}
			d.Message = rapid.SampledFrom([]string{"undefined: x", strings.Repeat("wide 日本語 ", 20), "two\nlines"}).Draw(r, "message")
			if rapid.Bool().Draw(r, "fixed") {
				d.Fix = &diagnostic.Fix{Title: "write y"}
			}
			f.Found = append(f.Found, d)
		}
		lines := drawFile(s, f, nil, false)
		said := 0
		for _, line := range lines {
			if draw.Cells(line) >= s.Width || strings.ContainsAny(line, "\x1b\u202e\u200b\n") {
				r.Fatalf("a line of %d cells on a screen of %d: %q", draw.Cells(line), s.Width, line)
			}
			if strings.HasPrefix(line, s.Symbol(draw.Failed)) {
				said++
			}
			if _, more, ok := strings.Cut(line, s.Symbol(draw.Folded)+" "); ok && strings.Contains(more, "more (--verbose)") {
				n, _ := strconv.Atoi(strings.Fields(more)[0])
				said += n
			}
		}
		if said != len(f.Found) {
			r.Fatalf("%d of %d faults are shown:\n%s", said, len(f.Found), strings.Join(lines, "\n"))
		}
	})
}
