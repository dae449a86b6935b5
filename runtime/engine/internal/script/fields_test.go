package script

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func fieldNames(fields []Field) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

// TestFields checks that the tables of fields have those that are read.
func TestFields(t *testing.T) {
	d := New(ToolWord, value.Position{}, nil)
	d.Fields.Put("unknown", true)
	_, err := d.Tool("x")
	read := strings.Split(strings.TrimPrefix(value.ErrorOf(err, value.Invalid).Hint, "the fields are "), ", ")
	read = slices.DeleteFunc(read, func(name string) bool { return name == "token_overhead" }) // only in Markdown
	table := fieldNames(Fields(ToolWord))
	slices.Sort(table)
	if diff := cmp.Diff(read, table); diff != "" {
		t.Errorf("tool(…) (-read +table):\n%s", diff)
	}
	if diff := cmp.Diff(paramFields, fieldNames(Fields("param"))); diff != "" {
		t.Errorf("param(…) (-read +table):\n%s", diff)
	}
	if diff := cmp.Diff(exampleFields, fieldNames(Fields("example"))); diff != "" {
		t.Errorf("example(…) (-read +table):\n%s", diff)
	}
	limits := value.NewDict()
	for _, name := range LimitNames() {
		limits.Put(name, int64(1))
	}
	r := Reader{D: New(ToolWord, value.Position{}, nil)}
	r.D.Fields.Put("limits", limits)
	if l := r.limits(); r.err() != nil || l.Steps == 0 || l.CPU == 0 || l.Memory == 0 || l.Result == 0 {
		t.Errorf("limits: %+v, %v", l, r.err())
	}
}
