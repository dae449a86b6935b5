package gate

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// What a person can decide, as the files are told.
const (
	keepMine   = "mine"   // the commit is completed, over what is there
	KeepTheirs = "theirs" // the files stay as they are
)

// maxNamed is how many files the text of a question names.
const maxNamed = 5

// unsettledQuestion returns the question about files: a list of {"path", "now", "then"} with the
// contents that they have and that the commit gives them. Its text identifies both, so that
// an answer is about what was shown.
func unsettledQuestion(files value.List) tool.Question {
	q := tool.Question{Kind: tool.QuestionUnknown, Why: "the run was interrupted during a write, and the files have changed since"}
	var names []string
	for _, item := range files {
		d, _ := item.(*value.Dict)
		c := tool.Change{Path: d.Text("path"), Before: stateIn(d, "now"), After: stateIn(d, "then")}
		q.Changes = append(q.Changes, c)
		names = append(names, c.Path+" (now "+shortState(c.Before)+", after the write "+shortState(c.After)+")")
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], strconv.Itoa(more)+" more")
	}
	q.Changes = clippedDiffs(withDiffs(q.Changes))
	q.Text = "the run was interrupted while it wrote " + strings.Join(names, ", ") +
		": overwrite these files? If you answer no, the files stay as they are, and the call fails"
	return q
}

// stateIn returns the state of a file from its content in a dict.
func stateIn(d *value.Dict, name string) tool.FileState {
	v, _ := d.Get(name)
	data, ok := v.([]byte)
	if !ok {
		return tool.FileState{}
	}
	return tool.FileState{Exists: true, Data: data, Hash: tool.HashBytes(data)}
}

func shortState(st tool.FileState) string {
	if !st.Exists {
		return "no file"
	}
	return "SHA-256 " + st.Hash[:8] + "…"
}

// The arguments of fs.reconcile beside those of the commit.
const (
	ReconcileDecision = "decision"
	reconcileProofs   = "proved" // whether a file was written, by its path, see [proved]
)

// WithArg returns the arguments of a commit with one more.
func WithArg(args *value.Dict, name string, v value.Value) *value.Dict {
	d := &value.Dict{}
	for k, v := range args.All() {
		name, _ := k.(string)
		d.Put(name, v)
	}
	d.Put(name, v)
	return d
}

// errNotOverwritten returns the error of the commit after the answer no.
func errNotOverwritten(files value.List) error {
	d, _ := files[0].(*value.Dict)
	return value.Errorf(value.Conflict, "%s was not overwritten: it changed after the run was interrupted", d.Text("path")).WithHint("read the file again")
}
