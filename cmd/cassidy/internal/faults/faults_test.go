package faults_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/faults"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// sarifSchema is the part of the schema of SARIF 2.1.0 that applies to the properties which are written: their types,
// what is required, and that there is nothing else.
const sarifSchema = `{
  "type": "object", "required": ["version", "runs"], "additionalProperties": false,
  "properties": {
    "$schema": {"type": "string", "pattern": "^https://"},
    "version": {"const": "2.1.0"},
    "runs": {"type": "array", "items": {"type": "object", "required": ["tool", "results", "columnKind"], "additionalProperties": false, "properties": {
      "tool": {"type": "object", "required": ["driver"], "additionalProperties": false, "properties": {"driver": {"type": "object", "required": ["name", "rules"], "additionalProperties": false, "properties": {
        "name": {"type": "string", "minLength": 1}, "version": {"type": "string"}, "informationUri": {"type": "string", "pattern": "^https://"},
        "rules": {"type": "array", "uniqueItems": true, "items": {"type": "object", "required": ["id"], "additionalProperties": false, "properties": {"id": {"type": "string", "minLength": 1}, "shortDescription": {"$ref": "#/$defs/text"}}}}
      }}}},
      "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
      "results": {"type": "array", "items": {"type": "object", "required": ["ruleId", "level", "message", "locations"], "additionalProperties": false, "properties": {
        "ruleId": {"type": "string"}, "level": {"enum": ["none", "note", "warning", "error"]}, "message": {"$ref": "#/$defs/text"},
        "locations": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["physicalLocation"], "additionalProperties": false, "properties": {
          "physicalLocation": {"type": "object", "required": ["artifactLocation", "region"], "additionalProperties": false, "properties": {"artifactLocation": {"$ref": "#/$defs/artifact"}, "region": {"$ref": "#/$defs/region"}}}
        }}},
        "fixes": {"type": "array", "uniqueItems": true, "items": {"type": "object", "required": ["artifactChanges"], "additionalProperties": false, "properties": {
          "description": {"$ref": "#/$defs/text"},
          "artifactChanges": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"type": "object", "required": ["artifactLocation", "replacements"], "additionalProperties": false, "properties": {
            "artifactLocation": {"$ref": "#/$defs/artifact"},
            "replacements": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["deletedRegion"], "additionalProperties": false, "properties": {"deletedRegion": {"$ref": "#/$defs/region"}, "insertedContent": {"$ref": "#/$defs/content"}}}}
          }}}
        }}}
      }}}
    }}}
  },
  "$defs": {
    "text": {"type": "object", "required": ["text"], "additionalProperties": false, "properties": {"text": {"type": "string", "minLength": 1}}},
    "content": {"type": "object", "required": ["text"], "additionalProperties": false, "properties": {"text": {"type": "string"}}},
    "artifact": {"type": "object", "required": ["uri"], "additionalProperties": false, "properties": {"uri": {"type": "string", "pattern": "^([A-Za-z0-9._~/!$&'()*+,;=:@-]|%[0-9A-F]{2})+$"}}},
    "region": {"type": "object", "required": ["startLine", "startColumn", "endLine", "endColumn"], "additionalProperties": false, "properties": {
      "startLine": {"type": "integer", "minimum": 1}, "startColumn": {"type": "integer", "minimum": 1}, "endLine": {"type": "integer", "minimum": 1}, "endColumn": {"type": "integer", "minimum": 1}
    }}
  }
}`

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
						DeletedRegion   region
						InsertedContent struct{ Text string }
					}
				}
			}
		}
	}
}

type location struct {
	ArtifactLocation struct{ URI string }
	Region           region
}

type region struct{ StartLine, StartColumn, EndLine, EndColumn int }

// found returns a fault of the first occurrence of a word, with a fix that replaces it.
func found(file, text, word, code string) diagnostic.Diagnostic {
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
		want             region
	}{
		{".cassidy/tools/a.star", "x = pth\n", "pth", ".cassidy/tools/a.star", region{1, 5, 1, 8}},
		{"my tools/100%/ä#?.lua", "-- ä𝄞é pth", "pth", "my%20tools/100%25/%C3%A4%23%3F.lua", region{1, 8, 1, 11}},
		{"cr.star", "x = 1\rä = pth\r", "pth", "cr.star", region{2, 5, 2, 8}},
		{"a:b.star", "\ufeffpth", "pth", "./a:b.star", region{1, 1, 1, 4}},
		{"/abs/a b.star", "\n\n  f(\n)", "f(\n)", "file:///abs/a%20b.star", region{3, 3, 4, 2}},
		{"missing.star", "", "", "missing.star", region{1, 1, 1, 1}},
	}
	var files []faults.File
	for _, tt := range tests {
		d := found(tt.file, tt.text, tt.word, "unknown-name")
		other := found(tt.file, tt.text, tt.word, "unused-load")
		other.Severity, other.Fix, other.Hint = diagnostic.Warning, nil, ""
		files = append(files, faults.File{Name: tt.file, Text: tt.text, Found: []diagnostic.Diagnostic{d, other}})
	}
	data := []byte(value.FormatJSON(faults.SARIF(files, "1.2.3"), ""))
	validate(t, data)
	validate(t, []byte(value.FormatJSON(faults.SARIF(nil, ""), "")))

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

// validate checks a log against [sarifSchema].
func validate(t *testing.T, data []byte) {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(sarifSchema), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(v); err != nil {
		t.Errorf("not valid in SARIF 2.1.0: %v\n%s", err, data)
	}
}
