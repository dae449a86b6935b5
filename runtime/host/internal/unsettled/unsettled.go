// Package unsettled finds out what the commits of a run prove about one that was interrupted, and makes the
// question about it if its files were changed since.
package unsettled

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/host/internal/diffs"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// What a person can decide, as the files are told.
const (
	Mine   = "mine"   // the commit is completed, over what is there
	Theirs = "theirs" // the files stay as they are
)

// maxNamed is how many files the text of a question names.
const maxNamed = 5

// Question returns the question about files: a list of {"path", "now", "then"} with the
// contents that they have and that the commit gives them. Its text identifies both, so that
// an answer is about what was shown.
func Question(files value.List) tool.Question {
	q := tool.Question{Kind: tool.QuestionUnknown, Why: "the run was interrupted during a write, and the files have changed since"}
	var names []string
	for _, item := range files {
		d, _ := item.(*value.Dict)
		c := tool.Change{Path: d.Text("path"), Before: state(d, "now"), After: state(d, "then")}
		q.Changes = append(q.Changes, c)
		names = append(names, c.Path+" (now "+short(c.Before)+", after the write "+short(c.After)+")")
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], strconv.Itoa(more)+" more")
	}
	q.Changes = diffs.Clipped(diffs.With(q.Changes))
	q.Text = "the run was interrupted while it wrote " + strings.Join(names, ", ") +
		": overwrite these files? If you answer no, the files stay as they are, and the call fails"
	return q
}

// state returns the state of a file from its content in a dict.
func state(d *value.Dict, name string) tool.FileState {
	v, _ := d.Get(name)
	data, ok := v.([]byte)
	if !ok {
		return tool.FileState{}
	}
	return tool.FileState{Exists: true, Data: data, Hash: tool.HashBytes(data)}
}

func short(st tool.FileState) string {
	if !st.Exists {
		return "no file"
	}
	return "SHA-256 " + st.Hash[:8] + "…"
}

// The arguments of fs.reconcile beside those of the commit.
const (
	Decision = "decision"
	Proofs   = "proved" // whether a file was written, by its path, see [Proved]
)

// With returns the arguments of a commit with one more.
func With(args *value.Dict, name string, v value.Value) *value.Dict {
	d := &value.Dict{}
	for k, v := range args.All() {
		name, _ := k.(string)
		d.Put(name, v)
	}
	d.Put(name, v)
	return d
}

// Refused returns the error of the commit after the answer no.
func Refused(files value.List) error {
	d, _ := files[0].(*value.Dict)
	return value.Errorf(value.Conflict, "%s was not overwritten: it changed after the run was interrupted", d.Text("path")).WithHint("read the file again")
}
