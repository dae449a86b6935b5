package table

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestConcatAgreesWithPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u, v := drawTable(t, "first"), drawTable(t, "second")
		order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, "order")
		w, err := v.only(context.Background(), order)
		if err != nil {
			t.Fatal(err)
		}
		withKinds(w)
		want := slices.Concat(records(t, u), records(t, v), records(t, u))
		both(t, u, u.names, u.types, want, "concat", value.List{w, u})
		both(t, u, u.names, u.types, want, "concat", streamed(w, 2, false), u)
		for form, f := range forms(u) {
			made := tableBy(t, f, "concat", v)
			if streams := made.held == nil; streams != (f.held == nil) {
				t.Errorf("%s: concat returns a stream: %v", form, streams)
			}
		}
	})
}

func TestConcatJoinsTypes(t *testing.T) {
	t.Parallel()
	a := heldTable("n", columnFrom(Integer, int64(1), nil), "d", columnFrom(Date, "2024-02-29", nil), "x", columnFrom(Text, "a", "b"))
	b := heldTable("d", columnFrom(Text, "soon"), "n", columnFrom(Float, 2.5), "y", columnFrom(Bool, true))
	names, types := []string{"n", "d", "x", "y"}, []Type{Float, Any, Text, Bool}
	want := [][]value.Value{{1.0, "2024-02-29", "a", nil}, {nil, nil, "b", nil}, {2.5, "soon", nil, true}}
	for _, v := range forms(b) {
		both(t, a, names, types, want, "concat", v, named{"fill": true})
	}
	refused(t, a, `table 2 has a column "y", but table 1 does not`, "fill = True", "concat", b)
	refused(t, b, `table 2 has a column "x", but table 1 does not`, "fill = True", "concat", a)
	refused(t, a, `table 1 has a column "x", but table 2 does not`, "select", "concat", tableBy(t, b, "drop", "y"))
	refused(t, a, `unexpected argument "fil"; did you mean "fill"?`, "", "concat", b, named{"fil": true})
	refused(t, a, "argument 'fill' should be boolean but got string", "", "concat", b, named{"fill": "yes"})
	refused(t, a, "argument 'others' should be tables but got string", "data.read", "concat", "b")
	refused(t, a, "argument 'others' should be tables but got integer", "data.read", "concat", value.List{a, int64(1)})
	c := heldTable("n", columnFrom(Integer, int64(1<<53+1)))
	refused(t, c, `row 1, column "n": 9007199254740993 cannot be converted to float`, "with_types", "concat", heldTable("n", columnFrom(Float, 0.5)))
}

// plainJoin joins records by comparing all pairs.
func plainJoin(left, right [][]value.Value, lk, rk []int, others []int, how string) (want [][]value.Value) {
	matched := make([]bool, len(right))
	width := 0
	for _, row := range left {
		width = len(row)
		found := false
		for i, other := range right {
			same := true
			for n := range lk {
				a, b := row[lk[n]], other[rk[n]]
				order, ok := plainOrder(a, b)
				nan := isNaN(a) && isNaN(b)
				same = same && a != nil && b != nil && (nan || ok && order == 0 || !ok && !isNaN(a) && value.Equal(a, b))
			}
			if !same {
				continue
			}
			found, matched[i] = true, true
			if how == joinInner || how == joinLeft || how == joinOuter {
				made := slices.Clone(row)
				for _, at := range others {
					made = append(made, other[at])
				}
				want = append(want, made)
			}
		}
		switch {
		case found && how == joinSemi, !found && how == joinAnti:
			want = append(want, row)
		case !found && (how == joinLeft || how == joinOuter):
			want = append(want, append(slices.Clone(row), make([]value.Value, len(others))...))
		}
	}
	for i, other := range right {
		if how != joinOuter || matched[i] {
			continue
		}
		made := make([]value.Value, width)
		for n := range lk {
			made[lk[n]] = other[rk[n]]
		}
		for _, at := range others {
			made = append(made, other[at])
		}
		want = append(want, made)
	}
	return want
}

func TestJoinAgreesWithPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u, v := drawTable(t, "left"), drawTable(t, "right")
		if u.rows == 0 {
			t.Skip()
		}
		keys := rapid.SampledFrom([][2]string{{"text", "text"}, {"integer", "integer"}, {"float", "float"}, {"integer", "number"}, {"number", "integer"}, {"date", "date"}, {"any", "any"}, {"any", "text"}, {"text", "any"}, {"bool", "bool"}}).Draw(t, "keys")
		more := rapid.SampledFrom([]string{"", "bool", "instant"}).Draw(t, "more")
		how := rapid.SampledFrom(joinNames).Draw(t, "how")
		on := value.NewDict(keys[0], keys[1])
		if more != "" {
			on.Put(more, more)
		}
		var lk, rk, others []int
		for l, r := range on.All() {
			at, _ := u.column(l.(string))
			lk = append(lk, at)
			at, _ = v.column(r.(string))
			rk = append(rk, at)
		}
		names, types := slices.Clone(u.names), slices.Clone(u.types)
		if how == joinOuter {
			for i, at := range lk {
				types[at] = types[at].join(v.types[rk[i]])
			}
		}
		for at, name := range v.names {
			if !slices.Contains(rk, at) {
				others = append(others, at)
				if how != joinSemi && how != joinAnti {
					names, types = append(names, name+"_right"), append(types, v.types[at])
				}
			}
		}
		left, right := records(t, u), records(t, v)
		want := plainJoin(left, right, lk, rk, others, how)
		for _, row := range want {
			for at, typ := range types {
				if n, ok := row[at].(int64); ok && typ == Float {
					if row[at] = float64(n); n > 1<<53 {
						return // the float would be rounded, which is an error, as tested below
					}
				}
			}
		}
		if keys[0] == keys[1] && rapid.Bool().Draw(t, "by name") && more == "" {
			both(t, u, names, types, want, "join", v, keys[0], named{"how": how})
			return
		}
		both(t, u, names, types, want, "join", streamed(v, 2, false), on, named{"how": how})
	})
}

func TestJoinErrors(t *testing.T) {
	t.Parallel()
	u := heldTable("id", columnFrom(Integer, int64(1)), "when", columnFrom(Date, "2024-02-29"), "note", columnFrom(Text, "x"))
	v := heldTable("id", columnFrom(Text, "1"), "when", columnFrom(DateTime, "2024-02-29"), "note", columnFrom(Text, "x"), "note_right", columnFrom(Text, "x"), "all", columnFrom(Any, "x"))
	for _, test := range []struct {
		args       []value.Value
		want, hint string
	}{
		{[]value.Value{v, "id"}, `values of column "id" (integer) and column "id" of the right table (text) are never equal`, `with_types({"id": "integer"})`},
		{[]value.Value{v, "when"}, `values of column "when" (date) and column "when" of the right table (datetime) are never equal`, "with_types"},
		{[]value.Value{v, value.NewDict("when", "all")}, `values of column "when" (date) and column "all" of the right table (any) are never equal`, "with_types"},
		{[]value.Value{v, "note", named{"suffix": ""}}, `join: the result has two columns named "id"`, "another suffix"},
		{[]value.Value{v, "ids"}, `no column "ids"; did you mean "id"?`, "the columns are id, when, note"},
		{[]value.Value{v, value.NewDict("id", "key")}, `in the right table, no column "key"`, "the columns are id, when, note, note_right, all"},
		{[]value.Value{v, value.NewDict("note", "note", "when", "note")}, `column "note" of the right table is used twice as a key`, ""},
		{[]value.Value{v, value.List{}}, "argument 'on' needs at least one column", "customer_id"},
		{[]value.Value{v, int64(1)}, "argument 'on' should be column names but got 1", ""},
		{[]value.Value{v, value.NewDict("id", int64(1))}, `argument 'on' should be column names, or a dict from columns of the left table to columns of the right table, as in {"id": "customer_id"}`, ""},
		{[]value.Value{v, "note", "full"}, `unknown join "full"`, "inner, left, outer, semi, anti"},
		{[]value.Value{"v", "note"}, "argument 'other' should be table but got string", "data.read"},
	} {
		refused(t, u, test.want, test.hint, "join", test.args...)
	}
	refused(t, v, `join: the result has two columns named "note_right"`, "another suffix", "join", u, value.NewDict("all", "id"))
	big := heldTable("id", columnFrom(Integer, int64(math.MaxInt64)))
	refused(t, big, `row 1, column "id": 9223372036854775807 cannot be converted to float`, "", "join", heldTable("id", columnFrom(Float, 0.5)), "id", "outer")
}

// A many-to-many join ends when its rows take too much memory. A streamed join never
// holds them.
func TestJoinOfManyWithMany(t *testing.T) {
	t.Parallel()
	c := newColumn(Integer, 0)
	for range 30_000 {
		c.addInt(1)
	}
	u := heldTable("id", c)
	_, err := method(u, "join", u, "id")
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Limit || e.Limit != value.LimitMemory {
		t.Errorf("a join of 900 million rows: %v", err)
	}
	made := tableBy(t, streamed(u, 1000, true), "join", u, "id")
	rows := 0
	err = made.each(context.Background(), tool.Grant{}, func(b *Batch) error {
		if rows += b.Rows; b.Rows > batchRows {
			t.Errorf("a batch has %d rows", b.Rows)
		}
		if rows > 100_000 {
			return errStop
		}
		return nil
	})
	if err != nil || rows <= 100_000 {
		t.Errorf("%d rows are read: %v", rows, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = made.each(ctx, tool.Grant{}, func(*Batch) error { cancel(); return nil })
	if err != context.Canceled {
		t.Errorf("a join that is canceled: %v", err)
	}
}

// Tables that stay streamed are streams, and their memory is bounded.
func TestWhatStaysStreamed(t *testing.T) {
	t.Parallel()
	u := heldTable("a", columnFrom(Integer, int64(1), int64(2), nil), "b", columnFrom(Text, "x", "y", "z"))
	v := streamed(u, 2, false)
	for _, test := range []struct {
		name string
		args []value.Value
		want bool
	}{
		{"head", []value.Value{int64(2)}, true}, {"select", []value.Value{"a"}, true}, {"drop", []value.Value{"a"}, true}, {"rename", []value.Value{value.NewDict("a", "c")}, true},
		{"filter", []value.Value{"a", ">", int64(1)}, true}, {"filter", []value.Value{"a", "missing"}, true}, {"concat", []value.Value{u}, true}, {"add_column", []value.Value{"c", int64(1)}, true},
		{"add_column", []value.Value{"c", value.List{int64(1), int64(2), int64(3)}}, true}, {"with_types", []value.Value{value.NewDict("a", "float")}, true}, {"fill_missing", []value.Value{int64(0)}, true},
		{"drop_missing", nil, true}, {"join", []value.Value{u, value.List{"a", "b"}}, true}, {"join", []value.Value{u, value.List{"a", "b"}, "outer"}, true},
		{"tail", nil, false}, {"sort", []value.Value{"a"}, false}, {"distinct", nil, false}, {"sample", []value.Value{int64(1)}, false},
	} {
		made := tableBy(t, v, test.name, test.args...)
		if got := made.held == nil; got != test.want {
			t.Errorf("%s%v of a stream is a stream: %v, want %v", test.name, test.args, got, test.want)
		}
		again := fmt.Sprint(records(t, made))
		if got := fmt.Sprint(records(t, made)); got != again {
			t.Errorf("%s%v is %s, and then %s", test.name, test.args, again, got)
		}
	}
	var failure = value.Errorf(value.Failed, "the disk is away")
	broken := withKinds(newStream(u.names, u.types, -1, func(_ context.Context, _ tool.Grant, yield func(*Batch) error) error {
		if err := yield(u.held); err != nil {
			return err
		}
		return failure
	}))
	for _, name := range []string{"tail", "distinct", "show"} {
		if _, err := method(broken, name); err != failure {
			t.Errorf("%s of a table that cannot be read: %v", name, err)
		}
	}
	if got := records(t, tableBy(t, broken, "head", int64(3))); len(got) != 3 { // it reads enough rows
		t.Errorf("head of a table that fails later is %v", got)
	}
}

// Operations that hold rows are limited by the memory of the call.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	text := newColumn(Text, 0)
	for i := range 5000 {
		text.addText(fmt.Sprintf("%0200d", i))
	}
	u := streamed(heldTable("a", text), 100, false)
	grant := tool.Grant{Memory: 300_000}
	for _, r := range bound(&kinds{}, slices.Concat(shapeRows(), filterRows(), combineRows())) {
		var args []value.Value
		switch r.Name {
		case "sort", "distinct":
			args = []value.Value{"a"}
		case "tail":
			args = []value.Value{int64(4000)}
		case "sample":
			args = []value.Value{int64(4000), int64(1)}
		case "filter":
			args = []value.Value{tool.Function(func(...value.Value) (value.Value, error) { return true, nil })}
		case "add_column":
			args = []value.Value{"b", tool.Function(func(...value.Value) (value.Value, error) { return "x", nil })}
		case "join":
			args = []value.Value{u, "a"}
		case "column":
			args = []value.Value{"a"}
		case "show":
			args = []value.Value{int64(4000)}
		default:
			continue
		}
		bound, err := r.Bind(args, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Do(context.Background(), tool.Effect{Args: bound, Self: u}, grant)
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Limit != value.LimitMemory {
			t.Errorf("%s of more rows than there is memory: %v", r.Name, err)
		}
	}
}
