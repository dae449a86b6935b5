package stdlib

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestPureRowsAreComplete(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	modules := map[string]bool{}
	for _, m := range Pure() {
		if modules[m.Name] {
			t.Errorf("module %q is there twice", m.Name)
		}
		modules[m.Name] = true
		if m.Doc == "" || !strings.HasSuffix(m.Doc, ".") {
			t.Errorf("module %q: its doc %q is no sentence", m.Name, m.Doc)
		}
		names := map[string]bool{}
		for _, f := range m.Funcs {
			full := m.Name + "." + f.Name
			switch {
			case names[f.Name]:
				t.Errorf("%s is there twice", full)
			case !snake.MatchString(f.Name):
				t.Errorf("%s is not in snake_case", full)
			case !strings.HasSuffix(f.Doc, "."):
				t.Errorf("%s: its doc %q is no sentence", full, f.Doc)
			case f.Returns == "" || f.Do == nil:
				t.Errorf("%s does not say what it returns, or does nothing", full)
			case f.Kind != tool.Pure || f.Target != nil || f.Mode == tool.ModeInternal:
				t.Errorf("%s is not a pure function", full)
			}
			names[f.Name] = true
			pureCheckParams(t, full, f.Params)
		}
	}
	for _, name := range []string{"json", "yaml", "csv", "data", "text", "re", "math", "time", "hash", "base64", "url", "diff", "random", ""} {
		if !modules[name] {
			t.Errorf("module %q is missing", name)
		}
	}
}

func pureCheckParams(t *testing.T, full string, params []tool.Param) {
	seen := map[string]bool{}
	optional := false
	for _, p := range params {
		switch {
		case seen[p.Name]:
			t.Errorf("%s: parameter %s is there twice", full, p.Name)
		case strings.TrimSpace(p.Description) == "" || !strings.HasSuffix(p.Description, "."):
			t.Errorf("%s: parameter %s is described by %q, which is no sentence", full, p.Name, p.Description)
		case !p.Type.Known() || p.Type.Name == "":
			t.Errorf("%s: parameter %s has the type %q", full, p.Name, p.Type.Name)
		case p.Required && optional:
			t.Errorf("%s: parameter %s must be given but follows one that need not", full, p.Name)
		case p.Required && p.HasDefault:
			t.Errorf("%s: parameter %s must be given and has a default", full, p.Name)
		}
		seen[p.Name] = true
		optional = optional || !p.Required
	}
}

// Every function is called with strange values in every place: it may refuse
// them, but not panic, and not take forever.
func TestPureFunctionsSurviveStrangeArguments(t *testing.T) {
	deep := value.Value(value.List{})
	for range 200 {
		deep = value.List{deep}
	}
	strange := []value.Value{
		nil, true, int64(0), int64(-1), int64(1 << 62), rowtest.Big("123456789012345678901234567890"), 0.5, rowtest.NaN(), rowtest.Inf(),
		"", "\x00", "é", "\n\r\n", "%", `\`, "(", strings.Repeat("a b\n", 100), "2026-11-21", "UTC", "http://[::1]:99/%zz?a=%&&=",
		[]byte{0xff, 0}, value.List{}, value.List{nil, "x", int64(1)}, value.Tuple{int64(1)}, value.Set{"a"},
		value.NewDict(), value.NewDict("a", value.List{nil}, "", []byte("x")), deep,
	}
	for _, m := range Pure() {
		for _, f := range m.Funcs {
			name := strings.TrimPrefix(m.Name+"."+f.Name, ".")
			for i := range f.Params {
				for _, v := range strange {
					pureStrangeCall(t, name, f.Params, i, v)
				}
			}
		}
	}
}

// pureStrangeCall gives one argument a strange value and all others one of
// their type.
func pureStrangeCall(t *testing.T, name string, params []tool.Param, at int, v value.Value) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s with %s = %s panics: %v", name, params[at].Name, rowtest.Show(v), r)
		}
	}()
	var args []any
	for i, p := range params {
		val := p.Default
		switch {
		case i == at:
			val = v
		case !p.Required:
		case p.Type.Name == tool.TypeString:
			val = "2026-11-21"
		case p.Type.Name == tool.TypeArray:
			val = value.List{int64(3), int64(4)}
		case p.Type.Name == tool.TypeObject:
			val = value.NewDict("a", "b")
		case p.Type.Name == tool.TypeAny:
			val = "a"
		default:
			val = int64(2)
		}
		args = append(args, rowtest.Named(p.Name, val))
	}
	_, err := rowtest.Call(t, Pure(), name, args...)
	if err == nil {
		return
	}
	e, ok := err.(*value.Error)
	if !ok || e.Err == nil {
		t.Errorf("%s with %s = %s fails with %#v, want a *tool.Error", name, params[at].Name, rowtest.Show(v), err)
		return
	}
	if e.Kind == value.Internal || strings.HasSuffix(e.Message(), ".") {
		t.Errorf("%s with %s = %s fails with %q (%s)", name, params[at].Name, rowtest.Show(v), e.Message(), e.Kind.Type())
	}
}

func TestPureResultsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	lines := strings.Repeat("x\n", 1<<20)
	for _, c := range []struct {
		fn   string
		args []any
	}{
		{"text.pad_left", []any{"x", int64(1 << 40)}},
		{"text.pad_right", []any{"x", int64(9 << 20)}},
		{"text.center", []any{"x", int64(1 << 62)}},
		{"text.indent", []any{lines, long}},
		{"text.lines", []any{lines}},
		{"text.similarity", []any{long, long}},
		{"text.slug", []any{strings.Repeat("x ", 1000), long}},
		{"text.table", []any{value.List{value.List{long, "a"}, value.List{"", "a"}, value.List{"", "a"}, value.List{"", "a"}, value.List{"", "a"},
			value.List{"", "a"}, value.List{"", "a"}, value.List{"", "a"}, value.List{"", "a"}}}},
		{"re.sub", []any{"x", long, strings.Repeat("x", 100)}},
		{"re.sub", []any{"x", strings.Repeat(`\g<0>`, 5000), "x"}},
		{"re.find_all", []any{"", long}},
		{"re.split", []any{"", long}},
		{"re.test", []any{strings.Repeat(`(a{1000})`, 100), "a"}},
		{"re.test", []any{long, "a"}},
		{"csv.parse", []any{strings.Repeat(",", 1<<20), rowtest.Named("header", false)}},
		{"csv.parse", []any{strings.Repeat("a", 1<<10) + strings.Repeat(",", 1<<18) + strings.Repeat("\nx", 1<<17), rowtest.Named("header", false), rowtest.Named("fill", true)}},
		{"csv.parse", []any{pureWideHeader(2000) + strings.Repeat("x\n", 1000), rowtest.Named("fill", true)}},
		{"math.factorial", []any{int64(1 << 40)}},
		{"math.pow", []any{int64(7), int64(1 << 40)}},
		{"math.lcm", []any{rowtest.Big("9" + strings.Repeat("0", 3000)), rowtest.Big("7" + strings.Repeat("1", 3000))}},
		{"math.gcd", []any{rowtest.Big("9" + strings.Repeat("0", 5000)), int64(7)}},
		{"random.bytes", []any{int64(1 << 40)}},
		{"diff.unified", []any{lines, ""}},
		{"diff.stats", []any{"", lines}},
		{"json.encode", []any{pureDeepList(60, 10_000), int64(16)}},
		{"yaml.decode", []any{long}},
		{"url.quote", []any{strings.Repeat("é", 2<<20)}},
		{"time.format", []any{"2026-11-21", strings.Repeat("%c", 1<<20)}},
	} {
		got, err := rowtest.Call(t, Pure(), c.fn, c.args...)
		if value.KindOf(err) != value.Limit {
			t.Errorf("%s gives %.80s, %.80v, want an error of kind Limit", c.fn, rowtest.Show(got), err)
			continue
		}
		if value.ErrorOf(err, value.Failed).Limit == "" {
			t.Errorf("%s: its error %q does not name the limit", c.fn, err)
		}
	}
}

func pureWideHeader(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("c" + pureMustText(int64(i)))
	}
	return b.String() + "\n"
}

func pureMustText(v value.Value) string {
	s, _ := row.Scalar(v)
	return s
}

func pureDeepList(depth, n int) value.Value {
	list := make(value.List, n)
	for i := range list {
		list[i] = int64(i)
	}
	var v value.Value = list
	for range depth {
		v = value.List{v}
	}
	return v
}
