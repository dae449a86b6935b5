package host_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

type orderIn struct {
	Order  uint64     `json:"order" jsonschema:"the number of the order"`
	Items  []itemIn   `json:"items,omitempty"`
	Note   *string    `json:"note"`
	Due    *time.Time `json:"due"`
	Amount *big.Int   `json:"amount"`
	Image  []byte     `json:"image,omitempty"`
}

type itemIn struct {
	Name  string `json:"name"`
	Count int8   `json:"count,omitempty"`
}

type orderOut struct {
	Order  uint64            `json:"order"`
	Status string            `json:"status"`
	Items  []itemIn          `json:"items"`
	Extra  map[string]string `json:"extra"`
	Image  []byte            `json:"image"`
	Note   *string           `json:"note"`
}

func def(name string) tool.Tool { return tool.Tool{Name: name, Description: "D."} }

// add adds a tool "t" to a rig.
func add[In, Out any](r *rig, f func(context.Context, In) (Out, error), opts ...host.ToolOption) {
	r.t.Helper()
	if err := host.AddTool(r.Host, def("t"), f, opts...); err != nil {
		r.t.Fatal(err)
	}
}

// callAsModel calls the tool "t" as a model does.
func (r *rig) callAsModel(pairs ...any) (tool.Result, error) {
	return r.Call(context.Background(), tool.Call{Tool: "t", Args: value.NewDict(pairs...)})
}

func TestAddTool(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var got orderIn
	add(r, func(_ context.Context, in orderIn) (*orderOut, error) {
		got = in
		return &orderOut{Order: in.Order, Status: "sent", Image: in.Image, Note: in.Note}, nil
	})
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	max := new(big.Int).SetUint64(1<<64 - 1)
	res, err := r.callAsModel("order", max, "items", []any{map[string]any{"name": "a", "count": 3.0, "odd": 1}}, "note", "n",
		"due", "2026-01-31T12:00:00+01:00", "amount", huge, "image", "aGk=")
	if err != nil {
		t.Fatal(err)
	}
	if got.Order != 1<<64-1 || len(got.Items) != 1 || got.Items[0] != (itemIn{"a", 3}) || *got.Note != "n" || got.Due.UTC().Hour() != 11 ||
		got.Amount.Cmp(huge) != 0 || string(got.Image) != "hi" {
		t.Errorf("the arguments were decoded as %+v", got)
	}
	want := value.NewDict("order", max, "status", "sent", "items", nil, "extra", nil, "image", []byte("hi"), "note", "n")
	if !value.Equal(res.Value, want) {
		t.Errorf("the result is %v, want %v", res.Value, want)
	}
	out, err := value.ToGo[orderOut](res.Value)
	if err != nil || out.Order != 1<<64-1 || *out.Note != "n" {
		t.Errorf("the result was decoded as %+v, %v", out, err)
	}
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{}, "Missing required parameter: order"},
		{[]any{"order", -1}, "must be >= 0"},
		{[]any{"order", new(big.Int).Lsh(big.NewInt(1), 64)}, "must be <= 18446744073709551615"},
		{[]any{"order", 1, "items", []any{map[string]any{"name": "a", "count": 300}}}, "'items'[0].count must be <= 127"},
		{[]any{"order", 1, "items", []any{map[string]any{}}}, "lacks the required field 'name'"},
		{[]any{"order", 1, "due", "soon"}, "due: expected a time as in RFC 3339"},
		{[]any{"order", 1, "amount", 1.5}, "amount: expected an integer but got 1.5"},
		{[]any{"order", 1, "image", "?"}, "image: expected bytes or base64 text"},
		{[]any{"ordr", 1}, `did you mean "order"`},
	} {
		if _, err := r.callAsModel(c.args...); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("call with %v = %v of kind %v, want invalid with %q", c.args, err, value.KindOf(err), c.want)
		}
	}
}

// TestTheDefinitionOfAGoTool checks what is derived from the types.
func TestTheDefinitionOfAGoTool(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	add(r, func(context.Context, orderIn) (orderOut, error) { return orderOut{}, nil })
	d, err := r.Tool("t")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := d.ArgsSchema()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{"order":{"type":"integer","minimum":0,"description":"the number of the order"},` +
		`"items":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},` +
		`"count":{"type":"integer","minimum":-128,"maximum":127}},"required":["name"]}},` +
		`"note":{"type":"string"},"due":{"type":"string","description":"a time as in RFC 3339, such as 2026-01-31T12:00:00Z"},` +
		`"amount":{"type":"number","description":"an integer of any size"},"image":{"description":"bytes, or text in base64"}},` +
		`"required":["order"],"additionalProperties":false}`
	if got := schema.String(); got != want {
		t.Errorf("the schema is\n%s\nwant\n%s", got, want)
	}
	const returns = `{"type":"object","properties":{"order":{"type":"integer","minimum":0},"status":{"type":"string"},` +
		`"items":{"type":["array","null"],"items":{"type":"object","properties":{"name":{"type":"string"},` +
		`"count":{"type":"integer","minimum":-128,"maximum":127}},"required":["name"]}},` +
		`"extra":{"type":["object","null"],"additionalProperties":{"type":"string"}},` +
		`"image":{"description":"bytes, or text in base64"},"note":{"type":["string","null"]}},` +
		`"required":["order","status","items","extra","image","note"]}`
	if got := d.Returns.JSONSchema().String(); got != returns {
		t.Errorf("the result is\n%s\nwant\n%s", got, returns)
	}
	// Arguments that come as text are read as the derived types.
	args, _ := d.Coerce(value.NewDict("order", "3", "items", `[{"name": "a"}]`))
	if !value.Equal(args, value.NewDict("order", 3, "items", value.List{value.NewDict("name", "a")})) {
		t.Errorf("text was read as %v", args)
	}
}

// TestGoToolsWithFewTypes checks tools without arguments, without a result, and of
// recursive types.
func TestGoToolsWithFewTypes(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	type tree struct {
		Name     string  `json:"name"`
		Children []*tree `json:"children,omitempty"`
	}
	add := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	call := func(name string, want value.Value, pairs ...any) {
		t.Helper()
		got, err := r.Call(context.Background(), tool.Call{Tool: name, Args: value.NewDict(pairs...)})
		if err != nil || !value.Equal(got.Value, want) {
			t.Errorf("%s = %v, %v, want %v", name, got.Value, err, want)
		}
	}
	add("none", host.AddTool(r.Host, def("none"), func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }))
	call("none", nil)
	if _, err := r.Call(context.Background(), tool.Call{Tool: "none", Args: value.NewDict("a", 1)}); value.KindOf(err) != value.Invalid {
		t.Errorf("an argument of a tool without any: %v, want invalid", err)
	}
	add("any", host.AddTool(r.Host, def("any"), func(context.Context, *struct{}) (any, error) { return []int{1}, nil }))
	call("any", value.List{int64(1)})
	add("text", host.AddTool(r.Host, def("text"), func(_ context.Context, in *struct{ A *int }) (string, error) {
		if in == nil || in.A != nil {
			return "", errors.New("the arguments are not empty")
		}
		return "x", nil
	}))
	call("text", "x")
	if _, err := r.Call(context.Background(), tool.Call{Tool: "text"}); err != nil {
		t.Errorf("without arguments: %v", err)
	}
	add("tree", host.AddTool(r.Host, def("tree"), func(_ context.Context, in tree) (tree, error) { return in, nil }))
	leaf := value.NewDict("name", "b", "children", value.List{value.NewDict("name", "c")})
	call("tree", value.NewDict("name", "a", "children", value.List{leaf}), "name", "a", "children", value.List{leaf})
	own := def("own")
	own.Params = []tool.Param{{Name: "n", Type: tool.Type{Name: tool.TypeInteger}, Default: 3}}
	add("own", host.AddTool(r.Host, own, func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		return in.N, nil
	}))
	call("own", int64(3))
	raw := def("raw")
	raw.Schema = []byte(`{"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}, "required": ["n"]}`)
	add("raw", host.AddTool(r.Host, raw, func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		return in.N, nil
	}))
	call("raw", int64(4), "n", 4)
	dict := def("dict")
	dict.Params = own.Params
	add("dict", host.AddTool(r.Host, dict, func(_ context.Context, args *value.Dict) (value.Value, error) { return args.Int("n"), nil }))
	call("dict", int64(3))
}

func TestAddToolRefuses(t *testing.T) {
	t.Parallel()
	type in struct {
		N int `json:"n"`
	}
	ok := func(context.Context, in) (string, error) { return "", nil }
	with := func(change func(*tool.Tool)) tool.Tool {
		d := def("t")
		change(&d)
		return d
	}
	r := newRig(t, nil)
	h := r.Host
	params := func(p ...tool.Param) tool.Tool { return with(func(d *tool.Tool) { d.Params = p }) }
	n := tool.Param{Name: "n", Type: tool.Type{Name: tool.TypeInteger}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{host.AddTool(nil, def("t"), ok), "the host is nil"},
		{host.AddTool[in, string](h, def("t"), nil), "the function is nil"},
		{host.AddTool(h, def("t"), func(context.Context, string) (string, error) { return "", nil }), "should take a struct or a pointer to a struct, not "},
		{host.AddTool(h, def("t"), func(context.Context, map[string]int) (string, error) { return "", nil }), "should take a struct or a pointer to a struct, not "},
		{host.AddTool(h, def("t"), func(context.Context, time.Time) (string, error) { return "", nil }), "should take a struct or a pointer to a struct, not "},
		{host.AddTool(h, def("t"), func(context.Context, struct{ time.Time }) (string, error) { return "", nil }), "the type implements UnmarshalJSON"},
		{host.AddTool(h, def("t"), func(context.Context, struct{ F []func() }) (string, error) { return "", nil }), "F: unsupported Go type of a parameter: func()"},
		{host.AddTool(h, def("t"), func(context.Context, struct{ E error }) (string, error) { return "", nil }), "E: unsupported Go type of a parameter: error"},
		{host.AddTool(h, def("t"), func(context.Context, struct{ M map[float64]int }) (string, error) { return "", nil }), "M: unsupported type of map keys"},
		{host.AddTool(h, def("t"), func(context.Context, in) (chan int, error) { return nil, nil }), "unsupported Go type of a result: chan int"},
		{host.AddTool(h, def("Bad Name"), ok), "Invalid tool name"},
		{host.AddTool(h, tool.Tool{Name: "t"}, ok), "tool 't' has no description"},
		{host.AddTool(h, tool.Tool{Name: "t", Description: strings.Repeat("x", 20<<10)}, ok), "tool 't': the description is longer than 16 KB"},
		{host.AddTool(h, with(func(d *tool.Tool) { d.Undo = "undo" }), ok), "Undo is only for scripts"},
		{host.AddTool(h, with(func(d *tool.Tool) { d.Available = "here" }), ok), "Available is only for scripts"},
		{host.AddTool(h, params(n, tool.Param{Name: "m"}), ok), "the parameter 'm' is not a field"},
		{host.AddTool(h, params(tool.Param{Name: "n", Type: tool.Type{Name: tool.TypeString}}), ok), "the parameter 'n' has type string, but the field"},
		{host.AddTool(h, params([]tool.Param{}...), ok), "the required field 'n' of"},
		{host.AddTool(h, with(func(d *tool.Tool) {
			d.Schema = []byte(`{"type": "object", "properties": {"n": {"type": "array"}}}`)
		}), ok), "the parameter 'n' has type array"},
		{host.AddTool(h, with(func(d *tool.Tool) { d.Schema = []byte(`{`) }), ok), "invalid JSON"},
		{host.AddTool(h, def("t"), ok, host.UndoFunc[in, string](nil)), "the function is nil"},
		{host.AddTool(h, def("t"), ok, host.AvailableFunc(nil)), "the function is nil"},
		{host.AddTool(h, def("t"), ok, host.UndoFunc(func(context.Context, in, int) error { return nil })), "the types of UndoFunc are host_test.in and int"},
		{host.AddTool(h, def("t"), ok, host.UndoFunc(func(context.Context, orderIn, string) error { return nil })), "the types of UndoFunc are host_test.orderIn and string"},
	} {
		if value.KindOf(c.err) != value.Invalid || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("AddTool = %v of kind %v, want invalid with %q", c.err, value.KindOf(c.err), c.want)
		}
	}
	_ = h.RemoveTool("t")
	if err := host.AddTool(h, def("t"), ok); err != nil {
		t.Fatal(err)
	}
	if err := host.AddTool(h, def("t"), ok); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "already registered") {
		t.Errorf("the same name again: %v, want invalid", err)
	}
}

// TestGoToolsAndApproval checks that a tool without needs does not ask.
func TestGoToolsAndApproval(t *testing.T) {
	t.Parallel()
	asked := 0
	r := newRig(t, func(o *host.Options) {
		o.Approver = host.ApproverFunc(func(context.Context, tool.Question) (tool.Answer, error) {
			asked++
			return tool.Answer{}, nil
		})
	})
	ok := func(context.Context, struct{}) (string, error) { return "done", nil }
	risky, needs := def("risky"), def("needs")
	risky.Risky, needs.Needs = true, []tool.Capability{{Name: "fs.write"}}
	for _, d := range []tool.Tool{def("plain"), risky, needs} {
		if err := host.AddTool(r.Host, d, ok); err != nil {
			t.Fatal(err)
		}
		asked = 0
		_, err := r.Call(context.Background(), tool.Call{Tool: d.Name})
		if plain := d.Name == "plain"; (err == nil) != plain || (asked == 0) != plain {
			t.Errorf("%s: %v, asked %d times", d.Name, err, asked)
		}
	}
}

// TestErrorsOfGoTools checks what becomes of errors, panics and results.
func TestErrorsOfGoTools(t *testing.T) {
	t.Parallel()
	loop := []any{nil}
	loop[0] = loop
	var none *value.Error
	for _, c := range []struct {
		name string
		f    func() (any, error)
		kind value.Kind
		text string
	}{
		{"an error", func() (any, error) { return nil, errors.New("no") }, value.Failed, "no"},
		{"a kind", func() (any, error) {
			return nil, fmt.Errorf("sync: %w", value.Errorf(value.Unavailable, "away").WithHint("wait"))
		}, value.Unavailable, "sync: away"},
		{"a target", func() (any, error) { return nil, fmt.Errorf("order 5: %w", value.ErrNotFound) }, value.NotFound, "order 5: not found"},
		{"a panic", func() (any, error) { panic("oh") }, value.Internal, "panicked: oh"},
		{"a channel", func() (any, error) { return map[string]any{"c": make(chan int)}, nil }, value.Internal, "the result of 't': c: unsupported Go type: chan int"},
		{"text that is not UTF-8", func() (any, error) { return value.NewDict("a", "\xff"), nil }, value.Internal, "a: the string is not UTF-8"},
		{"a cycle", func() (any, error) { return loop, nil }, value.Internal, "nested more than"},
	} {
		r := newRig(t, nil)
		add(r, func(context.Context, struct{}) (any, error) { return c.f() })
		_, err := r.callAsModel()
		if value.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v of kind %v, want %s with %q", c.name, err, value.KindOf(err), c.kind, c.text)
		}
		if hint := value.ErrorOf(err, value.Internal).Hint; c.kind == value.Unavailable && hint != "wait" {
			t.Errorf("%s: the hint is %q", c.name, hint)
		}
	}
	r := newRig(t, nil)
	add(r, func(context.Context, struct{}) (string, error) { return "fine", none }, host.AvailableFunc(func(context.Context) error { return none }))
	if got, err := r.callAsModel(); err != nil || got.Value != "fine" {
		t.Errorf("a nil *tool.Error: %v, %v, want success", got.Value, err)
	}
}

// TestTypedUndo checks that an undo gets what was recorded, decoded.
func TestTypedUndo(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]func(seen *string) host.ToolOption{
		"typed": func(seen *string) host.ToolOption {
			return host.UndoFunc(func(_ context.Context, in orderIn, out *orderOut) error {
				*seen = fmt.Sprint(in.Order, *in.Note, out.Status, string(out.Image))
				return nil
			})
		},
		"untyped": func(seen *string) host.ToolOption {
			return host.UndoFunc(func(_ context.Context, in *value.Dict, out any) error {
				*seen = fmt.Sprint(in.Int("order"), in.Text("note"), out.(*value.Dict).Text("status"), "hi")
				return nil
			})
		},
	} {
		m := newMachine(t, onDisk)
		p := m.process(0, false)
		seen := ""
		err := host.AddTool(p.Host, def("send"), func(_ context.Context, in *orderIn) (orderOut, error) {
			return orderOut{Status: "sent", Image: []byte("hi")}, nil
		}, opt(&seen))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.run("r", false, "return tools.send(order = 5, note = 'n')"); err != nil {
			t.Fatal(err)
		}
		if _, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r"}); err != nil || seen != "5nsenthi" {
			t.Errorf("%s: undone with %q, %v", name, seen, err)
		}
		p.j.Close()
	}
}

// TestUndoAfterTheTypesChanged checks the error of a record that does not fit the
// types of now.
func TestUndoAfterTheTypesChanged(t *testing.T) {
	t.Parallel()
	m := newMachine(t, onDisk)
	p := m.process(0, false)
	type oldIn struct{ Order string }
	type newIn struct{ Order int }
	old := func(context.Context, oldIn) (string, error) { return "x", nil }
	if err := host.AddTool(p.Host, def("send"), old, host.UndoFunc(func(context.Context, oldIn, string) error { return nil })); err != nil {
		t.Fatal(err)
	}
	if _, err := p.run("r", false, "return tools.send(Order = 'a')"); err != nil {
		t.Fatal(err)
	}
	if err := p.RemoveTool("send"); err != nil {
		t.Fatal(err)
	}
	undone := false
	now := func(context.Context, newIn) (string, error) { return "x", nil }
	if err := host.AddTool(p.Host, def("send"), now, host.UndoFunc(func(context.Context, newIn, string) error { undone = true; return nil })); err != nil {
		t.Fatal(err)
	}
	_, err := host.Operate(p.Host).UndoRun(context.Background(), operate.Undo{Run: "r"})
	if value.KindOf(err) != value.Invalid || undone {
		t.Errorf("undo: %v of kind %v, undone: %v, want invalid", err, value.KindOf(err), undone)
	}
}

func TestRemoveTool(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "return 'script'", "")
	if err := r.RemoveTool("t"); !errors.Is(err, value.ErrNotFound) {
		t.Errorf("remove a script: %v, want not found", err)
	}
	if err := r.RemoveTool("unknown"); !errors.Is(err, value.ErrNotFound) {
		t.Errorf("remove an unknown tool: %v, want not found", err)
	}
	running, end := make(chan bool), make(chan bool)
	slow := func(context.Context, struct{}) (string, error) {
		running <- true
		<-end
		return "done", nil
	}
	if err := host.AddTool(r.Host, def("my-slow"), slow); err != nil {
		t.Fatal(err)
	}
	var result tool.Result
	var failure error
	done := make(chan bool)
	go func() {
		defer close(done)
		result, failure = r.Call(context.Background(), tool.Call{Tool: "my_slow"})
	}()
	<-running
	if err := r.RemoveTool("my_slow"); err != nil {
		t.Errorf("remove: %v", err)
	}
	if _, err := r.Call(context.Background(), tool.Call{Tool: "my-slow"}); !errors.Is(err, value.ErrNotFound) {
		t.Errorf("call of a removed tool: %v, want not found", err)
	}
	if err := r.RemoveTool("my-slow"); !errors.Is(err, value.ErrNotFound) {
		t.Errorf("remove again: %v, want not found", err)
	}
	close(end)
	<-done
	if failure != nil || result.Value != "done" {
		t.Errorf("the call in progress gave %v, %v", result.Value, failure)
	}
	if err := host.AddTool(r.Host, def("my-slow"), slow); err != nil {
		t.Errorf("add again: %v", err)
	}
}

// TestExchange checks that tools are removed and added in one step, that a tool with an error is left
// out, and that scripts are not removed.
func TestExchange(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "return 'script'", "")
	ok := func(context.Context, *value.Dict) (value.Value, error) { return "new", nil }
	if errs := host.Operate(r.Host).Exchange(nil, []toolset.InGo{{Tool: def("first"), Do: ok}, {Tool: def("my-second"), Do: ok}}); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	errs := host.Operate(r.Host).Exchange([]string{"first", "my_second", "t", "unknown"}, []toolset.InGo{{Tool: def("my_second"), Do: ok}, {Tool: def("t"), Do: ok}, {Tool: def("third")}, {Tool: tool.Tool{Name: "Four"}, Do: ok}})
	if len(errs) != 4 || errs[0] != nil || !errors.Is(errs[1], value.ErrInvalid) || !errors.Is(errs[2], value.ErrInvalid) || !errors.Is(errs[3], value.ErrInvalid) {
		t.Errorf("errors are %v", errs)
	}
	for name, want := range map[string]bool{"first": false, "my_second": true, "t": true, "third": false} {
		if _, err := r.Tool(name); (err == nil) != want {
			t.Errorf("%s: %v, want that it exists: %v", name, err, want)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if errs := host.Operate(r.Host).Exchange([]string{"my_second"}, []toolset.InGo{{Tool: def("other"), Do: ok}}); len(errs) != 1 || !errors.Is(errs[0], value.ErrClosed) {
		t.Errorf("on a closed host: %v", errs)
	}
}

func TestToolsOfAClosedHost(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ok := func(context.Context, struct{}) (string, error) { return "", nil }
	add(r, ok)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := host.AddTool(r.Host, def("other"), ok); !errors.Is(err, value.ErrClosed) {
		t.Errorf("add: %v, want closed", err)
	}
	if err := r.RemoveTool("t"); !errors.Is(err, value.ErrClosed) {
		t.Errorf("remove: %v, want closed", err)
	}
}

// TestResumeWithoutTheTool checks the error of a run that is resumed without a tool
// that it calls.
func TestResumeWithoutTheTool(t *testing.T) {
	t.Parallel()
	m := headless(t, onDisk)
	const body = "human.confirm('continue?')\nreturn tools.send()"
	p := m.process(0, false)
	send := func(context.Context, struct{}) (string, error) { return "sent", nil }
	if err := host.AddTool(p.Host, def("send"), send); err != nil {
		t.Fatal(err)
	}
	if _, err := p.run("r", false, body); value.KindOf(err) != value.Parked {
		t.Fatalf("the run gave %v, want that it waits", err)
	}
	p.j.Close()
	m.answers(tool.StepPath{1}, true)
	p = m.process(0, false)
	if _, err := p.run("r", true, body); !errors.Is(err, value.ErrNotFound) {
		t.Errorf("without the tool: %v, want not found", err)
	}
}

// TestChangingToolsConcurrently adds, calls, lists and removes tools in parallel.
func TestChangingToolsConcurrently(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			name := fmt.Sprintf("t%d", i%2)
			for range 50 {
				err := host.AddTool(r.Host, def(name), func(_ context.Context, in struct{ N int }) (int, error) { return in.N, nil },
					host.AvailableFunc(func(context.Context) error { return nil }))
				if err != nil && value.KindOf(err) != value.Invalid {
					t.Errorf("add: %v", err)
				}
				got, err := r.Call(context.Background(), tool.Call{Tool: name, Args: value.NewDict("N", i)})
				if err != nil && !errors.Is(err, value.ErrNotFound) || err == nil && got.Value != int64(i) {
					t.Errorf("call: %v, %v", got.Value, err)
				}
				r.Tools()
				if err := r.RemoveTool(name); err != nil && !errors.Is(err, value.ErrNotFound) {
					t.Errorf("remove: %v", err)
				}
			}
		})
	}
	wg.Wait()
}
