package number

import (
	"context"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestRandom(t *testing.T) {
	list := value.List{"a", "b", "c", "d"}
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "random.integer", Args: []any{int64(5), int64(5)}, Want: int64(5)},
		{Fn: "random.integer", Args: []any{int64(5), int64(4)}, Err: "is less than 'low'"},
		{Fn: "random.integer", Args: []any{int64(5), rowtest.Big("99999999999999999999")}, Err: "must be <= 9223372036854775807"},
		{Fn: "random.integer", Args: []any{0.5, int64(4)}, Err: "should be integer"},
		{Fn: "random.choice", Args: []any{value.List{}}, Err: "empty"},
		{Fn: "random.choice", Args: []any{value.Tuple{"x"}}, Want: "x"},
		{Fn: "random.sample", Args: []any{list, int64(5)}, Err: "from 0 to 4"},
		{Fn: "random.sample", Args: []any{list, int64(-1)}, Err: "from 0 to 4"},
		{Fn: "random.sample", Args: []any{list, int64(0)}, Want: value.List{}},
		{Fn: "random.shuffle", Args: []any{value.List{}}, Want: value.List{}},
		{Fn: "random.bytes", Args: []any{int64(0)}, Want: []byte{}},
		{Fn: "random.bytes", Args: []any{int64(-1)}, Err: "negative"},
	})
	for n := range int64(20) {
		if got := len(rowtest.Must(t, modules(), "random.bytes", n).([]byte)); got != int(n) {
			t.Errorf("bytes(%d) has %d bytes", n, got)
		}
	}
}

// randomCall calls a function with given random numbers.
func randomCall(t *testing.T, r *rand.Rand, function string, args ...value.Value) value.Value {
	t.Helper()
	f := rowtest.Find(t, modules(), function)
	bound, err := f.Bind(args, nil)
	if err != nil {
		t.Fatal(err)
	}
	grant := tool.Grant{Rand: func() (*rand.Rand, error) { return r, nil }}
	out, err := f.Do(context.Background(), tool.Effect{Args: bound}, grant)
	if err != nil {
		t.Fatalf("%s: %v", function, err)
	}
	return out.Value
}

func TestRandomStaysInRange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	list := value.List{"a", "b", "c", "d"}
	seen := map[int64]bool{}
	for range 1000 {
		if f := randomCall(t, r, "random.number").(float64); f < 0 || f >= 1 {
			t.Fatalf("number() = %v", f)
		}
		n := randomCall(t, r, "random.integer", int64(-1), int64(2)).(int64)
		if n < -1 || n > 2 {
			t.Fatalf("integer(-1, 2) = %d", n)
		}
		seen[n] = true
		randomCall(t, r, "random.integer", int64(math.MinInt64), int64(math.MaxInt64))
		low := int64(math.MinInt64)
		if n := randomCall(t, r, "random.integer", low, low+1).(int64); n > low+1 {
			t.Fatalf("integer(%d, %d) = %d", low, low+1, n)
		}
		sample := randomCall(t, r, "random.sample", list, int64(3)).(value.List)
		if len(sample) != 3 || sample[0] == sample[1] || sample[1] == sample[2] || sample[0] == sample[2] {
			t.Fatalf("sample(%v, 3) = %v", list, sample)
		}
		shuffled := randomCall(t, r, "random.shuffle", list).(value.List)
		slices.SortFunc(shuffled, func(a, b value.Value) int { return int(a.(string)[0]) - int(b.(string)[0]) })
		if !value.Equal(shuffled, list) {
			t.Fatalf("shuffle loses items: %v", shuffled)
		}
	}
	if len(seen) != 4 {
		t.Errorf("integer(-1, 2) gave only %v in 1000 draws", seen)
	}
	if !value.Equal(list, value.List{"a", "b", "c", "d"}) {
		t.Errorf("the list given was changed to %v", list)
	}
}

// One seed gives one sequence, whatever is drawn: that is what lets a run be
// replayed.
func TestRandomIsReproducible(t *testing.T) {
	draw := func() value.List {
		r := rand.New(rand.NewPCG(5, 6))
		list := value.List{int64(1), int64(2), int64(3), int64(4), int64(5)}
		return value.List{
			randomCall(t, r, "random.number"), randomCall(t, r, "random.integer", int64(0), int64(1000)), randomCall(t, r, "random.choice", list),
			randomCall(t, r, "random.sample", list, int64(3)), randomCall(t, r, "random.shuffle", list), randomCall(t, r, "random.bytes", int64(9)),
			randomCall(t, r, "uuid"),
		}
	}
	if first, again := draw(), draw(); !value.Equal(first, again) {
		t.Errorf("the same seed gives %s and %s", rowtest.Show(first), rowtest.Show(again))
	}
}

func TestUUID(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	r := rand.New(rand.NewPCG(7, 8))
	seen := map[value.Value]bool{}
	for range 1000 {
		id := randomCall(t, r, "uuid")
		if seen[id] || !form.MatchString(id.(string)) {
			t.Fatalf("uuid() = %v", id)
		}
		seen[id] = true
	}
}

// The zero grant provides nothing, not even random numbers.
func TestRandomNeedsAGrant(t *testing.T) {
	for _, name := range []string{"random.number", "uuid"} {
		f := rowtest.Find(t, modules(), name)
		if _, err := f.Do(context.Background(), tool.Effect{Args: &value.Dict{}}, tool.Grant{}); value.KindOf(err) != value.Denied {
			t.Errorf("%s without random numbers gives %v, want an error of kind Denied", name, err)
		}
	}
}

func TestRandomSeed(t *testing.T) {
	d := &rowtest.Caller{T: t, Modules: []tool.Module{Seed()}}
	seen := map[int64]bool{}
	for range 100 {
		seed, ok := d.Must("random.seed").(int64)
		if !ok || seen[seed] {
			t.Errorf("random.seed() = %v, want another integer each time", seed)
		}
		seen[seed] = true
	}
}
