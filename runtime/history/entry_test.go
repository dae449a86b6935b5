package history

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestEffectKinds checks that each kind is read back as recorded, with the same number
// as in the first version.
func TestEffectKinds(t *testing.T) {
	t.Parallel()
	codes := map[tool.EffectKind]int64{tool.Pure: 1, tool.Recorded: 2, tool.Read: 3, tool.Write: 4, tool.External: 5, tool.Repeatable: 6, tool.Notice: 7}
	if len(codes) != int(tool.LastEffectKind) {
		t.Errorf("%d kinds have a number, want %d", len(codes), tool.LastEffectKind)
	}
	eachStore(t, func(t *testing.T, s storage) {
		j := s.open()
		l := begin(t, j, "r")
		for kind, code := range codes {
			if int64(kind) != code {
				t.Errorf("the number of %s is %d, want %d", kind, kind, code)
			}
			did(t, l, tool.StepPath{int(kind)}, kind, "x")
		}
		check(t, l.End(context.Background(), "", tool.Outcome{}, nil))
		for e, err := range j.Entries(context.Background(), "r") {
			if err != nil || e.Kind != tool.EffectKind(e.StepPath[0]) {
				t.Errorf("step %s is of kind %s, %v, want %s", e.StepPath, e.Kind, err, tool.EffectKind(e.StepPath[0]))
			}
		}
	})
}

// someValues returns a value of each type, small ones and ones that are stored
// as blobs.
func someValues(t testing.TB) []value.Value {
	huge, _ := new(big.Int).SetString(strings.Repeat("9", 40), 10)
	dict := value.NewDict("b", 1, "a", 2.0)
	check(t, dict.Set(value.Tuple{int64(1), "x"}, nil))
	return []value.Value{nil, true, int64(math.MinInt64), huge, 1.0, math.Inf(-1), "ü", []byte{0, 255}, value.List{}, value.Tuple{int64(1), 1.0},
		value.Set{"b", "a"}, dict, strings.Repeat("large", 20_000), value.List{bytes.Repeat([]byte{1}, 100_000), "and more"}}
}

// TestValues records each type of value, and reads it through another journal.
func TestValues(t *testing.T) { eachStore(t, testValues) }

func testValues(t *testing.T, s storage) {
	ctx, values := context.Background(), someValues(t)
	usage := tool.Usage{Steps: 5, Effects: 1, Wall: time.Second}
	long := strings.Repeat("long", 20_000)
	l, err := s.open().Begin(ctx, Run{Kind: "task", Project: "/p", Parent: "a", ForkedFrom: "b", Args: value.NewDict("goal", long), Options: value.NewDict("model", "script:x")}, script())
	check(t, err)
	for i, v := range values {
		p := tool.StepPath{i + 1}
		check(t, l.Intend(ctx, Intent{StepPath: p, Func: "f", Args: value.NewDict("v", v), Kind: tool.External, Change: value.NewDict("v", v)}))
		undo := &tool.Effect{Func: "u", Args: value.NewDict("v", v), StepPath: p.Child(2)}
		check(t, l.Settle(ctx, p, tool.Outcome{Value: v, Undo: undo, Usage: usage}, nil))
	}
	begun := l.Run()
	check(t, l.Close())

	l = resume(t, s.open(), begun.ID)
	if diff := cmp.Diff(begun, l.Run(), cmpopts.IgnoreUnexported(Run{}), cmp.Comparer(func(a, b *value.Dict) bool { return value.Equal(a, b) })); diff != "" {
		t.Errorf("the run (-begun +resumed):\n%s", diff)
	}
	want := script()
	want.Hash = want.Sum()
	if diff := cmp.Diff(want, l.Script()); diff != "" || begun.Script != want.Hash {
		t.Errorf("the script (-want +got):\n%s", diff)
	}
	for i, v := range values {
		p := tool.StepPath{i + 1}
		e, ok, err := l.Recorded(p)
		if err != nil || !ok {
			t.Fatalf("Recorded(%s) = %v, %v", p, ok, err)
		}
		if !value.Equal(e.Outcome.Value, v) {
			t.Errorf("the outcome of %s is %v, want %v", p, e.Outcome.Value, v)
		}
		for what, d := range map[string]*value.Dict{"argument": e.Args, "change": e.Change, "undo": e.Outcome.Undo.Args} {
			if got, _ := d.Get("v"); !value.Equal(got, v) {
				t.Errorf("%s %s = %v, want %v", what, p, got, v)
			}
		}
		if e.Func != "f" || e.Kind != tool.External || e.Outcome.Undo.Func != "u" || e.Outcome.Undo.StepPath.String() != p.Child(2).String() ||
			e.Key != begun.Nonce+"/"+p.String() || e.Key != l.Key(p) || e.Outcome.Usage != usage || e.Unknown() {
			t.Errorf("entry %s = %+v", p, e)
		}
	}
}

func TestErrorsAreKeptInFull(t *testing.T) { eachStore(t, testErrorsAreKeptInFull) }

func testErrorsAreKeptInFull(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	l := begin(t, j, "r")
	full := &value.Error{Kind: value.Command, Op: "shell.run", Err: errors.New("exit 3"), Hint: "look", Limit: "wall",
		Pos: value.Position{File: "a.star", Line: 3, Col: 4}, Trace: []string{"a.star:1:1: in main", "a.star:3:4: in f"}}
	for i, err := range []error{full, errors.New("plain"), context.Canceled, &value.Error{Err: errors.New("not \xff UTF-8")}, &value.Error{Kind: value.LastKind}} {
		p := tool.StepPath{i + 1}
		check(t, l.Intend(ctx, Intent{StepPath: p, Func: "f", Kind: tool.Read}))
		check(t, l.Settle(ctx, p, tool.Outcome{Usage: tool.Usage{Steps: 7}}, err))
	}
	check(t, l.End(ctx, "error", tool.Outcome{Usage: tool.Usage{Effects: 3}}, full))
	var got []*value.Error
	for e, err := range j.Entries(ctx, "r") {
		check(t, err)
		if e.Outcome.Usage != (tool.Usage{Steps: 7}) {
			t.Errorf("usage = %+v", e.Outcome.Usage)
		}
		got = append(got, e.Err)
	}
	texts := cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })
	want := []*value.Error{full, {Kind: value.Failed, Err: errors.New("plain")}, {Kind: value.Canceled, Err: context.Canceled},
		{Err: errors.New("not \ufffd UTF-8")}, {Kind: value.LastKind, Err: errors.New("")}}
	for i := range want {
		if diff := cmp.Diff(*want[i], *got[i], cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Err" }, texts)); diff != "" {
			t.Errorf("error %d (-want +got):\n%s", i, diff)
		}
	}
	if r := one(t, j, "r"); r.State != Failed || r.Reason != "error" || r.Err.Error() != full.Error() || r.Ended.IsZero() || r.Usage.Effects != 3 {
		t.Errorf("the run is %+v", r)
	}
}

func TestStepsAreInOrder(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s storage) {
		j := s.open()
		l := begin(t, j, "r")
		for _, p := range []string{"10", "2", "3.1.2", "3.1", "3.10", "3.0", "", "3", "3.2", "0", "2147483647"} {
			did(t, l, place(p), tool.Read, p)
			check(t, l.Note(context.Background(), place(p), value.NewDict("at", p)))
		}
		want := []string{"", "0", "2", "3", "3.0", "3.1", "3.1.2", "3.2", "3.10", "10", "2147483647"}
		var got, noted []string
		for e, err := range j.Entries(context.Background(), "r") {
			check(t, err)
			got = append(got, e.StepPath.String())
		}
		check(t, l.Close())
		for n, err := range resume(t, j, "r").Notes() {
			check(t, err)
			noted = append(noted, n.Text("at"))
		}
		if diff := cmp.Diff([][]string{want, want}, [][]string{got, noted}); diff != "" {
			t.Errorf("entries and notes (-want +got):\n%s", diff)
		}
	})
}

func TestMatches(t *testing.T) {
	t.Parallel()
	args := value.NewDict("path", "a", "n", 1)
	e := Entry{Intent: Intent{StepPath: place("3.1"), Func: "fs.read", Args: args, Kind: tool.Read}, Intended: time.Now()}
	if !e.Unknown() {
		t.Error("an intent without an outcome is not unknown")
	}
	for _, c := range []struct {
		got  tool.Effect
		want string
	}{
		{tool.Effect{Func: "fs.read", Args: args}, ""},
		{tool.Effect{Func: "fs.read", Args: value.NewDict("path", "a", "n", 1.0)}, `step 3.1 differs from the record: recorded fs.read({"path":"a","n":1}), got fs.read({"path":"a","n":1.0})`},
		{tool.Effect{Func: "fs.read", Args: value.NewDict("n", 1, "path", "a")}, "step 3.1"},
		{tool.Effect{Func: "fs.read"}, "got fs.read({})"},
		{tool.Effect{Func: "fs.stat", Args: args}, "got fs.stat("},
	} {
		c.got.StepPath = place("3.1")
		if err := e.Matches(c.got); err != nil || c.want != "" {
			fails(t, "Matches", err, value.Conflict, c.want)
		}
	}
	if err := (&Entry{}).Matches(tool.Effect{Func: "f"}); err != nil {
		t.Errorf("an entry without an intent does not match: %v", err)
	}
}

func TestParseStepPath(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "0", "1", "3.1", "10.0.2147483647"} {
		if p, err := ParseStepPath(text); err != nil || p.String() != text {
			t.Errorf("ParseStepPath(%q) = %v, %v", text, p, err)
		}
	}
	for _, text := range []string{".", "1.", ".1", "01", "00", "-1", "+1", "1..2", "x", "1.x", "2147483648", " 1", "1,2"} {
		fails(t, text, second(ParseStepPath(text)), value.Invalid, "")
	}
}

// TestMatchesANewParameter checks that an effect is the recorded one although its function has
// got another parameter since, as long as that has its default.
func TestMatchesANewParameter(t *testing.T) {
	t.Parallel()
	f := &tool.Func{Params: []tool.Param{tool.Required("path", tool.TypeString, ""), tool.Optional("limit", tool.TypeInteger, nil, ""), tool.Optional("hidden", tool.TypeBoolean, true, "")}}
	e := Entry{Intent: Intent{Func: "fs.list", Args: value.NewDict("path", "a")}, Intended: time.Now()}
	for _, tt := range []struct {
		args *value.Dict
		ok   bool
	}{
		{value.NewDict("path", "a"), true},
		{value.NewDict("path", "a", "limit", nil, "hidden", true), true},
		{value.NewDict("path", "a", "limit", nil, "hidden", false), false},
		{value.NewDict("path", "b", "limit", nil, "hidden", true), false},
		{value.NewDict("path", "a", "other", nil), false},
	} {
		if err := e.matches(tool.Effect{Func: "fs.list", Args: tt.args}, f); (err == nil) != tt.ok {
			t.Errorf("matches(%s) = %v, want %v", tt.args, err, tt.ok)
		}
	}
}

// TestKeysAreOfOneRun begins runs of one ID again, after it was deleted, in another journal
// and for another tenant: a server that honours idempotency keys must not take one for the
// other. A resumed run keeps its keys.
func TestKeysAreOfOneRun(t *testing.T) {
	t.Parallel()
	ctx, at, seen := context.Background(), place("1.2"), map[string]string{}
	first, second := openOn(t, journal.Memory()), openOn(t, journal.Memory())
	for name, j := range map[string]*Journal{"first": first, "another home": second, "another tenant": first.Tenant("t")} {
		for _, again := range []string{"", " again"} {
			l := begin(t, j, "r")
			key := l.Key(at)
			if other, taken := seen[key]; taken {
				t.Errorf("%s%s has the key of %s: %s", name, again, other, key)
			}
			seen[key] = name + again
			check(t, l.Close())
			resumed, err := j.Resume(ctx, "r")
			check(t, err)
			if got := resumed.Key(at); got != key {
				t.Errorf("%s%s: the resumed run has the key %s, want %s", name, again, got, key)
			}
			check(t, resumed.End(ctx, "final", tool.Outcome{}, nil))
			check(t, j.Delete(ctx, "r"))
		}
	}
}
