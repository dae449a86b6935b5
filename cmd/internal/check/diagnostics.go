package check

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// diagnosticText describes a fault for a person, in one to three lines.
func diagnosticText(d *diagnostic.Diagnostic, paint func(code, text string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s\n", ui.VisibleLine(d.Pos.String()), paint(draw.Bold, string(d.Severity)+":"),
		ui.VisibleLine(d.Message)+" "+paint(draw.Dim, "["+d.Code+"]"))
	if d.Hint != "" {
		fmt.Fprintf(&b, "  hint: %s\n", ui.VisibleLine(d.Hint))
	}
	if d.Fix != nil && !strings.Contains(d.Hint, d.Fix.Title) {
		fmt.Fprintf(&b, "  fix: %s\n", ui.VisibleLine(d.Fix.Title))
	}
	return b.String()
}

// A fileDiagnostics is the faults of one file.
type fileDiagnostics struct {
	Name  string
	Text  string // what the positions of the faults refer to
	Found []diagnostic.Diagnostic
}

const pageOfCodes = "https://github.com/cassidy-run/cassidy/blob/main/docs/checking.md#codes"

// sarifOf describes the faults of files in SARIF 2.1.0.
func sarifOf(files []fileDiagnostics, version string) *value.Dict {
	results, found := value.List{}, map[string]bool{}
	for _, f := range files {
		for i := range f.Found {
			found[f.Found[i].Code] = true
			results = append(results, result(&f.Found[i], f.Text))
		}
	}
	rules := value.List{}
	for _, c := range diagnostic.Codes() {
		if found[c.ID] {
			rules = append(rules, rule(c))
		}
	}
	driver := value.NewDict("name", "cassidy", "informationUri", "https://github.com/cassidy-run/cassidy", "rules", rules)
	if number := strings.TrimPrefix(version, "v"); number != "" && number[0] >= '0' && number[0] <= '9' { // a build without a version has (devel)
		driver.Put("version", number)
	}
	run := value.NewDict("tool", value.NewDict("driver", driver), "columnKind", "unicodeCodePoints", "results", results)
	return value.NewDict("$schema", "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", value.List{run})
}

// rule describes a code. GitHub requires all of these properties.
func rule(c diagnostic.Code) *value.Dict {
	short := value.NewDict("text", strings.ReplaceAll(c.ID, "-", " "))
	full := value.NewDict("text", strings.ReplaceAll(c.Meaning, "`", ""))
	help := value.NewDict("text", "See "+pageOfCodes, "markdown", "See [the documentation]("+pageOfCodes+").")
	return value.NewDict("id", c.ID, "shortDescription", short, "fullDescription", full, "help", help, "helpUri", pageOfCodes)
}

func result(d *diagnostic.Diagnostic, text string) *value.Dict {
	message := d.Message
	if d.Hint != "" {
		message += "\n" + d.Hint
	}
	uri := value.NewDict("uri", uriOf(d.Pos.File))
	location := value.NewDict("physicalLocation", value.NewDict("artifactLocation", uri, "region", region(text, d.Span)))
	r := value.NewDict("ruleId", d.Code, "level", string(d.Severity), "message", value.NewDict("text", message), "locations", value.List{location})
	if d.More > 0 {
		r.Put("properties", value.NewDict("more", int64(d.More)))
	}
	if d.Fix != nil {
		replacements := value.List{}
		for _, e := range d.Fix.Edits {
			replacements = append(replacements, value.NewDict("deletedRegion", region(text, e.Span), "insertedContent", value.NewDict("text", e.Text)))
		}
		change := value.NewDict("artifactLocation", uri, "replacements", replacements)
		r.Put("fixes", value.List{value.NewDict("description", value.NewDict("text", d.Fix.Title), "artifactChanges", value.List{change})})
	}
	return r
}

// uriOf returns the URI of a file: it is relative if the name of the file is.
func uriOf(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme, u.Path = "file", "/"+strings.TrimPrefix(u.Path, "/")
	}
	return u.String()
}

// region returns the lines and columns of a span, in characters.
func region(text string, s diagnostic.Span) *value.Dict {
	line, col := position(text, s.Start)
	endLine, endCol := position(text, s.End)
	return value.NewDict("startLine", int64(line), "startColumn", int64(col), "endLine", int64(endLine), "endColumn", int64(endCol))
}

func position(text string, offset int) (line, col int) {
	end := min(max(offset, 0), len(text))
	p := diagnostic.At("", text, end)
	return p.Line, 1 + utf8.RuneCountInString(text[end-(p.Col-1):end])
}
