package sandbox

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestX10TraceOfAWorker checks that a hostile worker cannot fill the host with a trace.
func TestX10TraceOfAWorker(t *testing.T) {
	e := &value.Error{Err: errors.New("x")}
	for range 1000 {
		e.Trace = append(e.Trace, "f.star:1:1: in "+strings.Repeat("f", 100_000))
	}
	size := 0
	for _, line := range readError(&fields{list: errorFields(e)}).Trace {
		size += len(line)
	}
	if size == 0 || size > 20<<10 {
		t.Errorf("the trace has %d bytes, want at most 20 KB", size)
	}
}

// TestErrorKinds checks that each kind of error passes the wire, and that values
// beyond the kinds are refused.
func TestErrorKinds(t *testing.T) {
	for kind := int64(-1); kind <= int64(value.LastKind)+1; kind++ {
		list := errorFields(&value.Error{Err: errors.New("no")})
		list[0].(value.List)[0] = kind
		f := &fields{list: list}
		e := readError(f)
		if want := kind >= 0 && kind <= int64(value.LastKind); (f.done() == nil) != want || want && e.Kind != value.Kind(kind) {
			t.Errorf("kind %d: %+v, error %v, want it accepted: %v", kind, e, f.done(), want)
		}
	}
}

// TestEffectKindsOnTheWire checks that a worker takes rows of each kind that a
// host sends, and no others.
func TestEffectKindsOnTheWire(t *testing.T) {
	row := func(kind uint32) value.List {
		form, err := pack.Append(nil, &struct {
			Name   string
			Kind   uint32
			Params []tool.Param
			Rest   string
			Other  bool
		}{Name: "ask", Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		return value.List{value.List{"world", form}}
	}
	for kind := tool.EffectKind(0); kind <= tool.LastEffectKind+1; kind++ {
		rows, err := effectRows([]tool.Module{{Name: "world", Funcs: []tool.Func{{Name: "ask", Kind: kind}}}})
		if err != nil {
			t.Fatal(err)
		}
		if kind == tool.Pure { // it is not sent; as if it had been
			rows = row(uint32(kind))
		}
		modules, err := readRows(rows)
		if want := kind.Valid() && kind != tool.Pure; (err == nil) != want || want && modules[0].Funcs[0].Kind != kind {
			t.Errorf("readRows of kind %d = %+v, %v, want it accepted: %v", kind, modules, err, want)
		}
	}
	for _, kind := range []uint32{math.MaxUint32, 256, 256 + uint32(tool.Read)} {
		if _, err := readRows(row(kind)); err == nil {
			t.Errorf("readRows takes the kind %d", kind)
		}
	}
}

// TestForgottenKinds checks that every sandbox refuses modules with a row whose
// kind was forgotten.
func TestForgottenKinds(t *testing.T) {
	do := func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { return tool.Outcome{}, nil }
	s := tool.Script{Path: "f.star", Source: "def f():\n    \"F.\"\n    return 1\n\ntool(f)\n"}
	for _, m := range []tool.Module{
		{Name: "stock", Funcs: []tool.Func{{Name: "count", Do: do}}},
		{Name: "stock", Objects: []*tool.ObjectType{{Name: "shelf", Methods: []tool.Func{{Name: "count", Do: do}}}}},
		{Name: "stock", Objects: []*tool.ObjectType{{Name: "shelf", Fields: []tool.Func{{Name: "count", Kind: tool.Read, Do: do}}}}},
	} {
		_, fromNew := newProcess(&Options{Workers: Workers{Program: "worker"}}, nil, []tool.Module{m})
		box := NewInline(m)
		_, fromDescribe := box.Describe(context.Background(), s)
		_, fromRun := box.Run(context.Background(), s, tool.Call{}, nil)
		for name, err := range map[string]error{"New": fromNew, "Describe": fromDescribe, "Run": fromRun} {
			if !errors.Is(err, value.ErrInvalid) || value.ErrorOf(err, value.Internal).Hint == "" {
				t.Errorf("%s with %+v = %v, want it invalid, with a hint", name, m, err)
			}
		}
	}
}
