package memory

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Module returns the effects on the notes: memory.add adds one, and memory.set undoes that. They
// have their own capability, so a tool can have it without write access to .cassidy. root is
// the project's folder; "" means no project. scope returns the current scope; it is called
// concurrently.
func Module(root string, scope func() *trust.Scope) tool.Module {
	return tool.Module{Name: "memory", Doc: "Notes about the project that models write, for later conversations.", Funcs: []tool.Func{
		addFunc(root, scope), setFunc(root, scope),
	}}
}

func target(*value.Dict) ([]tool.Capability, error) {
	return []tool.Capability{{Name: "memory.add"}}, nil
}

// The parameters of the functions.
const (
	argNote  = "note"
	argID    = "id"
	argThere = "there"
)

func textParam(name, doc string) tool.Param {
	return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}, Description: doc, Required: true}
}

func addFunc(root string, scope func() *trust.Scope) tool.Func {
	return tool.Func{
		Name:    "add",
		Doc:     "Add a note to .cassidy/memory.md, which models get at the beginning of later conversations. Each note needs approval, unless a rule allows memory.add. The approval of the call of the tool is not enough.",
		Params:  []tool.Param{textParam(argNote, "the note, at most 2,000 characters")},
		Returns: "True if the note was added, False if there is already a note with the same text",
		Kind:    tool.Repeatable, // a repetition finds the note
		Resumes: true,
		Risk:    tool.RiskAsk,
		Target:  target,
		Do: func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			text, err := tidy(e.Args.Text(argNote))
			if err != nil {
				return tool.Outcome{}, err
			}
			n, added := note{text: text, id: newID(g.Key), when: time.Now()}, false
			err = change(ctx, root, scope(), func(s *store) (err error) {
				added, err = s.add(n)
				return err
			})
			if err != nil || !added || n.id == "" {
				return tool.Outcome{Value: added}, err
			}
			return tool.Outcome{Value: true, Undo: undo(n, false)}, nil
		},
	}
}

// undo returns the effect that makes a note be in the file, or not.
func undo(n note, there bool) *tool.Effect {
	return &tool.Effect{Func: "memory.set", Args: value.NewDict(argNote, n.text, argID, n.id, argThere, there)}
}

func setFunc(root string, scope func() *trust.Scope) tool.Func {
	return tool.Func{
		Name: "set",
		Doc:  "Undo memory.add, or undo that.",
		Params: []tool.Param{
			textParam(argNote, "the note"), textParam(argID, "the ID of the note"),
			{Name: argThere, Type: tool.Type{Name: tool.TypeBoolean}, Description: "whether the file has the note afterwards", Required: true},
		},
		Returns: `{"done": whether the file has changed}`,
		Kind:    tool.Repeatable,
		Mode:    tool.ModeInternal,
		Target:  target,
		Do: func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			n, there, done := note{text: e.Args.Text(argNote), id: e.Args.Text(argID), when: time.Now()}, e.Args.Bool(argThere), false
			err := change(ctx, root, scope(), func(s *store) (err error) {
				if there {
					done, err = s.add(n)
				} else {
					done, err = s.remove(n)
				}
				return err
			})
			return tool.Outcome{Value: value.NewDict("done", done), Undo: undo(n, !there)}, err
		},
	}
}
