package gate

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

var given = approval{Name: "t", Hash: "h", Needs: "n", Granted: "g", Kind: "call"}

// TestList checks in which lists an approval holds: in the one that it was added to, and
// in those below it.
func TestList(t *testing.T) {
	var host, none *approvalList
	host = &approvalList{}
	run, other := host.Below(), host.Below()
	run.Add(given)
	if !run.Has(given) || other.Has(given) || host.Has(given) {
		t.Errorf("added to a run it holds in the run: %v, in another: %v, in the host: %v", run.Has(given), other.Has(given), host.Has(given))
	}
	run.Wider().Add(given)
	if !other.Has(given) || !host.Has(given) || run.Wider() != host || host.Wider() != host {
		t.Error("added to the wider list of a run it does not hold in the host")
	}
	none.Add(given)
	if none.Has(given) || none.Wider() != nil {
		t.Error("no list holds an approval")
	}
}

// TestHoldsForTheSame checks that an approval does not hold for anything that differs.
func TestHoldsForTheSame(t *testing.T) {
	list := &approvalList{}
	list.Add(given)
	for name, change := range map[string]func(*approval){
		"name": func(a *approval) { a.Name = "other" }, "hash": func(a *approval) { a.Hash = "other" },
		"needs": func(a *approval) { a.Needs = "other" }, "grants": func(a *approval) { a.Granted = "other" },
		"kind": func(a *approval) { a.Kind = "effect" }, "tool": func(a *approval) { a.Of = &tool.Tool{} },
	} {
		a := given
		if change(&a); list.Has(a) {
			t.Errorf("it holds for another %s", name)
		}
	}
}

// TestDict checks that what is recorded of an approval reads back, and that nothing else
// is read as one.
func TestDict(t *testing.T) {
	if a, ok := readApproval(given.Dict()); !ok || a != given {
		t.Errorf("read back %+v, %v", a, ok)
	}
	unnamed := given
	unnamed.Hash = "" // a tool without a hash is not the same in another process
	for name, d := range map[string]*value.Dict{"nil": nil, "empty": {}, "without a hash": unnamed.Dict(), "another note": value.NewDict("undo", "t")} {
		if a, ok := readApproval(d); ok {
			t.Errorf("%s: read %+v", name, a)
		}
	}
}

// TestAddAnswered checks which answers to open questions hold permanently.
func TestAddAnswered(t *testing.T) {
	yes := tool.Answer{Yes: true, Always: true}
	data := value.NewDict(dataPermanent, given.Dict())
	for _, tt := range []struct {
		name   string
		kind   tool.QuestionKind
		answer *tool.Answer
		data   *value.Dict
		want   bool
	}{
		{"always", tool.QuestionApproval, &yes, data, true},
		{"once", tool.QuestionApproval, &tool.Answer{Yes: true}, data, false},
		{"no", tool.QuestionApproval, &tool.Answer{Always: true}, data, false},
		{"other arguments", tool.QuestionApproval, &tool.Answer{Yes: true, Always: true, Args: &value.Dict{}}, data, false},
		{"open", tool.QuestionApproval, nil, data, false},
		{"not about approval", tool.QuestionConfirm, &yes, data, false},
		{"without data", tool.QuestionApproval, &yes, nil, false},
		{"with other data", tool.QuestionApproval, &yes, value.NewDict(dataPermanent, "yes"), false},
	} {
		list, q := &approvalList{}, history.Asked{Question: tool.Question{Kind: tt.kind}, Data: tt.data}
		if tt.answer != nil {
			q.Answer = &history.Answered{Answer: *tt.answer}
		}
		if list.AddAnswered([]history.Asked{q}); list.Has(given) != tt.want {
			t.Errorf("%s: it holds: %v, want %v", tt.name, !tt.want, tt.want)
		}
	}
}
