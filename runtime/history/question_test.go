package history

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// asked asks a question at a step and returns its number.
func asked(t *testing.T, r Record, at string, q Asked) int {
	t.Helper()
	q.StepPath = place(at)
	recorded, err := r.Ask(context.Background(), q)
	check(t, err)
	return recorded.N
}

// openIDs returns the IDs of the open questions of a run, with their answers.
func openIDs(t *testing.T, j *Journal, run string) (ids []string) {
	t.Helper()
	open, err := j.Questions(context.Background(), run)
	check(t, err)
	for _, q := range open {
		text := q.ID
		if q.Answer != nil {
			text += fmt.Sprint(" ", q.Answer.Yes)
		}
		ids = append(ids, text)
	}
	return ids
}

func sameTexts(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, ", "), strings.Join(got, ", ")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestQuestions parks a run on several questions, answers them from another
// process, and continues in a third one.
func TestQuestions(t *testing.T) { eachStore(t, testQuestions) }

func testQuestions(t *testing.T, s storage) {
	ctx, other := context.Background(), s.open()
	l := begin(t, s.open(), "r")
	check(t, l.Intend(ctx, Intent{StepPath: place("2"), Func: "human.confirm", Kind: tool.External}))
	confirm := Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Delete it?"}, Data: value.NewDict("diff", "-a")}
	approve := Asked{Question: tool.Question{Kind: tool.QuestionApproval, Text: "may it?"}, Data: value.NewDict("tool", "t")}
	asked(t, l, "10", Asked{Question: tool.Question{Kind: tool.QuestionAsk, Text: "which?"}})
	asked(t, l, "2", confirm)
	asked(t, l, "3.1", approve)
	asked(t, l, "4", Asked{Question: tool.Question{Kind: tool.QuestionUnknown, Text: "again?"}})
	if a, err := l.Answer(ctx, place("2"), 1); a != nil || err != nil {
		t.Errorf("an answer before anybody answered: %v, %v", a, err)
	}
	sameTexts(t, "asked", openIDs(t, other, "r"), "r:2:1", "r:3.1:1", "r:4:1", "r:10:1")
	check(t, other.Answer(ctx, "r", place("2"), 1, tool.Answer{Yes: false, By: "ann"})) // while it is held
	check(t, l.Park(ctx, "question", time.Time{}))

	given := tool.Answer{Yes: true, Always: true, Args: value.NewDict("n", 2, "b", []byte{0xff}), Why: "not so many", By: "bob"}
	check(t, other.Answer(ctx, "r", place("3.1"), 1, given))
	check(t, other.Answer(ctx, "r", place("10"), 1, tool.Answer{Value: "the first"}))
	check(t, other.Answer(ctx, "r", place("2"), 1, tool.Answer{Yes: true, Why: "after all"})) // corrected
	sameTexts(t, "answered", openIDs(t, other, "r"), "r:2:1 true", "r:3.1:1 true", "r:4:1", "r:10:1 false")

	l = resume(t, s.open(), "r")
	for _, c := range []struct {
		at   string
		want tool.Answer
	}{{"2", tool.Answer{Yes: true, Why: "after all"}}, {"3.1", given}, {"10", tool.Answer{Value: "the first"}}} {
		a, err := l.Answer(ctx, place(c.at), 1)
		check(t, err)
		checkAnswer(t, a, c.want)
		fails(t, "a correction after the answer was used", other.Answer(ctx, "r", place(c.at), 1, tool.Answer{Value: c.want.Value}), value.Conflict, "used")
	}
	if a, err := l.Answer(ctx, place("4"), 1); a != nil || err != nil {
		t.Errorf("the answer that nobody gave is %v, %v", a, err)
	}
	check(t, l.Close())
	sameTexts(t, "used", openIDs(t, other, "r"), "r:4:1")

	l = resume(t, other, "r")
	e, _, err := l.Recorded(place("3.1"))
	check(t, err)
	q := e.Questions[0]
	if q.Text != "may it?" || q.Kind != tool.QuestionApproval || q.Data.Text("tool") != "t" || q.Asked.IsZero() || q.N != 1 || q.Spent || len(e.Questions) != 1 {
		t.Errorf("the recorded question is %+v", q)
	}
	checkAnswer(t, q.Answer, given)
	fails(t, "an answer to a used question", other.Answer(ctx, "r", place("3.1"), 1, given), value.Conflict, "used")
	check(t, l.End(ctx, "final", tool.Outcome{}, nil))
	if open := openIDs(t, other, "r"); open != nil {
		t.Errorf("of a run that has ended, %v is open", open)
	}
	fails(t, "an answer to a run that has ended", other.Answer(ctx, "r", place("4"), 1, tool.Answer{}), value.NotFound, "")
}

// checkAnswer compares an answer with the one that was given.
func checkAnswer(t *testing.T, a *Answered, want tool.Answer) {
	t.Helper()
	if a == nil || a.Yes != want.Yes || a.Always != want.Always || a.Why != want.Why || a.By != want.By || a.At.IsZero() ||
		!value.Equal(a.Value, want.Value) || (a.Args == nil) != (want.Args == nil) || !value.Equal(a.Args.OrEmpty(), want.Args.OrEmpty()) {
		t.Errorf("the answer is %+v, want %+v", a, want)
	}
}

func TestWrongAnswers(t *testing.T) { eachStore(t, testWrongAnswers) }

func testWrongAnswers(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	l := begin(t, j, "r")
	at := map[tool.QuestionKind]string{tool.QuestionApproval: "1", tool.QuestionConfirm: "2", tool.QuestionAsk: "3", tool.QuestionUnknown: "4"}
	for kind, at := range at {
		asked(t, l, at, Asked{Question: tool.Question{Kind: kind, Text: "?"}})
	}
	args := value.NewDict("a", 1)
	for _, c := range []struct {
		run, at string
		n       int
		answer  tool.Answer
		want    value.Kind
	}{
		{"none", "1", 1, tool.Answer{}, value.NotFound},
		{"r", "9", 1, tool.Answer{}, value.NotFound},
		{"r", "", 1, tool.Answer{}, value.NotFound},
		{"r", "1", 0, tool.Answer{}, value.NotFound},
		{"r", "1", 2, tool.Answer{}, value.NotFound},
		{"r", "1", -1, tool.Answer{}, value.NotFound},
		{"r", "1", 1, tool.Answer{Value: "yes"}, value.Invalid},
		{"r", "1", 1, tool.Answer{Args: value.NewDict("x", "\xff")}, value.Invalid},
		{"r", "2", 1, tool.Answer{Value: "yes"}, value.Invalid},
		{"r", "2", 1, tool.Answer{Yes: true, Value: false}, value.Invalid},
		{"r", "1", 1, tool.Answer{Value: true}, value.Invalid},
		{"r", "1", 1, tool.Answer{Value: make(chan int)}, value.Invalid},
		{"r", "2", 1, tool.Answer{Yes: true, Args: args}, value.Invalid},
		{"r", "2", 1, tool.Answer{Yes: true, Always: true}, value.Invalid},
		{"r", "3", 1, tool.Answer{Yes: true}, value.Invalid},
		{"r", "3", 1, tool.Answer{Yes: true, Value: "x"}, value.Invalid},
		{"r", "3", 1, tool.Answer{Value: int64(1)}, value.Invalid},
		{"r", "3", 1, tool.Answer{Value: "x", Args: args}, value.Invalid},
		{"r", "3", 1, tool.Answer{Value: "x\xff"}, value.Invalid},
		{"r", "3", 1, tool.Answer{Value: strings.Repeat("x", inlineMost+1)}, value.Limit},
		{"r", "4", 1, tool.Answer{Always: true}, value.Invalid},
	} {
		fails(t, fmt.Sprintf("Answer(%s, %q, %d, %+.40v)", c.run, c.at, c.n, c.answer), j.Answer(ctx, c.run, place(c.at), c.n, c.answer), c.want, "")
	}
	sameTexts(t, "after wrong answers", openIDs(t, j, "r"), "r:1:1", "r:2:1", "r:3:1", "r:4:1")
	if st, err := j.store.Load(ctx, l.num.Load()); len(st.Inbox) != 0 || err != nil {
		t.Errorf("the inbox has %d messages, %v", len(st.Inbox), err)
	}
}

// TestAskedAgain checks which question a later process asks: the same one if it is
// unchanged and open.
func TestAskedAgain(t *testing.T) { eachStore(t, testAskedAgain) }

func testAskedAgain(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	q := Asked{Question: tool.Question{Kind: tool.QuestionApproval, Text: "may it change a\xff?"}, Data: value.NewDict("a", 1)}
	number := func(l *Log, want int, q Asked) {
		t.Helper()
		if n := asked(t, l, "1", q); n != want {
			t.Errorf("the question has the number %d, want %d", n, want)
		}
	}
	l := begin(t, j, "r")
	number(l, 1, q)
	check(t, l.Park(ctx, "approval", time.Time{}))
	l = resume(t, j, "r")
	number(l, 1, q)
	check(t, l.Park(ctx, "approval", time.Time{}))

	l = resume(t, j, "r")
	changed := q
	changed.Data = value.NewDict("a", 2)
	number(l, 2, changed)
	number(l, 3, q) // it was replaced meanwhile
	check(t, l.Close())
	sameTexts(t, "open", openIDs(t, j, "r"), "r:1:3")
	for n := range 2 {
		fails(t, "an answer to a question that was replaced", j.Answer(ctx, "r", place("1"), n+1, tool.Answer{Yes: true}), value.Conflict, "replaced")
	}
	check(t, j.Answer(ctx, "r", place("1"), 3, tool.Answer{Yes: true}))

	l = resume(t, j, "r")
	a, err := l.Answer(ctx, place("1"), 3)
	check(t, err)
	checkAnswer(t, a, tool.Answer{Yes: true})
	again, err := l.Answer(ctx, place("1"), 3)
	check(t, err)
	checkAnswer(t, again, tool.Answer{Yes: true})
	check(t, l.Close())
	l = resume(t, j, "r")
	for i, other := range []Asked{q, {Question: tool.Question{Kind: tool.QuestionConfirm, Text: q.Text}, Data: q.Data}, {Question: tool.Question{Kind: q.Kind, Text: "another"}}} {
		number(l, 4+i, other) // the last one is answered
	}
	check(t, l.Close())
}

// TestAskedTogether asks many questions at one step in parallel: each has its
// own number.
func TestAskedTogether(t *testing.T) { eachStore(t, testAskedTogether) }

func testAskedTogether(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	l := begin(t, j, "r")
	numbers := make([]int, 20)
	var wg sync.WaitGroup
	for i := range numbers {
		wg.Go(func() {
			q, err := l.Ask(ctx, Asked{StepPath: place("1"), Question: tool.Question{Kind: tool.QuestionConfirm, Text: fmt.Sprint(i)}})
			if err != nil {
				t.Error(err)
			}
			numbers[i] = q.N
		})
	}
	wg.Wait()
	for e, err := range j.Entries(ctx, "r") {
		check(t, err)
		for _, q := range e.Questions {
			if i, _ := strconv.Atoi(q.Text); numbers[i] != q.N {
				t.Errorf("question %d has the number %d, and %d was returned", i, q.N, numbers[i])
			}
		}
		if len(e.Questions) != len(numbers) {
			t.Errorf("%d questions are recorded", len(e.Questions))
		}
	}
}

// TestLateAnswer uses the answer to a question that was replaced by another.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), openOn(t, journal.Memory())
	l := begin(t, j, "r")
	asked(t, l, "1", Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "one?"}})
	check(t, j.Answer(ctx, "r", place("1"), 1, tool.Answer{Yes: true}))
	asked(t, l, "1", Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "two?"}})
	a, err := l.Answer(ctx, place("1"), 1)
	check(t, err)
	checkAnswer(t, a, tool.Answer{Yes: true})
	check(t, l.Park(ctx, "", time.Time{}))
	sameTexts(t, "open", openIDs(t, j, "r"), "r:1:2")
	if due, err := dueRuns(j, now()); len(due) != 0 || err != nil {
		t.Errorf("due are %v, %v", due, err)
	}
}

// TestSpent checks that an answer is valid for one try of an effect.
func TestSpent(t *testing.T) { eachStore(t, testSpent) }

func testSpent(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	intend := func(l *Log) {
		t.Helper()
		check(t, l.Intend(ctx, Intent{StepPath: place("1"), Func: "http.post", Kind: tool.External}))
	}
	spent := func(want ...bool) {
		t.Helper()
		for e, err := range j.Entries(ctx, "r") {
			check(t, err)
			for i, q := range e.Questions {
				if q.Spent != want[i] {
					t.Errorf("question %d is spent: %v, want %v", q.N, q.Spent, want[i])
				}
			}
		}
	}
	l := begin(t, j, "r")
	intend(l)
	check(t, l.Close()) // it was interrupted
	l = resume(t, j, "r")
	asked(t, l, "1", Asked{Question: tool.Question{Kind: tool.QuestionUnknown, Text: "again?"}})
	check(t, j.Answer(ctx, "r", place("1"), 1, tool.Answer{Yes: true}))
	check(t, second(l.Answer(ctx, place("1"), 1)))
	spent(false)
	intend(l)
	check(t, l.Close())
	spent(true)
	l = resume(t, j, "r")
	if n := asked(t, l, "1", Asked{Question: tool.Question{Kind: tool.QuestionUnknown, Text: "again?"}}); n != 2 {
		t.Errorf("the second question has the number %d", n)
	}
	check(t, l.Close())
	spent(true, false)
}

// TestAnsweredHere records questions that were answered in the same process.
func TestAnsweredHere(t *testing.T) { eachStore(t, testAnsweredHere) }

func testAnsweredHere(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	l := begin(t, j, "r")
	given := tool.Answer{Yes: true, Args: value.NewDict("a", 1), Why: "why", By: "ann"}
	check(t, l.Answered(ctx, Asked{StepPath: place("1"), Question: tool.Question{Kind: tool.QuestionApproval, Text: "one?"}}, given))
	check(t, l.Answered(ctx, Asked{StepPath: place("1"), Question: tool.Question{Kind: tool.QuestionApproval, Text: "two?"}}, tool.Answer{}))
	if open := openIDs(t, j, "r"); open != nil {
		t.Errorf("open are %v", open)
	}
	fails(t, "an answer to it", j.Answer(ctx, "r", place("1"), 1, given), value.Conflict, "")
	check(t, l.Close())
	e, _, err := resume(t, j, "r").Recorded(place("1"))
	check(t, err)
	if len(e.Questions) != 2 || e.Questions[1].N != 2 {
		t.Fatalf("the entry is %+v", e)
	}
	checkAnswer(t, e.Questions[0].Answer, given)
	checkAnswer(t, e.Questions[1].Answer, tool.Answer{})
}

// TestAnswerOfAClosedLog checks that a closed log does not use an answer.
func TestAnswerOfAClosedLog(t *testing.T) { eachStore(t, testAnswerOfAClosedLog) }

func testAnswerOfAClosedLog(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	l := begin(t, j, "r")
	q := Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "?"}}
	asked(t, l, "1", q)
	check(t, j.Answer(ctx, "r", place("1"), 1, tool.Answer{}))
	check(t, l.Park(ctx, "", time.Time{}))
	reader, err := j.Read(ctx, "r")
	check(t, err)
	q.StepPath = place("1")
	for _, l := range []*Log{l, reader} {
		fails(t, "Answer", second(l.Answer(ctx, place("1"), 1)), value.Internal, "")
		fails(t, "Ask", second(l.Ask(ctx, q)), value.Internal, "")
	}
	check(t, j.Answer(ctx, "r", place("1"), 1, tool.Answer{Yes: true})) // it can still be corrected
	l = resume(t, j, "r")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	fails(t, "Answer in an ended context", second(l.Answer(ended, place("1"), 1)), value.Canceled, "")
	check(t, j.Answer(ctx, "r", place("1"), 1, tool.Answer{Yes: false, Why: "no"}))
	a, err := l.Answer(ctx, place("1"), 1)
	check(t, err)
	checkAnswer(t, a, tool.Answer{Why: "no"})
}

func TestQuestionID(t *testing.T) {
	t.Parallel()
	for _, want := range []struct {
		run, at string
		n       int
	}{{"r", "", 1}, {"20260102-150405-abcdefghij", "3.1", 12}, {"a_b-C", "0", 1}} {
		id := questionID(want.run, place(want.at), want.n)
		run, at, n, err := ParseQuestionID(id)
		if run != want.run || at.String() != want.at || n != want.n || err != nil {
			t.Errorf("ParseQuestionID(%q) = %s, %s, %d, %v", id, run, at, n, err)
		}
	}
	for _, id := range []string{"", "r", "r:1", "r:1:0", "r:1:-1", "r:1:x", "r:1:", "r:x:1", "r:01:1", ":1:1", "-r:1:1", "r:1:1:1", "a b:1:1", "r:1:01", "r:1:+1"} {
		fails(t, id, second3(ParseQuestionID(id)), value.Invalid, "")
	}
}

func second3(_ string, _ tool.StepPath, _ int, err error) error { return err }

// TestSentAnswers checks that an open question says how many answers were sent to it.
func TestSentAnswers(t *testing.T) { eachStore(t, testSentAnswers) }

func testSentAnswers(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	l := begin(t, j, "r")
	asked(t, l, "1", Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "?"}})
	asked(t, l, "2", Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "?"}})
	for n := range 3 {
		open, err := j.Questions(ctx, "r")
		check(t, err)
		if len(open) != 2 || open[0].Sent != n || open[1].Sent != 0 {
			t.Fatalf("after %d answers the questions are %+v", n, open)
		}
		check(t, j.Answer(ctx, "r", place("1"), 1, tool.Answer{Yes: n == 0}))
	}
}

// TestQuestionsOfList checks that the questions of a listed run are read at once, and that they are those of the run.
func TestQuestionsOfList(t *testing.T) {
	t.Parallel()
	ctx, found, loaded := context.Background(), 0, 0
	j := openOn(t, &faultStore{Store: journal.Memory(), row: func(*journal.Row) { found++ }, stored: func(*journal.Stored) { loaded++ }})
	l := begin(t, j, "r")
	asked(t, l, "1", Asked{Question: tool.Question{Kind: tool.QuestionAsk, Text: "which?"}})
	check(t, l.Park(ctx, "question", time.Time{}))
	list, err := runs(j, Filter{})
	check(t, err)
	found, loaded = 0, 0
	open, err := j.QuestionsOf(ctx, &list[0])
	check(t, err)
	if found != 0 || loaded != 1 {
		t.Errorf("the run was found %d times and loaded %d times", found, loaded)
	}
	again, err := j.QuestionsOf(ctx, &Run{ID: "r"})
	check(t, err)
	if len(open) != 1 || len(again) != 1 || open[0].Text != "which?" || again[0].ID != open[0].ID {
		t.Errorf("the questions are %v and %v", open, again)
	}
}
