package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// endOf calls the tool "t" while somebody watches, and returns the event of its end.
func endOf(t *testing.T, r *rig, args *value.Dict) (tool.Result, tool.ToolCallEnd) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := r.Subscribe(ctx, host.EventFilter{})
	result, err := r.Call(ctx, tool.Call{Tool: "t", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	for e := range events {
		if end, ok := e.Data.(tool.ToolCallEnd); ok {
			return result, end
		}
	}
	t.Fatal("no end")
	return result, tool.ToolCallEnd{}
}

// TestPreview checks what people see of a result of a tool with a preview, in each language. A preview
// that fails is replaced by the default one.
func TestPreview(t *testing.T) {
	t.Parallel()
	star := func(body string) string {
		return "def t(n: int = 1):\n    \"T.\"\n    return {\"n\": n, \"x\": [1] * n}\n\ndef show(result, args):\n    " + body + "\n\ntool(t, preview = show)\n"
	}
	for _, tt := range []struct{ name, file, source, want, failure string }{
		{"text", "t.star", star("return \"%d of %d\" % (len(result['x']), args['n'])"), "2 of 2", ""},
		{"lines", "t.star", star("return [\"line %d\" % i for i in range(5)]"), "line 0\nline 1\nline 2\n… 2 more lines", ""},
		{"Lua", "t.lua", "return tool{ description = 'T.', params = { n = param('integer') }, handler = function(args) return { x = args.n } end,\n" +
			"preview = function(result, args) return 'x is ' .. result.x .. args.n end }", "x is 22", ""},
		{"Markdown", "t.md", "---\ndescription: T.\npreview: show\n---\n```starlark\ndef t(n: int):\n    return {\"n\": n}\n\ndef show(result, args):\n    return \"n is %d\" % result[\"n\"]\n```\n", "n is 2", ""},
		{"control characters", "t.star", star("return \"a\\x1b[31mb\""), `a\u001b[31mb`, ""},
		{"empty", "t.star", star("return \"\""), `{`, ""},
		{"fails", "t.star", star("fail('no')"), `{`, "no"},
		{"no text", "t.star", star("return 3"), `{`, "the preview should return a string or a list of strings, but returned integer"},
		{"no lines", "t.star", star("return [\"a\", 3]"), `{`, "the preview should return"},
		{"effects", "t.star", star("return fs.read('a')"), `{`, "fs.read is not allowed in a preview"},
		{"print", "t.star", star("print('x')\n    return 'printed'"), "printed", ""},
		{"loops", "t.star", star("return str([i for i in range(10000000)])"), `{`, "500000 steps"},
		{"too long", "t.star", star("return 'x' * 20000"), `{`, "16"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.add(tt.file, tt.source, nil)
			result, end := endOf(t, r, value.NewDict("n", int64(2)))
			own := tt.failure == "" && tt.want != "{"
			if !strings.HasPrefix(end.Preview, tt.want) || end.Shown != own || result.Preview() != end.Preview {
				t.Errorf("the preview is %q (shown %v) and %q, want %q", end.Preview, end.Shown, result.Preview(), tt.want)
			}
			if !strings.Contains(end.Unshown, tt.failure) || (end.Unshown == "") != (tt.failure == "") {
				t.Errorf("the error of the preview is %q, want %q", end.Unshown, tt.failure)
			}
			if strings.Contains(result.Text(), end.Preview) && own {
				t.Errorf("the text of the result has the preview: %s", result.Text())
			}
		})
	}
}

// TestPreviewInGo checks the previews of a tool written in Go.
func TestPreviewInGo(t *testing.T) {
	t.Parallel()
	type in struct {
		N int `json:"n"`
	}
	type out struct {
		Sum int `json:"sum"`
	}
	sum := func(_ context.Context, in in) (out, error) { return out{in.N + 1}, nil }
	for _, tt := range []struct {
		preview       func(in, out) string
		want, failure string
	}{
		{func(in in, out out) string { return "the sum is " + strings.Repeat("I", out.Sum-in.N) }, "the sum is I", ""},
		{func(in, out) string { panic("a fault") }, "{", "panicked"},
	} {
		r := newRig(t, nil)
		add(r, sum, host.PreviewFunc(tt.preview))
		_, end := endOf(t, r, value.NewDict("n", int64(2)))
		if !strings.HasPrefix(end.Preview, tt.want) || !strings.Contains(end.Unshown, tt.failure) {
			t.Errorf("the preview is %q with the error %q, want %q and %q", end.Preview, end.Unshown, tt.want, tt.failure)
		}
	}
	r := newRig(t, nil)
	if err := host.AddTool(r.Host, def("t"), sum, host.PreviewFunc[in, out](nil)); value.KindOf(err) != value.Invalid {
		t.Errorf("a nil function gave %v", err)
	}
	if err := host.AddTool(r.Host, def("t"), sum, host.PreviewFunc(func(int, out) string { return "" })); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "the types of PreviewFunc are int and") {
		t.Errorf("other types gave %v", err)
	}
	named := def("t")
	named.Preview = "show"
	if err := host.AddTool(r.Host, named, sum); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "Preview is only for scripts") {
		t.Errorf("a name gave %v", err)
	}
}
