package tool

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// fullQuestion has something in every field.
func fullQuestion() Question {
	return Question{
		ID: "r:3.1:2", Run: "r", Step: "3.1", Tool: "deploy", Func: "shell.run", Text: "may it?", Why: "a rule asks", Reasoning: "it is time",
		Kind: QuestionApproval, Args: value.NewDict("argv", value.List{"git", "push"}, "n", 1, "f", 1.5, "big", new(big.Int).Lsh(big.NewInt(1), 80)),
		Capabilities: []Capability{{Name: "shell", Target: "git"}, {Name: "model"}, {Name: "http", Target: "a.example:8080"}},
		Changes: []Change{
			{Path: "a", Before: FileState{Exists: true, Mode: 0o644, Data: []byte("a\n"), Hash: HashBytes([]byte("a\n"))}, After: FileState{Exists: true, Data: []byte{0, 0xff}, Hash: "h"}, Diff: "-a\n"},
			{Path: "d", After: FileState{Exists: true, Dir: true, Mode: 0o755}},
		},
		Asked: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Expires: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		Rules:  []Rule{{Verdict: Allow, Tool: "deploy", Capability: Capability{"http.post", "a.example:8080"}}, {Verdict: Allow, Capability: Capability{"tool", "deploy"}}},
		NoRule: "a rule asks", Sources: []string{"http:a.example"}, Each: true, Form: value.NewDict("type", "object"),
	}
}

func TestQuestionReadsBack(t *testing.T) {
	full := fullQuestion()
	for v, i := reflect.ValueOf(full), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the test has no %s", v.Type().Field(i).Name)
		}
	}
	for _, q := range []Question{full, {}, {Kind: QuestionAsk, Args: &value.Dict{}}} {
		read, err := QuestionOf(q.Dict())
		if err != nil || !sameQuestion(read, q) {
			t.Errorf("from the dict: %+v, %v, want %+v", read, err, q)
		}
		data, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		read = Question{Tool: "before"}
		if err := json.Unmarshal(data, &read); err != nil || !sameQuestion(read, q) {
			t.Errorf("from %s: %+v, %v, want %+v", data, read, err, q)
		}
	}
}

func sameQuestion(a, b Question) bool {
	args := a.Args == nil && b.Args == nil || a.Args != nil && b.Args != nil && value.Equal(a.Args, b.Args)
	a.Args, b.Args = nil, nil
	return args && reflect.DeepEqual(a, b)
}

func TestQuestionJSON(t *testing.T) {
	got, err := json.Marshal(Question{ID: "r:1:1", Run: "r", Step: "1", Tool: "t", Text: "may\xff it?", Kind: QuestionConfirm,
		Args: value.NewDict("x", math.NaN(), "b", []byte("hi")), Asked: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	want := `{"id":"r:1:1","run":"r","step":"1","kind":"confirm","tool":"t","func":"","text":"may� it?","why":"","reasoning":"",` +
		`"args":{"x":"NaN","b":"aGk="},"capabilities":[],"changes":[],"asked":"2026-01-02T03:04:05Z","expires":null}`
	if err != nil || string(got) != want {
		t.Errorf("the JSON is\n%s, %v, want\n%s", got, err, want)
	}
	q := fullQuestion()
	for _, text := range []string{`[]`, `"x"`, `{"id":1}`, `{"args":[]}`, `{"capabilities":[1]}`, `{"changes":[1]}`, `{"changes":[{"before":{"mode":"x"}}]}`,
		`{"changes":[{"before":{"data":"?"}}]}`, `{"asked":"today"}`, `{"expires":1}`, `{`} {
		if err := q.UnmarshalJSON([]byte(text)); value.KindOf(err) != value.Invalid || err == nil {
			t.Errorf("%s gives %v, want that it is invalid", text, err)
		}
	}
	if err := q.UnmarshalJSON([]byte(`{"id":"x","later":{}}`)); err != nil || !sameQuestion(q, Question{ID: "x"}) {
		t.Errorf("a field of a later version gives %+v, %v", q, err)
	}
}

func TestAnswerJSON(t *testing.T) {
	for _, a := range []Answer{{}, {Yes: true, Always: true, Args: value.NewDict("n", 2), Why: "w", By: "ann"}, {Value: "a text"}, {Yes: true, Rules: fullQuestion().Rules}, {Yes: true, Each: true}} {
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var read Answer
		err = json.Unmarshal(data, &read)
		if err != nil || (read.Args == nil) != (a.Args == nil) || a.Args != nil && !value.Equal(read.Args, a.Args) {
			t.Errorf("from %s: %+v, %v, want %+v", data, read, err, a)
		}
		read.Args, a.Args = nil, nil
		if !reflect.DeepEqual(read, a) {
			t.Errorf("from %s: %+v, want %+v", data, read, a)
		}
	}
	if _, err := json.Marshal(Answer{Value: make(chan int)}); err == nil {
		t.Error("a channel has a JSON form")
	}
	var a Answer
	for _, text := range []string{`1`, `{"yes":1}`, `{"args":"x"}`, `{"why":{}}`} {
		if err := a.UnmarshalJSON([]byte(text)); value.KindOf(err) != value.Invalid || err == nil {
			t.Errorf("%s gives %v, want that it is invalid", text, err)
		}
	}
}

func TestAccepts(t *testing.T) {
	args := value.NewDict("n", 1)
	call, effect := Question{Kind: QuestionApproval}, Question{Kind: QuestionApproval, Func: "fs.read"}
	changes := Question{Kind: QuestionApproval, Changes: []Change{{Path: "a"}}}
	ruled := Question{Kind: QuestionApproval, Rules: []Rule{{Verdict: Allow, Tool: "de_ploy", Capability: Capability{"shell", "git"}}, {Verdict: Allow, Capability: Capability{"tool", "de_ploy"}}}}
	ask, confirm, unknown := Question{Kind: QuestionAsk}, Question{Kind: QuestionConfirm}, Question{Kind: QuestionUnknown, Func: "http.post"}
	for _, c := range []struct {
		name  string
		q     Question
		a     Answer
		yes   bool
		value value.Value
		wrong string // in the error
	}{
		{"a no", call, Answer{}, false, nil, ""},
		{"a yes", call, Answer{Yes: true, Always: true, Args: args}, true, nil, ""},
		{"a text for a yes", call, Answer{Value: "yes"}, false, nil, "expects yes or no"},
		{"a bool for an approval", call, Answer{Value: true}, false, nil, "expects yes or no"},
		{"an effect with other arguments", effect, Answer{Yes: true, Args: args}, false, nil, "the question is about fs.read"},
		{"changes with other arguments", changes, Answer{Yes: true, Args: args}, false, nil, "about changed files"},
		{"an effect", effect, Answer{Yes: true, Always: true}, true, nil, ""},
		{"a text", ask, Answer{Value: "x"}, false, "x", ""},
		{"an empty text", ask, Answer{Value: ""}, false, "", ""},
		{"no text", ask, Answer{}, false, nil, "expects a string"},
		{"a number", ask, Answer{Value: 1}, false, nil, "expects a string"},
		{"a text and yes", ask, Answer{Value: "x", Yes: true}, false, nil, "not yes or no"},
		{"a text with arguments", ask, Answer{Value: "x", Args: args}, false, nil, "does not ask for approval, but the answer has arguments or rules, or is permanent"},
		{"no value", ask, Answer{Value: make(chan int)}, false, nil, "the answer to"},
		{"a confirm by a bool", confirm, Answer{Value: true}, true, nil, ""},
		{"a confirm by false", confirm, Answer{Value: false}, false, nil, ""},
		{"both", confirm, Answer{Yes: true, Value: true}, true, nil, ""},
		{"a contradiction", confirm, Answer{Yes: true, Value: false}, false, nil, "expects yes or no"},
		{"a rule of the question", ruled, Answer{Yes: true, Rules: ruled.Rules[1:]}, true, nil, ""},
		{"a rule of the question, without a verdict", ruled, Answer{Yes: true, Rules: []Rule{{Tool: "de-ploy", Capability: Capability{"shell", "git"}}}}, true, nil, ""},
		{"a wider rule", ruled, Answer{Yes: true, Rules: []Rule{{Tool: "de_ploy", Capability: Capability{"shell", ""}}}}, false, nil, "does not answer the question"},
		{"a rule for any tool", ruled, Answer{Yes: true, Rules: []Rule{{Capability: Capability{"shell", "git"}}}}, false, nil, "does not answer the question"},
		{"a rule that denies", ruled, Answer{Yes: true, Rules: []Rule{{Verdict: Deny, Tool: "de_ploy", Capability: Capability{"shell", "git"}}}}, false, nil, "does not answer the question"},
		{"a no with a rule", ruled, Answer{Rules: ruled.Rules}, false, nil, "is no, but has Rules"},
		{"each effect", Question{Kind: QuestionApproval, Each: true}, Answer{Yes: true, Each: true, Args: args}, true, nil, ""},
		{"each effect of an effect", effect, Answer{Yes: true, Each: true}, false, nil, "Answer.Each does not answer"},
		{"each effect, always", Question{Kind: QuestionApproval, Each: true}, Answer{Yes: true, Each: true, Always: true}, false, nil, "Answer.Each does not answer"},
		{"an ask with a rule", ask, Answer{Value: "x", Rules: ruled.Rules}, false, nil, "does not ask for approval"},
		{"an unknown", unknown, Answer{Yes: true}, true, nil, ""},
		{"done", unknown, Answer{Done: true}, false, nil, ""},
		{"done, with a result", unknown, Answer{Done: true, Value: 5}, false, int64(5), ""},
		{"done, with a bool", unknown, Answer{Done: true, Value: true}, false, true, ""},
		{"done, and yes", unknown, Answer{Done: true, Yes: true}, false, nil, "is not one to the question"},
		{"done, without a value", unknown, Answer{Done: true, Value: make(chan int)}, false, nil, "the answer to"},
		{"done, of files", Question{Kind: QuestionUnknown, Changes: changes.Changes}, Answer{Done: true}, false, nil, "is not one to the question"},
		{"done, of a confirm", confirm, Answer{Done: true}, false, nil, "is not one to the question"},
		{"done, of an approval", effect, Answer{Done: true}, false, nil, "is not one to the question"},
		{"done, of a text", ask, Answer{Done: true, Value: "x"}, false, nil, "is not one to the question"},
		{"an unknown, always", unknown, Answer{Yes: true, Always: true}, false, nil, "does not ask for approval, but the answer has arguments or rules, or is permanent"},
	} {
		got, err := c.q.Accepts(c.a)
		if c.wrong != "" {
			if err == nil || value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
			}
			continue
		}
		if err != nil || got.Yes != c.yes || got.Value != c.value || slices.ContainsFunc(got.Rules, func(r Rule) bool { return r.Verdict != Allow }) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// TestFormOfAction checks that the response to a form stays the same if its fields are named as those
// of a response.
func TestFormOfAction(t *testing.T) {
	text := value.NewDict("type", "string")
	q := Question{Kind: QuestionAsk, Text: "?", Form: value.NewDict("properties", value.NewDict("action", text, "content", text))}
	for _, tt := range []struct {
		a    Answer
		want string
	}{
		{Answer{}, `{"action":"decline","content":{}}`},
		{Answer{Yes: true}, `{"action":"accept","content":{}}`},
		{Answer{Value: `{"action":"cancel","content":{}}`}, `{"action":"cancel","content":{}}`},
		{Answer{Value: `{"action":"accept","content":{"action":"decline"}}`}, `{"action":"accept","content":{"action":"decline"}}`},
		{Answer{Value: `{"action":"decline"}`}, `{"action":"accept","content":{"action":"decline"}}`},
		{Answer{Value: `{"action":"decline","content":"x"}`}, `{"action":"accept","content":{"action":"decline","content":"x"}}`},
		{Answer{Value: "action=cancel\ncontent={}"}, `{"action":"accept","content":{"action":"cancel","content":"{}"}}`},
	} {
		for range 2 { // as it is recorded
			a, err := q.Accepts(tt.a)
			if err != nil || a.Value != tt.want {
				t.Errorf("Accepts(%+v) = %+v, %v, want %s", tt.a, a, err, tt.want)
			}
			tt.a = a
		}
	}
}

// TestFormAnswers checks that the answer to a form is checked, and is recorded as the response.
func TestFormAnswers(t *testing.T) {
	form := &value.Dict{}
	if err := form.UnmarshalJSON([]byte(`{"required":["n"],"properties":{"n":{"type":"integer","default":1},"s":{"type":"string"}}}`)); err != nil {
		t.Fatal(err)
	}
	q := Question{Kind: QuestionAsk, Text: "?", Form: form}
	for _, tt := range []struct {
		a    Answer
		want string // "" is an error
	}{
		{Answer{}, `{"action":"decline","content":{}}`},
		{Answer{Yes: true}, `{"action":"accept","content":{"n":1}}`},
		{Answer{Value: "n=2\ns=x"}, `{"action":"accept","content":{"n":2,"s":"x"}}`},
		{Answer{Value: value.NewDict("s", "x")}, `{"action":"accept","content":{"n":1,"s":"x"}}`},
		{Answer{Value: map[string]any{"n": 3}}, `{"action":"accept","content":{"n":3}}`},
		{Answer{Value: `{"action":"cancel"}`}, `{"action":"cancel","content":{}}`},
		{Answer{Value: "n=x"}, ""},
		{Answer{Value: true}, ""},
		{Answer{Yes: true, Always: true}, ""},
		{Answer{Yes: true, Args: &value.Dict{}}, ""},
	} {
		a, err := q.Accepts(tt.a)
		if tt.want == "" && value.KindOf(err) != value.Invalid || tt.want != "" && (err != nil || a.Value != tt.want || a.Yes) {
			t.Errorf("Accepts(%+v) = %+v, %v, want %s", tt.a, a, err, tt.want)
		}
		again, err := q.Accepts(a)
		if tt.want != "" && (err != nil || again.Value != a.Value) {
			t.Errorf("Accepts(%+v) = %+v, %v, want the same", a, again, err)
		}
	}
}
